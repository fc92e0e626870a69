// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/widgets/format_box.h"

#include "app/gui/theme.h"
#include "core/quant/spec/formats.h"

#include <QAbstractButton>
#include <QFrame>
#include <QGridLayout>
#include <QGuiApplication>
#include <QKeyEvent>
#include <QLabel>
#include <QPainter>
#include <QPointer>
#include <QScreen>

#include <algorithm>
#include <cstdlib>
#include <functional>

namespace qs::gui {
namespace {

constexpr int kMostRows = 8, kChoiceWidth = 140, kChoiceHeight = 24;

QString textFrom(std::string_view text) { return QString::fromUtf8(text.data(), qsizetype(text.size())); }

struct Kind {
    FormatKind kind;
    const char* title;
};
constexpr Kind kKinds[] = {{FormatKind::Codebook, "Codebooks"},   {FormatKind::Integer, "Integers"},
                           {FormatKind::Float, "Small floats"},   {FormatKind::Sign, "Signs"},
                           {FormatKind::Identity, "Unquantized"}, {FormatKind::Superblock, "Blocks of ggml"}};

class Choice : public QAbstractButton {
public:
    Choice(const FormatTraits& format, std::function<void()> looked) : looked_(std::move(looked)) {
        setText(textFrom(format.id));
        bits_ = QStringLiteral("%1 bit").arg(format.bits);
        setAccessibleName(textFrom(format.title));
        setAccessibleDescription(textFrom(format.summary));
        setCheckable(true);
        setFocusPolicy(Qt::StrongFocus);
        setFixedSize(kChoiceWidth, kChoiceHeight);
        setAttribute(Qt::WA_Hover);
    }

protected:
    void paintEvent(QPaintEvent*) override {
        const auto& tokens = Theme::instance().tokens();
        QPainter painter(this);
        painter.setRenderHint(QPainter::Antialiasing);
        if (isChecked() || underMouse() || hasFocus()) {
            painter.setBrush(isChecked() ? tokens.selection : tokens.raised);
            painter.setPen(hasFocus() ? QPen(tokens.accent, 2) : QPen(Qt::NoPen));
            painter.drawRoundedRect(QRectF(rect()).adjusted(1, 1, -1, -1), 4, 4);
        }
        const QRect inner = rect().adjusted(Theme::kSpace, 0, -Theme::kSpace, 0);
        painter.setFont(Theme::numbers(12));
        painter.setPen(tokens.text);
        painter.drawText(inner, Qt::AlignLeft | Qt::AlignVCenter, text());
        painter.setFont(Theme::numbers(10));
        painter.setPen(tokens.muted);
        painter.drawText(inner, Qt::AlignRight | Qt::AlignVCenter, bits_);
    }
    void enterEvent(QEnterEvent* event) override {
        looked_();
        QAbstractButton::enterEvent(event);
    }
    void focusInEvent(QFocusEvent* event) override {
        looked_();
        QAbstractButton::focusInEvent(event);
    }
    void keyPressEvent(QKeyEvent* event) override {
        const int key = event->key();
        if (key == Qt::Key_Return || key == Qt::Key_Enter) return click();
        if (key != Qt::Key_Left && key != Qt::Key_Right) return QAbstractButton::keyPressEvent(event);
        // Move to the nearest entry of the next column.
        Choice* nearest = nullptr;
        const auto way = [this](const QWidget* other) {
            return 4 * std::abs(other->x() - x()) + std::abs(other->y() - y());
        };
        for (auto* other : parentWidget()->findChildren<Choice*>())
            if ((key == Qt::Key_Left ? other->x() < x() : other->x() > x()) && (!nearest || way(other) < way(nearest)))
                nearest = other;
        if (nearest) nearest->setFocus(Qt::OtherFocusReason);
    }

private:
    std::function<void()> looked_;
    QString bits_;
};

class Panel : public QFrame {
public:
    explicit Panel(FormatBox& box) : QFrame(box.parentWidget(), Qt::Popup), box_(box), summary_(new QLabel) {
        setProperty("role", QStringLiteral("popup"));
        setObjectName(QStringLiteral("formats"));
        setAccessibleName(tr("Number formats"));
        setAttribute(Qt::WA_DeleteOnClose);
        setAttribute(Qt::WA_NoMouseReplay); // a press on the box closes the list and must not open it again
        grid_ = new QGridLayout(this);
        grid_->setContentsMargins(Theme::kGap, Theme::kGap, Theme::kGap, Theme::kGap);
        grid_->setHorizontalSpacing(Theme::kSpace);
        grid_->setVerticalSpacing(0);
        for (const auto& kind : kKinds) addKind(kind);
        dress(*summary_, Theme::words(11), "muted");
        summary_->setWordWrap(true);
        summary_->setContentsMargins(Theme::kSpace, 0, Theme::kSpace, 0);
        summary_->setMinimumHeight(2 * summary_->fontMetrics().height());
        grid_->setRowMinimumHeight(kSummaryRow - 1, Theme::kGap);
        grid_->addWidget(summary_, kSummaryRow, 0, 1, -1, Qt::AlignTop);
    }

private:
    static constexpr int kSummaryRow = 32;

    void caption(const char* title, int row, int column, int columns) {
        auto* label = dressed(new QLabel(QString::fromLatin1(title)), Theme::words(11, QFont::DemiBold), "caption");
        label->setFixedHeight(kChoiceHeight);
        label->setContentsMargins(Theme::kSpace, 0, 0, 0);
        grid_->addWidget(label, row, column, 1, columns);
    }

    /// Places a kind below the last one if all of it fits there, else in new columns.
    void addKind(const Kind& kind) {
        std::vector<int> members;
        for (std::size_t i = 0; i < formats().size(); ++i)
            if (formats()[i].kind == kind.kind) members.push_back(int(i));
        if (members.empty()) return;
        const int count = int(members.size()), columns = (count + kMostRows - 1) / kMostRows;
        const int rows = (count + columns - 1) / columns;
        if (row_ > 0 && (columns > 1 || row_ + 1 + rows > kMostRows + 1)) row_ = 0, column_ += width_;
        caption(kind.title, row_, column_, columns);
        for (int i = 0; i < count; ++i)
            grid_->addWidget(choice(members[std::size_t(i)]), row_ + 1 + i % rows, column_ + i / rows);
        row_ += 1 + rows, width_ = columns;
    }

    QWidget* choice(int index) {
        const auto& format = formats()[std::size_t(index)];
        const QString summary = textFrom(format.title) + QStringLiteral(": ") + textFrom(format.summary);
        auto* made = new Choice(format, [this, summary] { summary_->setText(summary); });
        made->setChecked(index == box_.currentIndex());
        if (made->isChecked()) {
            summary_->setText(summary);
            setFocusProxy(made);
        }
        connect(made, &QAbstractButton::clicked, this, [this, index] {
            QPointer<FormatBox> box(&box_);
            close();
            if (box) box->setCurrentIndex(index);
        });
        return made;
    }

    FormatBox& box_;
    QLabel* summary_;
    QGridLayout* grid_ = nullptr;
    int row_ = 0, column_ = 0, width_ = 1;
};

} // namespace

FormatBox::FormatBox(QWidget* parent) : QComboBox(parent) { addFormats(); }

void FormatBox::addFormats() {
    const QSignalBlocker quiet(this);
    for (std::size_t i = std::size_t(count()); i < formats().size(); ++i) {
        addItem(textFrom(formats()[i].id));
        setItemData(int(i), textFrom(formats()[i].summary), Qt::ToolTipRole);
    }
}

void FormatBox::showPopup() {
    auto* panel = new Panel(*this);
    panel->adjustSize();
    QPoint corner = mapToGlobal(QPoint(0, height() + 4));
    if (const auto* screen = this->screen()) {
        const QRect room = screen->availableGeometry();
        corner.setX(std::clamp(corner.x(), room.left(), std::max(room.left(), room.right() - panel->width())));
    }
    panel->move(corner);
    panel->show();
    panel->setFocus();
}

} // namespace qs::gui
