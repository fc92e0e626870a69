// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// One button a page, icon over label, 84 px wide; the menu on top.

#include <QHash>
#include <QWidget>

class QMenu;
class QToolButton;

namespace qs::gui {

class Session;

class Rail : public QWidget {
    Q_OBJECT
public:
    Rail(Session& session, QMenu* menu, QWidget* parent = nullptr);
    void openMenu();

protected:
    void paintEvent(QPaintEvent*) override;

private:
    void refresh();
    Session& session_;
    QToolButton* menu_;
    QHash<QString, QToolButton*> buttons_; ///< by page id
};

} // namespace qs::gui
