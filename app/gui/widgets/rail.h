// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// One button a page, icon over label, 84 px wide; the menu on top. Pages of one group stand under its name.

#include <QHash>
#include <QWidget>

#include <vector>

class QLabel;
class QMenu;
class QToolButton;

namespace qs::gui {

class Session;
enum class PageGroup;

class Rail : public QWidget {
    Q_OBJECT
public:
    Rail(Session& session, QMenu* menu, QWidget* parent = nullptr);
    void openMenu();

protected:
    void paintEvent(QPaintEvent*) override;
    void resizeEvent(QResizeEvent*) override;

private:
    QLabel* caption(PageGroup group);
    QToolButton* button(const QString& id, const QString& title);
    void refresh();
    Session& session_;
    QToolButton* menu_;
    QHash<QString, QToolButton*> buttons_; ///< by page id
    std::vector<QLabel*> captions_;
};

} // namespace qs::gui
