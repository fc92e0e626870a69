// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/widgets/heat_map_picture.h"

#include "app/gui/theme.h"
#include "app/gui/widgets/name_text.h"

#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace qs::gui {

namespace {

/// The first cell and one past the last cell under each of `pixels` pixels.
std::vector<std::pair<int, int>> cellsUnder(int pixels, double from, double extent, int count) {
    std::vector<std::pair<int, int>> cells(std::size_t(std::max(0, pixels)));
    for (int p = 0; p < pixels; ++p) {
        const int first = std::clamp(int(from + extent * p / pixels), 0, count - 1);
        const int last = std::clamp(int(std::ceil(from + extent * (p + 1) / pixels - 1e-6)), first + 1, count);
        cells[std::size_t(p)] = {first, extent > pixels ? last : first + 1};
    }
    return cells;
}

} // namespace

void HeatMapPicture::setData(const HeatMapData& data) {
    Q_ASSERT(data.values.size() == qsizetype(data.rows) * data.columns);
    data_ = data;
    scale_ = ColourScale::over(data_.values, data_.lo, data_.hi, data_.logColour, data_.diverging);
    scale_.ratio = data_.ratio;
    scale_.turned = !data_.lowIsGood;
    levels_.resize(data_.values.size());
    std::transform(data_.values.cbegin(), data_.values.cend(), levels_.begin(),
                   [this](float v) { return scale_.level(v); });
    labelWidth_ = 0;
    const QFontMetricsF metrics(data_.rowLabels.isEmpty() ? Theme::numbers(10) : Theme::words(11));
    if (data_.rowLabels.isEmpty()) labelWidth_ = metrics.horizontalAdvance(rowLabel(std::max(0, data_.rows - 1)));
    for (const auto& label : data_.rowLabels) labelWidth_ = std::max(labelWidth_, metrics.horizontalAdvance(label));
    columnLines_ = 1;
    for (const auto& label : data_.columnLabels) columnLines_ = std::max(columnLines_, 1 + int(label.count(u'\n')));
    longestColumn_.clear(); // the longest label: the font is monospaced
    for (const auto& label : data_.columnLabels) {
        if (label.size() <= longestColumn_.size()) continue;
        for (const auto& line : label.split(u'\n'))
            if (line.size() > longestColumn_.size()) longestColumn_ = line;
    }
    stale_ = true;
}

bool HeatMapPicture::setView(const QRectF& cells) {
    const double w = std::clamp(cells.width(), std::min(4.0, double(data_.columns)), double(data_.columns));
    const double h = std::clamp(cells.height(), std::min(4.0, double(data_.rows)), double(data_.rows));
    const QRectF view(std::clamp(cells.x(), 0.0, data_.columns - w), std::clamp(cells.y(), 0.0, data_.rows - h), w, h);
    if (view == view_) return false;
    view_ = view;
    return stale_ = true;
}

bool HeatMapPicture::holds(int row, int column) const {
    return row >= 0 && column >= 0 && row < data_.rows && column < data_.columns;
}

bool HeatMapPicture::present(int row, int column) const {
    return data_.absent.isEmpty() || !data_.absent[row * data_.columns + column];
}

QString HeatMapPicture::valueText(float value, int moreDecimals) const {
    if (data_.ratio) return ratioText(double(value));
    return scaleText(value, data_.decimals >= 0 ? data_.decimals + moreDecimals : -1);
}

QString HeatMapPicture::rowLabel(int row) const {
    if (row < data_.rowLabels.size()) return data_.rowLabels[row];
    return QString::number(qRound64(row * data_.rowScale));
}

QString HeatMapPicture::columnLabel(int column) const {
    if (column < data_.columnLabels.size()) return data_.columnLabels[column];
    return QString::number(qRound64(column * data_.columnScale));
}

QRectF HeatMapPicture::plotRect(QSizeF size) const {
    const double left = std::min(labelWidth_ + 6, size.width() / 3.0) + (data_.yTitle.isEmpty() ? 0 : 16);
    return QRectF(left, 4, std::max(1.0, size.width() - left - 4),
                  std::max(1.0, size.height() - 4 - 2 - columnLabelHeight() - 20.0))
        .toRect();
}

QRectF HeatMapPicture::cellRect(const QRectF& plot, int row, int column) const {
    if (view_.isEmpty()) return {};
    const double sx = plot.width() / view_.width(), sy = plot.height() / view_.height();
    return {plot.x() + (column - view_.x()) * sx, plot.y() + (row - view_.y()) * sy, sx, sy};
}

std::pair<int, int> HeatMapPicture::cellAt(const QRectF& plot, QPointF position) const {
    if (!plot.contains(position) || view_.isEmpty()) return {-1, -1};
    const int column = int(view_.x() + (position.x() - plot.x()) / plot.width() * view_.width());
    const int row = int(view_.y() + (position.y() - plot.y()) / plot.height() * view_.height());
    if (row >= data_.rows || column >= data_.columns || !present(row, column)) return {-1, -1};
    return {row, column};
}

void HeatMapPicture::renderImage(const QRectF& plot, double ratio) {
    const int w = int(plot.width() * ratio), h = int(plot.height() * ratio);
    image_ = QImage(w, h, QImage::Format_ARGB32_Premultiplied);
    image_.setDevicePixelRatio(ratio);
    const auto colours = scale_.colours();
    const auto across = cellsUnder(w, view_.x(), view_.width(), data_.columns);
    const auto down = cellsUnder(h, view_.y(), view_.height(), data_.rows);
    // The worst of the cells under a pixel: the largest; the smallest if high is good; the farthest from 0 if
    // diverging.
    const auto worse = [this](int a, int b) {
        if (b == 0 || a == 0) return std::max(a, b);
        if (data_.diverging) return std::abs(a - 128) >= std::abs(b - 128) ? a : b;
        return data_.lowIsGood ? std::max(a, b) : std::min(a, b);
    };
    std::vector<quint8> pooled(std::size_t(data_.columns));
    for (int y = 0; y < h; ++y) {
        auto* line = reinterpret_cast<QRgb*>(image_.scanLine(y));
        const auto [r0, r1] = down[std::size_t(y)];
        if (y > 0 && down[std::size_t(y)] == down[std::size_t(y - 1)]) {
            std::memcpy(line, image_.constScanLine(y - 1), std::size_t(w) * sizeof(QRgb));
            continue;
        }
        const quint8* levels = levels_.constData() + qsizetype(r0) * data_.columns;
        if (r1 > r0 + 1) {
            std::copy_n(levels, data_.columns, pooled.begin());
            for (int r = r0 + 1; r < r1; ++r)
                for (int c = 0; c < data_.columns; ++c)
                    pooled[std::size_t(c)] =
                        quint8(worse(pooled[std::size_t(c)], levels_[qsizetype(r) * data_.columns + c]));
            levels = pooled.data();
        }
        for (int x = 0; x < w; ++x) {
            const auto [c0, c1] = across[std::size_t(x)];
            int level = levels[c0];
            for (int c = c0 + 1; c < c1; ++c) level = worse(level, levels[c]);
            line[x] = colours[std::size_t(level)];
        }
    }
    stale_ = false;
}

void HeatMapPicture::paintCells(QPainter& painter, const QRectF& plot, double pixelRatio) {
    const auto& tokens = Theme::instance().tokens();
    const QBrush hatch(tokens.faint, Qt::BDiagPattern);
    const QRectF cell = cellRect(plot, 0, 0);
    if (gap_ == 0 || std::min(cell.width(), cell.height()) < 3 * gap_) {
        if (stale_) renderImage(plot, pixelRatio);
        if (levels_.contains(0)) {
            painter.fillRect(plot, tokens.raised);
            painter.fillRect(plot, hatch);
        }
        painter.drawImage(plot.topLeft(), image_);
        return;
    }
    const auto colours = scale_.colours();
    const int c0 = int(view_.left()), c1 = std::min(data_.columns, int(std::ceil(view_.right())));
    const int r0 = int(view_.top()), r1 = std::min(data_.rows, int(std::ceil(view_.bottom())));
    for (int r = r0; r < r1; ++r)
        for (int c = c0; c < c1; ++c) {
            if (!present(r, c)) continue;
            const QRectF area = cellRect(plot, r, c);
            const QRect rect = QRect(QPoint(qRound(area.left()), qRound(area.top())),
                                     QPoint(qRound(area.right()) - 1, qRound(area.bottom()) - 1))
                                   .adjusted(0, 0, -gap_, -gap_);
            const quint8 level = levels_[r * data_.columns + c];
            painter.fillRect(rect, level ? QColor::fromRgb(colours[level]) : tokens.raised);
            if (!level) painter.fillRect(rect, hatch);
            if (!level || !data_.printValues || rect.width() < 40 || rect.height() < 14) continue;
            const QColor under = QColor::fromRgb(colours[level]);
            painter.setFont(Theme::numbers(10));
            painter.setPen(under.lightnessF() > 0.55F ? QColor(0x14, 0x17, 0x1c) : QColor(0xff, 0xff, 0xff));
            painter.drawText(rect, Qt::AlignCenter, valueText(value(r, c), 0));
        }
}

void HeatMapPicture::paintAxes(QPainter& painter, const QRectF& plot, double width) const {
    const auto& tokens = Theme::instance().tokens();
    const QFont numbers = Theme::numbers(10), words = Theme::words(11);
    const QFontMetricsF numberMetrics(numbers);
    painter.setPen(tokens.muted);
    const QRectF cell = cellRect(plot, 0, 0);

    // Labels from a list: every k-th, as many as fit. Numbers: about seven, at multiples of 1, 2, 4 or 5 times a power
    // of ten.
    const auto step = [](double extent, double scale, double room, bool list) {
        const double atMost = list ? std::max(1.0, room) : std::clamp(room, 2.0, 8.0);
        if (list) return std::max(1.0, std::ceil(extent / atMost));
        const double least = extent * scale / atMost;
        double unit = std::pow(10, std::floor(std::log10(std::max(1.0, least))));
        for (const double nice : {1.0, 2.0, 4.0, 5.0, 10.0})
            if (unit * nice >= least) return std::max(1.0, unit * nice / scale);
        return std::max(1.0, unit * 10 / scale);
    };
    {
        const bool list = !data_.rowLabels.isEmpty();
        painter.setFont(list ? words : numbers);
        const double every = step(view_.height(), data_.rowScale, plot.height() / 14, list);
        for (double at = std::ceil(view_.top() / every) * every; at < std::min(view_.bottom(), double(data_.rows));
             at += every) {
            const double y = plot.top() + (at + std::min(0.5, every / 2) - view_.top()) * cell.height();
            if (y < plot.top() || y > plot.bottom()) continue;
            const QRectF area(0, y - 8, plot.left() - 6 - gap_ / 2.0, 16);
            const QString text =
                data_.rowsAreRoles
                    ? fittedName(rowLabel(int(at)), painter.font(), area.width() + 1)
                    : painter.fontMetrics().elidedText(rowLabel(int(at)), Qt::ElideRight, int(area.width()) + 1);
            painter.drawText(area, Qt::AlignRight | Qt::AlignVCenter, text);
        }
    }
    {
        const bool list = !data_.columnLabels.isEmpty();
        double widest =
            numberMetrics.horizontalAdvance(list ? longestColumn_ : columnLabel(std::max(0, data_.columns - 1)));
        widest = std::min(widest, std::max(40.0, cell.width() - 10));
        painter.setFont(numbers);
        const double every = step(view_.width(), data_.columnScale, plot.width() / (widest + 8), list);
        for (double at = std::ceil(view_.left() / every) * every; at < std::min(view_.right(), double(data_.columns));
             at += every) {
            const double x = plot.left() + (at + 0.5 - view_.left()) * cell.width();
            if (x < plot.left() || x > plot.right()) continue;
            QRectF area(x - widest / 2 - 2, plot.bottom() + 3, widest + 4, 12);
            if (area.left() < plot.left() - 4) area.moveLeft(plot.left() - 4);
            if (area.right() > width) area.moveRight(width);
            for (const auto& line : columnLabel(int(at)).split(u'\n')) {
                painter.drawText(area, Qt::AlignCenter,
                                 data_.columnsAreNames
                                     ? fittedName(line, painter.font(), area.width())
                                     : painter.fontMetrics().elidedText(line, Qt::ElideMiddle, int(area.width())));
                area.translate(0, 12);
            }
        }
    }
    painter.setFont(numbers);
    const double title = numberMetrics.horizontalAdvance(data_.xTitle) + 12;
    const QRectF bottom(plot.left(), plot.bottom() + 6 + columnLabelHeight(), plot.width(), 16);
    const QRectF legend = plot.width() < title + 300 ? bottom.adjusted(4 - plot.left(), 0, 0, 0) : bottom;
    const bool titled = title + leastLegendWidth(scale_, data_.unit, data_.lowIsGood, data_.decimals) <= legend.width();
    if (titled) painter.drawText(legend, Qt::AlignLeft | Qt::AlignVCenter, data_.xTitle);
    paintLegend(painter, titled ? legend.adjusted(title, 0, 0, 0) : legend, scale_, data_.unit, data_.lowIsGood,
                data_.decimals);
    painter.setPen(tokens.muted);
    painter.setFont(numbers);
    if (!data_.yTitle.isEmpty()) {
        painter.save();
        painter.translate(6, plot.center().y());
        painter.rotate(-90);
        painter.drawText(QRectF(-plot.height() / 2, -8, plot.height(), 16), Qt::AlignCenter, data_.yTitle);
        painter.restore();
    }
}

void HeatMapPicture::paintOutline(QPainter& painter, const QRectF& plot, int row, int column, const QColor& colour,
                                  double width) const {
    if (row < 0) return;
    QRectF area = cellRect(plot, row, column).adjusted(0, 0, -gap_, -gap_);
    if (area.width() < 4) area.adjust(-2, 0, 2, 0);
    if (area.height() < 4) area.adjust(0, -2, 0, 2);
    painter.setPen(QPen(Theme::instance().tokens().bg, width + 2)); // visible on every colour of the map
    painter.drawRect(area);
    painter.setPen(QPen(colour, width));
    painter.drawRect(area);
}

QString HeatMapPicture::asTsv() const {
    QString text = data_.yTitle + u'/' + data_.xTitle;
    for (int c = 0; c < data_.columns; ++c) text += u'\t' + columnLabel(c).replace(u'\n', u' ');
    for (int r = 0; r < data_.rows; ++r) {
        text += u'\n' + rowLabel(r);
        for (int c = 0; c < data_.columns; ++c) {
            const float v = value(r, c);
            text += u'\t';
            if (!std::isnan(v))
                text += QString::number(data_.ratio ? std::exp2(double(v)) : double(v), 'g',
                                        9); // 9 digits restore a float exactly; empty: not measured
        }
    }
    return text + u'\n';
}

} // namespace qs::gui
