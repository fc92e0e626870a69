// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/widgets/colour_scale.h"

#include "app/gui/theme.h"
#include "core/base/text.h"

#include <QFontMetricsF>
#include <QPainter>
#include <QRectF>

#include <algorithm>
#include <cmath>
#include <limits>

namespace qs::gui {

ColourScale ColourScale::over(const QVector<float>& values, double lo, double hi, bool log, bool diverging) {
    ColourScale scale{lo, hi, log && !diverging, diverging};
    if (lo == hi || (scale.log && lo <= 0)) {
        double least = std::numeric_limits<double>::infinity(), most = -least;
        for (const float v : values) {
            if (!std::isfinite(v) || (scale.log && v <= 0)) continue;
            least = std::min(least, double(v));
            most = std::max(most, double(v));
        }
        if (least > most) return {std::nan(""), std::nan(""), scale.log, diverging};
        if (diverging) {
            const double reach = std::max(std::abs(least), std::abs(most));
            least = -reach;
            most = reach;
        }
        scale.lo = least;
        scale.hi = lo == hi ? most : std::max(hi, least);
    }
    return scale;
}

double ColourScale::position(double value) const {
    if (std::isnan(value) || std::isnan(lo)) return std::nan("");
    if (!(hi > lo)) return 0.5;
    double t = (value - lo) / (hi - lo);
    if (log) t = value > 0 ? std::log(value / lo) / std::log(hi / lo) : 0;
    return std::clamp(t, 0.0, 1.0);
}

quint8 ColourScale::level(double value) const {
    const double t = position(value);
    return std::isnan(t) ? 0 : quint8(1 + std::lround(t * 254));
}

std::array<QRgb, 256> ColourScale::colours() const {
    std::array<QRgb, 256> table;
    table[0] = qRgba(0, 0, 0, 0);
    for (int i = 1; i < 256; ++i) {
        const double t = (i - 1) / 254.0;
        table[std::size_t(i)] = (diverging ? Theme::diverging(2 * t - 1) : Theme::viridis(t)).rgb();
    }
    return table;
}

QString scaleText(double value, int decimals) {
    if (std::isnan(value)) return QStringLiteral("–");
    return QString::fromStdString(decimals >= 0 ? fixedText(value, decimals) : significantText(value, 3));
}

QString ratioText(double log2) {
    if (std::isnan(log2)) return QStringLiteral("–");
    const double ratio = std::exp2(log2);
    if (ratio < 0.095) return QStringLiteral("1/%1×").arg(1 / ratio, 0, 'f', ratio > 1 / 99.5 ? 1 : 0);
    return QString::number(ratio, 'f', ratio < 9.95 ? 2 : ratio < 99.5 ? 1 : 0) + u'×';
}

double paintLegend(QPainter& painter, const QRectF& area, const ColourScale& scale, const QString& unit, bool lowIsGood,
                   int decimals) {
    const auto& tokens = Theme::instance().tokens();
    const QFont font = Theme::numbers(10);
    const QFontMetricsF metrics(font);
    painter.setFont(font);
    if (std::isnan(scale.lo)) {
        const QString none = QStringLiteral("not measured");
        painter.setPen(tokens.muted);
        painter.drawText(area, Qt::AlignRight | Qt::AlignVCenter, none);
        return metrics.horizontalAdvance(none);
    }
    QString words = unit;
    if (!words.isEmpty()) words += QStringLiteral("  ");
    if (scale.log) words += QStringLiteral("log  ");
    const QString brief = scale.diverging ? words : words + (lowIsGood ? u'↓' : u'↑');
    if (scale.ratio)
        words += QStringLiteral("blue slower, orange faster");
    else if (scale.diverging)
        words += lowIsGood ? QStringLiteral("below 0 is better") : QStringLiteral("above 0 is better");
    else
        words += lowIsGood ? QStringLiteral("↓ lower is better") : QStringLiteral("↑ higher is better");

    const QString lo = scale.ratio ? ratioText(scale.lo) : scaleText(scale.lo, decimals);
    const QString hi = scale.ratio ? ratioText(scale.hi) : scaleText(scale.hi, decimals);
    const double gap = 6, loWidth = metrics.horizontalAdvance(lo), hiWidth = metrics.horizontalAdvance(hi);
    double wordsWidth = metrics.horizontalAdvance(words);
    if (wordsWidth + loWidth + hiWidth + 4 * gap + 48 > area.width()) {
        words = brief;
        wordsWidth = metrics.horizontalAdvance(words);
    }
    const double bar = std::clamp(area.width() - wordsWidth - loWidth - hiWidth - 4 * gap, 24.0, 120.0);
    const double used = loWidth + gap + bar + gap + hiWidth + 2 * gap + wordsWidth;
    double x = area.right() - used;
    const auto text = [&](const QString& what, double width) {
        painter.setPen(tokens.muted);
        painter.drawText(QRectF(x, area.top(), width + 1, area.height()), Qt::AlignLeft | Qt::AlignVCenter, what);
        x += width + gap;
    };
    text(lo, loWidth);
    const QRectF strip(x, area.center().y() - 4, bar, 8);
    const auto table = scale.colours();
    QImage ramp(255, 1, QImage::Format_RGB32);
    for (int i = 0; i < 255; ++i) ramp.setPixel(i, 0, table[std::size_t(i + 1)]);
    painter.drawImage(strip, ramp);
    x += bar + gap;
    text(hi, hiWidth);
    x += gap;
    text(words, wordsWidth);
    return used;
}

} // namespace qs::gui
