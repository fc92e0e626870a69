// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/widgets/rail.h"

#include "app/gui/page.h"
#include "app/gui/session.h"
#include "app/gui/theme.h"

#include <QLabel>
#include <QMenu>
#include <QPainter>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>

namespace qs::gui {
namespace {

constexpr int kButtonWidth = 67, kButton = 55, kLeastButton = 38; ///< px; heights of a button
constexpr int kCaption = 18;                                      ///< px, height of a group's name
constexpr int kMenuHeight = 60, kBottom = 8;                      ///< px: the menu; the lower margin

} // namespace

Rail::Rail(Session& session, QMenu* menu, QWidget* parent)
    : QWidget(parent), session_(session), menu_(new QToolButton) {
    setFixedWidth(84);
    setAccessibleName(QStringLiteral("Pages"));
    auto* column = spaced(new QVBoxLayout(this), 2, {8, 0, 9, kBottom});
    menu_->setProperty("role", QStringLiteral("quiet"));
    menu_->setAccessibleName(QStringLiteral("Menu"));
    menu_->setToolTip(QStringLiteral("Menu (F10)"));
    menu_->setMenu(menu);
    menu_->setPopupMode(QToolButton::InstantPopup);
    menu_->setFixedWidth(36);
    auto* top = new QHBoxLayout;
    top->addStretch();
    top->addWidget(menu_);
    top->addStretch();
    top->setContentsMargins(0, 19, 0, 15);
    column->addLayout(top);
    for (const PageTraits* before = nullptr; const auto& page : pages()) {
        if (before && page.group != before->group) column->addWidget(caption(page.group));
        const auto id = QString::fromLatin1(page.id);
        buttons_.insert(id, button(id, QString::fromLatin1(page.title)));
        column->addWidget(buttons_.value(id));
        before = &page;
    }
    column->addStretch();
    connect(&session, &Session::pageChanged, this, &Rail::refresh);
    connect(&session, &Session::modelChanged, this, &Rail::refresh);
    connect(&Theme::instance(), &Theme::changed, this, &Rail::refresh);
    refresh();
}

QLabel* Rail::caption(PageGroup group) {
    auto* label = dressed(new QLabel(QString::fromLatin1(groupTitle(group))), Theme::words(10), "caption");
    label->setAlignment(Qt::AlignHCenter | Qt::AlignBottom);
    label->setFixedSize(kButtonWidth, kCaption);
    captions_.push_back(label);
    return label;
}

QToolButton* Rail::button(const QString& id, const QString& title) {
    auto* button = new QToolButton;
    button->setObjectName(QStringLiteral("rail-") + id);
    button->setText(title);
    button->setAccessibleName(title);
    button->setCheckable(true);
    button->setToolButtonStyle(Qt::ToolButtonTextUnderIcon);
    button->setIconSize({20, 20});
    dress(*button, Theme::words(11), "rail");
    button->setFixedSize(kButtonWidth, kLeastButton);
    connect(button, &QToolButton::clicked, this, [this, id] {
        session_.showPage(id);
        refresh(); // a click on the page in front must not uncheck it
    });
    return button;
}

/// The buttons share the height that there is.
void Rail::resizeEvent(QResizeEvent*) {
    const int count = int(buttons_.size()), captions = int(captions_.size());
    const int gaps = (count + captions) * layout()->spacing();
    const int room = height() - kMenuHeight - kBottom - captions * kCaption - gaps;
    const int each = std::clamp(room / count, kLeastButton, kButton);
    for (auto* button : buttons_) button->setFixedHeight(each);
}

void Rail::openMenu() { menu_->showMenu(); }

void Rail::refresh() {
    const auto& tokens = Theme::instance().tokens();
    menu_->setIcon(Theme::icon(QStringLiteral("menu"), tokens.muted));
    for (const auto& page : pages()) {
        auto* button = buttons_.value(QString::fromLatin1(page.id));
        const bool here = session_.page() == QLatin1String(page.id);
        const bool usable = session_.model() || !(page.usesSpecBar || page.usesBrowser);
        button->setChecked(here);
        button->setEnabled(usable);
        button->setToolTip(usable ? QString::fromUtf8(page.tip) : QStringLiteral("Open a model first"));
        button->setIcon(Theme::icon(QString::fromLatin1(page.icon), here     ? tokens.accent
                                                                    : usable ? tokens.muted
                                                                             : tokens.faint));
    }
}

void Rail::paintEvent(QPaintEvent*) {
    const auto& tokens = Theme::instance().tokens();
    QPainter painter(this);
    painter.fillRect(rect(), tokens.surface);
    painter.fillRect(width() - 1, 0, 1, height(), tokens.line);
    for (const QLabel* caption : captions_)
        painter.fillRect(caption->x(), caption->y() + 2, caption->width(), 1, tokens.line);
}

} // namespace qs::gui
