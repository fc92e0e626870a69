// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/widgets/rail.h"

#include "app/gui/page.h"
#include "app/gui/session.h"
#include "app/gui/theme.h"

#include <QMenu>
#include <QPainter>
#include <QToolButton>
#include <QVBoxLayout>

namespace qs::gui {

Rail::Rail(Session& session, QMenu* menu, QWidget* parent)
    : QWidget(parent), session_(session), menu_(new QToolButton) {
    setFixedWidth(84);
    setAccessibleName(QStringLiteral("Pages"));
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(8, 0, 9, 8);
    column->setSpacing(4);
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
    for (const auto& page : pages()) {
        const auto id = QString::fromLatin1(page.id);
        auto* button = new QToolButton;
        button->setObjectName(QStringLiteral("rail-") + id);
        button->setText(QString::fromLatin1(page.title));
        button->setAccessibleName(button->text());
        button->setCheckable(true);
        button->setToolButtonStyle(Qt::ToolButtonTextUnderIcon);
        button->setIconSize({20, 20});
        button->setProperty("role", QStringLiteral("rail"));
        button->setFont(Theme::words(11));
        button->setFixedSize(67, 55);
        connect(button, &QToolButton::clicked, this, [this, id] {
            session_.showPage(id);
            refresh(); // a click on the page in front must not uncheck it
        });
        buttons_.insert(id, button);
        column->addWidget(button);
    }
    column->addStretch();
    connect(&session, &Session::pageChanged, this, &Rail::refresh);
    connect(&session, &Session::modelChanged, this, &Rail::refresh);
    connect(&Theme::instance(), &Theme::changed, this, &Rail::refresh);
    refresh();
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
}

} // namespace qs::gui
