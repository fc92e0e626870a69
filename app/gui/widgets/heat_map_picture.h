// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The picture of a heat map: its data, their colours and the visible cells. Cells that were not measured are hatched. If
// several cells share a pixel, the worst one is shown. The image is computed once per view; a repaint copies it.

#include "app/gui/widgets/colour_scale.h"

#include <QImage>
#include <QString>
#include <QStringList>
#include <QVector>

class QPainter;

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

class HeatMapPicture {
public:
    void setData(const HeatMapData& data);
    const HeatMapData& data() const { return data_; }
    const ColourScale& scale() const { return scale_; }
    void setGap(int pixels) { gap_ = pixels; } ///< pixels between cells
    void forgetImage() { stale_ = true; }      ///< the colours of the theme or the size have changed
    const QRectF& view() const { return view_; }
    bool setView(const QRectF& cells); ///< clamped to the map; false: nothing changes

    bool holds(int row, int column) const; ///< whether the map has such a place, blank or not
    bool present(int row, int column) const;
    float value(int row, int column) const { return data_.values[row * data_.columns + column]; }
    QString valueText(float value, int moreDecimals) const;
    QString rowLabel(int row) const, columnLabel(int column) const;
    QString asTsv() const;

    QRectF plotRect(QSizeF size) const;                                     ///< in a widget of this size
    QRectF cellRect(const QRectF& plot, int row, int column) const;         ///< in pixels
    std::pair<int, int> cellAt(const QRectF& plot, QPointF position) const; ///< -1, -1 outside the map

    void paintCells(QPainter& painter, const QRectF& plot, double pixelRatio);
    void paintAxes(QPainter& painter, const QRectF& plot, double width) const;
    void paintOutline(QPainter& painter, const QRectF& plot, int row, int column, const QColor& colour,
                      double width) const;

private:
    void renderImage(const QRectF& plot, double ratio); ///< draws image_ from levels_ and view_
    double columnLabelHeight() const { return 12.0 * columnLines_; }

    HeatMapData data_;
    ColourScale scale_;
    QVector<quint8> levels_; ///< colour index per cell; 0: not measured
    QImage image_;           ///< the visible cells at the pixels of the plot
    bool stale_ = true;
    QRectF view_;
    int gap_ = 0;
    double labelWidth_ = 0;
    QString longestColumn_;
    int columnLines_ = 1; ///< lines per column label
};

} // namespace qs::gui
