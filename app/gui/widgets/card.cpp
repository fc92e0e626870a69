// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/widgets/card.h"

#include "app/gui/glossary.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/elided_label.h"
#include "app/gui/widgets/selectable_label.h"

#include <QHBoxLayout>
#include <QPainter>
#include <QTextDocument>
#include <QToolButton>
#include <QWhatsThis>

namespace qs::gui {
namespace {

// Dims the body while a newer picture is computed; mouse events pass through.
class Veil : public QWidget {
public:
    explicit Veil(QWidget* parent) : QWidget(parent) {
        setAttribute(Qt::WA_TransparentForMouseEvents);
        hide();
    }

protected:
    void paintEvent(QPaintEvent*) override {
        auto colour = Theme::instance().tokens().surface;
        colour.setAlphaF(0.45F);
        QPainter(this).fillRect(rect(), colour);
    }
};

/// A small "?" button that explains the card in its tooltip, and in a bubble when it is pressed.
QToolButton* aboutMark(const QString& title, const QString& about) {
    auto* button = named(new QToolButton, "about");
    button->setText(QStringLiteral("?"));
    button->setProperty("role", QStringLiteral("corner"));
    button->setFixedSize(18, 18);
    button->setFocusPolicy(Qt::TabFocus);
    button->setAccessibleName(Card::tr("About: %1").arg(title));
    button->setAccessibleDescription(about);
    const QString shown = Qt::convertFromPlainText(about, Qt::WhiteSpaceNormal);
    button->setToolTip(shown);
    QObject::connect(button, &QToolButton::clicked, button, [button, shown] {
        QWhatsThis::showText(button->mapToGlobal(QPoint(0, button->height())), shown, button);
    });
    return button;
}

} // namespace

Card::Card(const QString& title, QWidget* parent)
    : QWidget(parent), title_(new QLabel(title)), note_(new ElidedLabel(Qt::ElideRight)), message_(new SelectableLabel),
      header_(new QHBoxLayout), layout_(new QVBoxLayout(this)), veil_(new Veil(this)) {
    setAccessibleName(title);
    title_->setFont(Theme::words(13, QFont::DemiBold));
    title_->setMinimumHeight(20); // height of a corner button: the titles of adjacent cards are on one line
    dress(*note_, Theme::numbers(), "muted");
    note_->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
    note_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    message_->setProperty("role", QStringLiteral("muted"));
    message_->setAlignment(Qt::AlignCenter);
    message_->setWordWrap(true);
    message_->hide();
    header_->setSpacing(Theme::kSpace);
    header_->addWidget(title_);
    if (const QString about = aboutCard(title); !about.isEmpty()) header_->addWidget(aboutMark(title, about));
    header_->addWidget(note_, 1);
    setSpaces(*layout_, Theme::kSpace, Theme::kCardMargins);
    layout_->addLayout(header_);
    layout_->addWidget(message_, 1);
}

void Card::setTitle(const QString& title) {
    if (title == title_->text()) return;
    title_->setText(title);
    setAccessibleName(title);
    place();
}

void Card::setNote(const QString& text) { note_->setText(text); }
QString Card::note() const { return note_->text(); }

QToolButton* Card::addToggle(const QString& text, const QString& tip) {
    auto* button = new QToolButton;
    button->setText(text);
    button->setCheckable(true);
    button->setToolTip(tip);
    button->setAccessibleName(tip);
    addCorner(button);
    return button;
}

void Card::addCorner(QWidget* widget) {
    if (!widget->property("role").isValid()) widget->setProperty("role", QStringLiteral("corner"));
    header_->addWidget(widget);
}

void Card::setBody(QWidget* body) {
    delete body_;
    body_ = body;
    layout_->addWidget(body, 1);
    // showing a body that is not in the layout yet would style it too early
    if (!message_->isHidden()) body->hide();
    veil_->raise();
}

void Card::setSketch(QWidget* sketch) {
    delete sketch_;
    sketch_ = sketch;
    sketch->hide();
    layout_->addWidget(sketch, 1);
}

void Card::setEmpty(const QString& sentence) {
    setMessage(sentence);
    if (sketch_) showSketch(!sentence.isEmpty());
}

void Card::showSketch(bool on) {
    sketch_->setVisible(on);
    layout_->setStretchFactor(message_, on ? 0 : 1);
    message_->setAlignment(on ? Qt::AlignLeft | Qt::AlignTop : Qt::AlignCenter);
}

void Card::setMessage(const QString& sentence) {
    if (sketch_) showSketch(false);
    message_->setText(sentence);
    message_->setVisible(!sentence.isEmpty());
    if (body_) body_->setVisible(sentence.isEmpty());
    if (!sentence.isEmpty()) veil_->hide();
}

QString Card::message() const { return message_->isHidden() ? QString() : message_->text(); }

void Card::setLoading(bool loading) {
    veil_->setVisible(loading && message_->isHidden());
    place();
}

void Card::place() {
    if (body_) veil_->setGeometry(body_->geometry());
    veil_->raise();
}

void Card::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    layout_->activate();
    place();
}

void Card::paintEvent(QPaintEvent*) {
    const auto& tokens = Theme::instance().tokens();
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(tokens.line, 1));
    painter.setBrush(tokens.surface);
    painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), Theme::kCardRadius, Theme::kCardRadius);
}

} // namespace qs::gui
