// SPDX-License-Identifier: GPL-3.0-or-later
// The start page: drop zone, recent files, the sample, and the last state of the previous run.
#include "app/gui/page.h"
#include "app/gui/pages/start/page_tour.h"
#include "app/gui/session.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/card.h"
#include "app/gui/widgets/elided_label.h"
#include "app/gui/widgets/open_dialogs.h"
#include "core/base/text.h"
#include "core/model/file_format.h"

#include <QFileInfo>
#include <QGridLayout>
#include <QLabel>
#include <QPainter>
#include <QPushButton>
#include <QToolButton>
#include <QVBoxLayout>

namespace qs::gui {
namespace {

QLabel* label(const QString& text, const QFont& font, const char* role) {
    auto* out = dressed(new QLabel(text), font, role);
    out->setWordWrap(true);
    return out;
}

QString formatsSentence() {
    QStringList titles;
    for (const auto& format : fileFormats()) titles << QString::fromUtf8(format.title);
    return QStringLiteral("Opens: %1.\nFiles are only read, never changed, and stay on this machine.")
        .arg(titles.join(QStringLiteral(", ")));
}

// Paints the dashed frame. The whole window accepts drops.
class DropZone : public QWidget {
public:
    using QWidget::QWidget;

protected:
    void paintEvent(QPaintEvent*) override {
        const auto& tokens = Theme::instance().tokens();
        QPainter painter(this);
        painter.setRenderHint(QPainter::Antialiasing);
        painter.setPen(QPen(tokens.faint, 1, Qt::DashLine));
        painter.setBrush(tokens.surface);
        painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), Theme::kCardRadius, Theme::kCardRadius);
    }
};

// A button with a title and a muted second line.
QToolButton* rowButton(const QString& icon, const QString& title, const QString& second) {
    auto* button = new QToolButton;
    button->setProperty("role", QStringLiteral("row"));
    button->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    button->setFixedHeight(52); // two lines of text
    button->setAccessibleName(title);
    button->setToolTip(second);
    auto* row = spaced(new QHBoxLayout(button), Theme::kGap, {Theme::kGap, 4, Theme::kGap, 4});
    auto* picture = new QLabel;
    picture->setFixedWidth(20);
    const auto tint = [picture, icon] {
        picture->setPixmap(Theme::icon(icon, Theme::instance().tokens().muted).pixmap(20, 20));
    };
    tint();
    QObject::connect(&Theme::instance(), &Theme::changed, picture, tint);
    auto* lines = spaced(new QVBoxLayout, 1);
    auto* first = new ElidedLabel(Qt::ElideMiddle);
    auto* below = new ElidedLabel(Qt::ElideMiddle);
    first->setText(title);
    first->setFont(Theme::words(12, QFont::Medium));
    below->setText(second);
    dress(*below, Theme::words(11), "muted");
    for (auto* line : {first, below}) {
        line->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
        lines->addWidget(line);
    }
    row->addWidget(picture);
    row->addLayout(lines, 1);
    for (auto* child : button->findChildren<QWidget*>()) child->setAttribute(Qt::WA_TransparentForMouseEvents);
    return button;
}

class StartPage : public QWidget {
public:
    StartPage(Session& session, QWidget* parent) : QWidget(parent), session_(session) {
        auto* column = new QVBoxLayout;
        column->setSpacing(Theme::kMargin);
        column->addWidget(label(QStringLiteral("Open a checkpoint"), Theme::words(18, QFont::DemiBold), ""));
        column->addWidget(buildDropZone());
        error_ = label({}, Theme::words(12), "warn");
        error_->setObjectName(QStringLiteral("openError"));
        error_->setTextInteractionFlags(Qt::TextSelectableByMouse);
        error_->hide();
        column->addWidget(error_);
        died_ = label({}, Theme::words(12), "warn");
        died_->setObjectName(QStringLiteral("endedUnexpectedly"));
        died_->setTextFormat(Qt::PlainText);
        died_->hide();
        column->addWidget(died_);
        auto* lists = new QWidget; // as high as the longer list
        lists->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Maximum);
        auto* cards = spaced(new QHBoxLayout(lists), Theme::kGap);
        cards->addWidget(buildList(QStringLiteral("Recent"), recent_), 3);
        cards->addWidget(buildList(QStringLiteral("Start from"), offers_), 2);
        column->addWidget(lists);
        tour_ = new PageTour(session);
        tour_->hide();
        column->addWidget(tour_, 1);

        middle_ = new QWidget;
        middle_->setMaximumWidth(kNarrow);
        middle_->setLayout(column);
        // Slightly above the middle.
        auto* centred = centred_ = new QGridLayout(this);
        centred->setContentsMargins(24, 24, 24, 24);
        centred->addWidget(middle_, 1, 1);
        for (const int column : {0, 2}) centred->setColumnStretch(column, 1);
        centred->setColumnStretch(1, 20);
        centred->setRowStretch(0, 1);
        centred->setRowStretch(2, 2);
        connect(&session, &Session::recentFilesChanged, this, &StartPage::refresh);
        connect(&session, &Session::failed, this, [this](const QString& sentence) {
            error_->setText(sentence);
            error_->setVisible(!sentence.isEmpty());
        });
        connect(&session, &Session::opening, error_, &QWidget::hide);
        refresh();
    }

protected:
    /// In a large window the pages are shown below, and the whole height is used.
    void resizeEvent(QResizeEvent* event) override {
        QWidget::resizeEvent(event);
        const bool large = width() >= kLarge.width() && height() >= kLarge.height();
        tour_->setVisible(large);
        middle_->setMaximumWidth(large ? kWide : kNarrow);
        centred_->setRowStretch(1, large ? 20 : 0);
    }

private:
    static constexpr int kNarrow = 920, kWide = 2200; ///< pixels of the column
    static constexpr QSize kLarge{1500, 1000};        ///< of the page: from here the pages are shown
    QWidget* buildDropZone() {
        auto* zone = new DropZone;
        zone->setAccessibleName(QStringLiteral("Drop zone"));
        auto* column = spaced(new QVBoxLayout(zone), Theme::kGap, {24, 32, 24, 28});
        auto* picture = new QLabel;
        picture->setAlignment(Qt::AlignCenter);
        const auto tint = [picture] {
            picture->setPixmap(
                Theme::icon(QStringLiteral("drop"), Theme::instance().tokens().muted, 28).pixmap(28, 28));
        };
        tint();
        connect(&Theme::instance(), &Theme::changed, picture, tint);
        auto* sentence = label(QStringLiteral("Drop a file or a folder anywhere in this window"), Theme::words(13), "");
        auto* formats = label(formatsSentence(), Theme::words(11), "muted");
        sentence->setAlignment(Qt::AlignCenter);
        formats->setAlignment(Qt::AlignCenter);
        auto* file = new QPushButton(QStringLiteral("Open file…"));
        auto* folder = new QPushButton(QStringLiteral("Open folder…"));
        file->setProperty("role", QStringLiteral("primary"));
        file->setToolTip(QStringLiteral("Ctrl+O"));
        folder->setToolTip(QStringLiteral("Ctrl+Shift+O"));
        connect(file, &QPushButton::clicked, this, [this] { askForFile(session_, window()); });
        connect(folder, &QPushButton::clicked, this, [this] { askForFolder(session_, window()); });
        auto* buttons = spaced(new QHBoxLayout, Theme::kSpace);
        buttons->addStretch();
        addWidgets(*buttons, {file, folder});
        buttons->addStretch();
        addWidgets(*column, {picture, sentence});
        column->addLayout(buttons);
        column->addWidget(formats);
        return zone;
    }

    QWidget* buildList(const QString& title, QVBoxLayout*& rows) {
        auto* card = new Card(title);
        auto* body = new QWidget;
        rows = spaced(new QVBoxLayout(body), 2);
        card->setBody(body);
        return card;
    }

    static void clear(QVBoxLayout* rows) {
        while (auto* item = rows->takeAt(0)) {
            if (item->widget()) item->widget()->deleteLater();
            delete item;
        }
    }

    void addRow(QVBoxLayout* rows, const QString& icon, const QString& title, const QString& second,
                std::function<void()> act) {
        auto* button = rowButton(icon, title, second);
        connect(button, &QToolButton::clicked, this, std::move(act));
        rows->addWidget(button);
    }

    void refresh() {
        const auto shown = [](const QString& text) {
            return QString::fromStdString(escapeForPeople(text.toStdString()));
        };
        clear(recent_);
        for (const auto& path : session_.recentFiles().mid(0, 8)) {
            const QFileInfo place(path);
            addRow(recent_, place.suffix().isEmpty() ? QStringLiteral("folder") : QStringLiteral("file"),
                   shown(place.fileName()), shown(place.path()), [this, path] { session_.open(path); });
        }
        if (recent_->count() == 0)
            recent_->addWidget(
                label(QStringLiteral("Files that you open are listed here."), Theme::words(12), "muted"));
        recent_->addStretch();

        clear(offers_);
        const auto& [last, died] = session_.formerRun();
        died_->setVisible(died.isValid() && !session_.model());
        died_->setText(QStringLiteral("The last run ended unexpectedly. Resume brings back %1 as of %2.")
                           .arg(shown(QFileInfo(last.path).fileName()), momentText(died)));
        if (!last.path.isEmpty()) {
            const auto what = shown(QFileInfo(last.path).fileName());
            addRow(offers_, QStringLiteral("clock"), QStringLiteral("Resume %1").arg(what),
                   last.tensor.isEmpty() ? shown(last.path) : shown(last.tensor),
                   [this] { session_.restore(session_.formerRun().last); });
        }
        if (const auto sample = Session::samplePath(); !sample.isEmpty())
            addRow(offers_, QStringLiteral("tensor"), QStringLiteral("Open the sample: tiny-llama"),
                   QStringLiteral("A small trained language model"), [this, sample] { session_.open(sample); });
        if (offers_->count() == 0)
            offers_->addWidget(label(QStringLiteral("The sample model is not installed."), Theme::words(12), "muted"));
        offers_->addStretch();
    }

    Session& session_;
    QLabel *error_ = nullptr, *died_ = nullptr;
    PageTour* tour_ = nullptr;
    QWidget* middle_ = nullptr;
    QGridLayout* centred_ = nullptr;
    QVBoxLayout *recent_ = nullptr, *offers_ = nullptr;
};

} // namespace

QWidget* createStartPage(Session& session, QWidget* parent) { return new StartPage(session, parent); }

} // namespace qs::gui
