// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Cells drawn as a QImage, with axis titles, labels and a colour legend that prints the absolute range and the unit.
// Zoomable. Cells that were not measured are hatched. If several cells share a pixel, the worst one is shown.

#include "app/gui/widgets/colour_scale.h"

#include <QImage>
#include <QString>
#include <QStringList>
#include <QVector>
#include <QWidget>

#include <functional>

class QMenu;

namespace qs::gui {

struct HeatMapData {
    int rows = 0, columns = 0;
    QVector<float> values; ///< row-major; NaN: not measured (hatched)
    QStringList rowLabels,
        /// empty: the index times rowScale / columnScale is printed; column labels may have two lines
        columnLabels;
    /// labels are names of tensors: numbers in them are not cut
    bool rowsAreRoles = false, columnsAreNames = false;
    QString xTitle, yTitle, unit;         ///< titles of axes, unit of values
    double rowScale = 1, columnScale = 1; ///< factor from the index of a cell to the printed number
    bool logColour = false;
    bool diverging = false;   ///< centred at 0; otherwise viridis
    bool lowIsGood = true;    ///< sets the words of the legend and which cell is the worst
    double lo = 0, hi = 0;    ///< colour range; lo == hi: range of the data
    int decimals = -1;        ///< of printed values; -1: significant digits
    bool ratio = false;       ///< values are log2 of a ratio, centred at 1×, and printed as the ratio
    bool printValues = false; ///< in cells with enough room
    /// Cells that do not exist (a layer without that role): blank, not hatched. Empty: every cell exists.
    QVector<bool> absent;
};

class HeatMap : public QWidget {
    Q_OBJECT
public:
    explicit HeatMap(QWidget* parent = nullptr);
    /// Keeps zoom and current cell if the number of rows and columns is unchanged.
    void setData(const HeatMapData& data);
    const HeatMapData& data() const { return data_; }
    const ColourScale& scale() const { return scale_; }
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
    QRectF view() const { return view_; }       ///< the visible cells
    void setView(const QRectF& cells);          ///< clamped to the map; for linked maps
    QRectF plotRect() const;                    ///< in pixels
    QRectF cellRect(int row, int column) const; ///< in pixels
    QString dataAsTsv() const;
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
    bool present(int row, int column) const;
    float value(int row, int column) const { return data_.values[row * data_.columns + column]; }
    QString valueText(float value, int moreDecimals) const;
    std::pair<int, int> cellAt(QPointF position) const; ///< -1, -1 outside the map
    void hover(int row, int column, QPoint global);
    void zoom(double factor, QPointF about);
    void rebuild();                       ///< computes levels_ from the data
    void renderImage(const QRectF& plot); ///< draws image_ from levels_ and view_
    void paintCells(QPainter& painter, const QRectF& plot);
    void paintAxes(QPainter& painter, const QRectF& plot);
    QString rowLabel(int row) const, columnLabel(int column) const;
    double columnLabelHeight() const { return 12.0 * columnLines_; }

    HeatMapData data_;
    ColourScale scale_;
    QVector<quint8> levels_; ///< colour index per cell; 0: not measured
    QImage image_;           ///< the visible cells at the pixels of the plot
    bool stale_ = true;
    QRectF view_;
    int currentRow_ = -1, currentColumn_ = -1, hoverRow_ = -1, hoverColumn_ = -1, gap_ = 0;
    double labelWidth_ = 0;
    QString longestColumn_;
    int columnLines_ = 1; ///< lines per column label
    QPointF dragFrom_;
    QRectF dragView_;
    bool pressed_ = false, dragging_ = false;
    std::function<QString(int, int)> describe_;
    std::function<void(QMenu&, int, int)> cellActions_;
};

} // namespace qs::gui
