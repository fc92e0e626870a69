// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/widgets/banner.h"

#include "app/gui/theme.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QPushButton>
#include <QToolButton>

namespace qs::gui {

Banner::Banner(QWidget* parent)
    : QWidget(parent), icon_(new QLabel), text_(new QLabel), actions_(new QHBoxLayout), close_(new QToolButton) {
    text_->setWordWrap(true);
    text_->setTextFormat(Qt::PlainText);
    text_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    close_->setProperty("role", QStringLiteral("corner"));
    close_->setAccessibleName(QStringLiteral("Close this message"));
    close_->setToolTip(close_->accessibleName());
    auto* row = spaced(new QHBoxLayout(this), Theme::kGap, {Theme::kMargin, Theme::kSpace, Theme::kGap, Theme::kSpace});
    row->addWidget(icon_);
    row->addWidget(text_, 1);
    actions_->setSpacing(Theme::kSpace);
    row->addLayout(actions_);
    row->addWidget(close_);
    connect(close_, &QToolButton::clicked, this, [this] {
        hide();
        Q_EMIT closed();
    });
    connect(&Theme::instance(), &Theme::changed, this, &Banner::tint);
    tint();
    hide();
}

void Banner::tint() {
    const auto& tokens = Theme::instance().tokens();
    icon_->setPixmap(Theme::icon(QStringLiteral("warning"), tokens.warn, 16).pixmap(16, 16));
    close_->setIcon(Theme::icon(QStringLiteral("close"), tokens.muted, 16));
}

void Banner::offer(const QString& sentence, const std::vector<Action>& actions) {
    say(sentence);
    for (const Action& action : actions) {
        auto* button = named(new QPushButton(action.text), "bannerAction");
        button->setToolTip(action.tip);
        connect(button, &QPushButton::clicked, this, [this, act = action.act] {
            hide();
            act();
        });
        actions_->addWidget(button);
    }
}

void Banner::say(const QString& sentence) {
    while (auto* item = actions_->takeAt(0)) {
        item->widget()->hide();
        item->widget()->deleteLater();
        delete item;
    }
    text_->setText(sentence);
    setAccessibleName(sentence);
    setVisible(!sentence.isEmpty());
}

QString Banner::text() const { return isHidden() ? QString() : text_->text(); }

void Banner::paintEvent(QPaintEvent*) {
    const auto& tokens = Theme::instance().tokens();
    QPainter painter(this);
    painter.fillRect(rect(), tokens.raised);
    painter.fillRect(0, 0, 3, height(), tokens.warn);
    painter.fillRect(0, height() - 1, width(), 1, tokens.line);
}

} // namespace qs::gui
