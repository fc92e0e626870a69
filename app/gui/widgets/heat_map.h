// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Cells as a QImage with axis titles, labels and a colour legend that prints its absolute range and unit. Zoomable; cells
// that were not measured are hatched.

#include <QImage>
#include <QString>
#include <QStringList>
#include <QVector>
#include <QWidget>

namespace qs::gui {

struct HeatMapData {
    int rows = 0, columns = 0;
    QVector<float> values;             ///< row-major; NaN = not measured (hatched)
    QStringList rowLabels, columnLabels; ///< empty: numbers, scaled by rowScale / columnScale
    QString xTitle, yTitle, unit;      ///< of axes and of the values
    double rowScale = 1, columnScale = 1; ///< cell index -> printed number
    bool logColour = false;
    bool diverging = false;            ///< centred at 0, else viridis
    bool lowIsGood = true;             ///< only words in the legend
    double lo = 0, hi = 0;             ///< colour range; lo == hi: from the data
};

class HeatMap : public QWidget {
    Q_OBJECT
public:
    explicit HeatMap(QWidget* parent = nullptr);
    void setData(const HeatMapData& data);
    const HeatMapData& data() const { return data_; }
    void setCurrent(int row, int column);            ///< outlined; -1: none
    void setGap(int pixels);                         ///< between cells (layer x role map: 2)
    void resetView();
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

Q_SIGNALS:
    void cellHovered(int row, int column);           ///< -1, -1 when the mouse leaves
    void cellClicked(int row, int column);

protected:
    void paintEvent(QPaintEvent*) override;
    void mouseMoveEvent(QMouseEvent*) override;
    void mousePressEvent(QMouseEvent*) override;
    void mouseReleaseEvent(QMouseEvent*) override;
    void mouseDoubleClickEvent(QMouseEvent*) override;
    void wheelEvent(QWheelEvent*) override;
    void leaveEvent(QEvent*) override;
    void keyPressEvent(QKeyEvent*) override;
    void contextMenuEvent(QContextMenuEvent*) override;
    void resizeEvent(QResizeEvent*) override;

private:
    QRectF plotRect() const;
    void rebuild();
    HeatMapData data_;
    QImage image_;
    QRectF view_; ///< in cells
    int currentRow_ = -1, currentColumn_ = -1, gap_ = 0;
    QPointF dragFrom_;
    bool dragging_ = false;
};

} // namespace qs::gui
