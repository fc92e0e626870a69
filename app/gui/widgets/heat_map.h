// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Cells drawn as a QImage, with axis titles, labels and a colour legend that prints the absolute range and the unit.
// Zoomable by the mouse and the keys.

#include "app/gui/widgets/heat_map_picture.h"

#include <QWidget>

#include <functional>

class QMenu;

namespace qs::gui {

class HeatMap : public QWidget {
    Q_OBJECT
public:
    explicit HeatMap(QWidget* parent = nullptr);
    /// Keeps zoom and current cell if the number of rows and columns is unchanged.
    void setData(const HeatMapData& data);
    const HeatMapData& data() const { return picture_.data(); }
    const ColourScale& scale() const { return picture_.scale(); }
    void setCurrent(int row, int column); ///< outlined; -1: none
    void setLinked(int row, int column);  ///< highlighted as if under the mouse, without a tooltip; -1: none
    int currentRow() const { return currentRow_; }
    int currentColumn() const { return currentColumn_; }
    void setGap(int pixels); ///< pixels between cells (layer x role map: 2)
    /// Sets the text of tooltips; the default is "row, column, value".
    void setDescribe(std::function<QString(int row, int column)> describe);
    QString describe(int row, int column) const;
    /// Sets actions for a cell; they come first in the context menu.
    void setCellActions(std::function<void(QMenu&, int row, int column)> add) { cellActions_ = std::move(add); }
    void resetView();
    QRectF view() const { return picture_.view(); }               ///< the visible cells
    void setView(const QRectF& cells);                            ///< clamped to the map; for linked maps
    QRectF plotRect() const { return picture_.plotRect(size()); } ///< in pixels
    QRectF cellRect(int row, int column) const { return picture_.cellRect(plotRect(), row, column); } ///< in pixels
    QString dataAsTsv() const { return picture_.asTsv(); }
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

public Q_SLOTS:
    void copyPicture();
    void copyData();

Q_SIGNALS:
    void cellHovered(int row, int column); ///< -1, -1 when the mouse leaves
    void cellClicked(int row, int column);
    void viewChanged(const QRectF& cells); ///< by the user

protected:
    bool event(QEvent*) override;
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
    void hover(int row, int column, QPoint global);
    void zoom(double factor, QPointF about);

    HeatMapPicture picture_;
    int currentRow_ = -1, currentColumn_ = -1, hoverRow_ = -1, hoverColumn_ = -1;
    QPointF dragFrom_;
    QRectF dragView_;
    bool pressed_ = false, dragging_ = false;
    std::function<QString(int, int)> describe_;
    std::function<void(QMenu&, int, int)> cellActions_;
};

} // namespace qs::gui
