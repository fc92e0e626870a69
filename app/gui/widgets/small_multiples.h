// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Small scatter plots on shared axes, one for each class. A thin line joins the marks of a series, a heavy line the
// best marks (those that no other mark beats). The mark under the mouse is highlighted in all plots.

#include <QAbstractScrollArea>
#include <QString>
#include <QStringList>

#include <functional>
#include <vector>

namespace qs::gui {

struct MultipleDot {
    double x = 0, y = 0;
    int series = 0;
    int id = 0; ///< marks of the same thing have the same id in all panels
    bool best = false;
};
struct Multiple {
    QString title, note;
    std::vector<MultipleDot> dots; ///< sorted by series, then x
    QString empty;                 ///< shown when there are no dots
};

class SmallMultiples : public QAbstractScrollArea {
    Q_OBJECT
public:
    explicit SmallMultiples(QWidget* parent = nullptr);
    void setAxes(const QString& x, const QString& y);
    /// Panels compare two orders: no line joins the marks, a dashed one shows where both are equal.
    void setComparesOrders(bool on) { comparesOrders_ = on; }
    void setDescribe(std::function<QString(int panel, int id)> describe); ///< sets the text of the read-out
    void setData(QStringList series, std::vector<Multiple> panels);
    const std::vector<Multiple>& panels() const { return panels_; }
    void setCurrent(int panel, int id); ///< marked by a ring; the panel gets a frame
    int currentPanel() const { return currentPanel_; }
    QPointF dotPosition(int panel, int id) const; ///< in pixels of the viewport
    QRectF panelRect(int panel) const;            ///< in pixels of the viewport
    QString dataAsTsv() const;
    QByteArray asSvg() const;
    QSize minimumSizeHint() const override { return {320, 200}; }

Q_SIGNALS:
    void dotClicked(int panel, int id);
    void panelClicked(int panel);

protected:
    bool viewportEvent(QEvent*) override;
    void paintEvent(QPaintEvent*) override;
    void resizeEvent(QResizeEvent*) override;
    void keyPressEvent(QKeyEvent*) override;
    void contextMenuEvent(QContextMenuEvent*) override;

private:
    struct Range {
        double lo = 0, hi = 1;
    };
    void arrange();
    void paint(QPainter& painter) const;
    void paintPanel(QPainter& painter, int panel) const;
    void paintLegend(QPainter& painter) const;
    QRectF plotRect(int panel) const;
    QPointF at(const QRectF& plot, double x, double y) const;
    void hover(QPoint position, QPoint global);
    int legendAt(QPointF position) const;

    std::function<QString(int, int)> describe_;
    QStringList series_;
    std::vector<Multiple> panels_;
    QString xTitle_, yTitle_;
    Range x_, y_;
    std::vector<QRectF> legend_; ///< per series
    double legendHeight_ = 0, panelWidth_ = 0, panelHeight_ = 0;
    bool comparesOrders_ = false;
    int columns_ = 1;
    int currentPanel_ = 0, currentId_ = -1;
    int hoverPanel_ = -1, hoverId_ = -1, hoverSeries_ = -1;
};

} // namespace qs::gui
