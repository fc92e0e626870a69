// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The bar above every page, 64 px: model, recipe where one is in force, spec, key figures.

#include <QWidget>

class QLabel;
class QToolButton;

namespace qs::gui {

class KeyFigures;
class Session;
class SpecBar;

class TopBar : public QWidget {
    Q_OBJECT
public:
    explicit TopBar(Session& session, QWidget* parent = nullptr);
    void setSpecVisible(bool visible);

protected:
    void paintEvent(QPaintEvent*) override;
    void resizeEvent(QResizeEvent*) override;

private:
    void refresh();
    QWidget* recipeLine();
    void showRecipe();
    Session& session_;
    QLabel *title_, *facts_, *recipe_;
    QWidget* recipeLine_;
    SpecBar* spec_;
    KeyFigures* figures_;
    QString titleText_, factsText_;
    bool specVisible_ = true;
};

} // namespace qs::gui
