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
#include <tuple>

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
        table[std::size_t(i)] = (diverging ? Theme::diverging(2 * t - 1) : Theme::viridis(turned ? 1 - t : t)).rgb();
    }
    return table;
}

QString scaleText(double value, int decimals) {
    if (std::isnan(value)) return QStringLiteral("–");
    return QString::fromStdString(decimals >= 0 ? fixedText(value, decimals) : significantText(value, 3));
}

std::pair<QString, QString> endTexts(double lo, double hi, int decimals) {
    constexpr int mostMore = 6;
    const auto text = [decimals](double value, int more) {
        if (std::isnan(value) || more == 0) return scaleText(value, decimals);
        return QString::fromStdString(decimals >= 0 ? fixedText(value, decimals + more)
                                                    : significantText(value, 3 + more));
    };
    int more = 0;
    while (lo != hi && more < mostMore && text(lo, more) == text(hi, more)) ++more;
    return {text(lo, more), text(hi, more)};
}

QString ratioText(double log2) {
    if (std::isnan(log2)) return QStringLiteral("–");
    const double ratio = std::exp2(log2);
    if (ratio < 0.095) return QStringLiteral("1/%1×").arg(1 / ratio, 0, 'f', ratio > 1 / 99.5 ? 1 : 0);
    return QString::number(ratio, 'f', ratio < 9.95 ? 2 : ratio < 99.5 ? 1 : 0) + u'×';
}

namespace {

constexpr double kGap = 6, kLeastBar = 24, kMostBar = 120;

struct LegendText {
    QString lo, hi, words, brief; ///< brief: used when the full text does not fit
};

LegendText legendText(const ColourScale& scale, const QString& unit, bool lowIsGood, int decimals) {
    LegendText text;
    const QString log = scale.log ? QStringLiteral("log") : QString();
    QStringList parts{unit, log}, brief = parts;
    if (scale.ratio)
        parts << QStringLiteral("blue slower, orange faster");
    else if (scale.diverging)
        parts << (lowIsGood ? QStringLiteral("below 0 is better") : QStringLiteral("above 0 is better"));
    else
        parts << (lowIsGood ? QStringLiteral("↓ lower is better") : QStringLiteral("↑ higher is better"));
    if (!scale.diverging) brief << QString(lowIsGood ? u'↓' : u'↑');
    parts.removeAll(QString());
    brief.removeAll(QString());
    text.words = parts.join(QStringLiteral("  "));
    text.brief = brief.join(u' ');
    if (scale.ratio && ratioText(scale.lo) != ratioText(scale.hi)) {
        text.lo = ratioText(scale.lo);
        text.hi = ratioText(scale.hi);
    } else if (scale.ratio) {
        const auto ends = endTexts(std::exp2(scale.lo), std::exp2(scale.hi), -1);
        text.lo = ends.first + u'×';
        text.hi = ends.second + u'×';
    } else {
        std::tie(text.lo, text.hi) = endTexts(scale.lo, scale.hi, decimals);
    }
    return text;
}

const QString kNotMeasured = QStringLiteral("not measured");

} // namespace

double leastLegendWidth(const ColourScale& scale, const QString& unit, bool lowIsGood, int decimals) {
    const QFontMetricsF metrics(Theme::numbers(10));
    if (std::isnan(scale.lo)) return metrics.horizontalAdvance(kNotMeasured);
    const auto text = legendText(scale, unit, lowIsGood, decimals);
    return metrics.horizontalAdvance(text.lo) + metrics.horizontalAdvance(text.hi) +
           metrics.horizontalAdvance(text.brief) + 4 * kGap + kLeastBar;
}

void paintLegend(QPainter& painter, const QRectF& area, const ColourScale& scale, const QString& unit, bool lowIsGood,
                 int decimals) {
    const auto& tokens = Theme::instance().tokens();
    const QFont font = Theme::numbers(10);
    const QFontMetricsF metrics(font);
    painter.setFont(font);
    painter.setPen(tokens.muted);
    if (std::isnan(scale.lo)) return painter.drawText(area, Qt::AlignRight | Qt::AlignVCenter, kNotMeasured);
    const auto text = legendText(scale, unit, lowIsGood, decimals);
    const double loWidth = metrics.horizontalAdvance(text.lo), hiWidth = metrics.horizontalAdvance(text.hi);
    QString words = text.words;
    if (metrics.horizontalAdvance(words) + loWidth + hiWidth + 4 * kGap + 2 * kLeastBar > area.width())
        words = text.brief;
    const double wordsWidth = metrics.horizontalAdvance(words);
    const double bar = std::clamp(area.width() - wordsWidth - loWidth - hiWidth - 4 * kGap, kLeastBar, kMostBar);
    double x = area.right() - (loWidth + bar + hiWidth + 4 * kGap + wordsWidth);
    const auto write = [&](const QString& what, double width) {
        painter.drawText(QRectF(x, area.top(), width + 1, area.height()), Qt::AlignLeft | Qt::AlignVCenter, what);
        x += width + kGap;
    };
    write(text.lo, loWidth);
    const QRectF strip(x, area.center().y() - 4, bar, 8);
    const auto table = scale.colours();
    QImage ramp(255, 1, QImage::Format_RGB32);
    for (int i = 0; i < 255; ++i) ramp.setPixel(i, 0, table[std::size_t(i + 1)]);
    painter.drawImage(strip, ramp);
    x += bar + kGap;
    write(text.hi, hiWidth);
    x += kGap;
    write(words, wordsWidth);
}

} // namespace qs::gui
