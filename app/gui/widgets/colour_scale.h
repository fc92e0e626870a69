// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Value -> colour of a heat-map, and the legend that prints the absolute range, the unit and the better direction.

#include <QRgb>
#include <QString>
#include <QVector>

#include <array>
#include <utility>

class QPainter;
class QRectF;

namespace qs::gui {

struct ColourScale {
    double lo = 0, hi = 0;
    bool log = false, diverging = false;
    bool ratio = false;  ///< values are log2 of a ratio
    bool turned = false; ///< high is good: the bright end, which is the worse one, is at `lo`

    /// lo == hi: the range of the finite values (positive ones for log; symmetric around 0 for diverging).
    static ColourScale over(const QVector<float>& values, double lo, double hi, bool log, bool diverging);
    double position(double value) const; ///< 0..1, clamped; NaN for NaN
    /// 0: not measured; 1..255 index into colours().
    quint8 level(double value) const;
    /// [0] is transparent. Follows the theme: ask again after Theme::changed().
    std::array<QRgb, 256> colours() const;
};

/// "0.0381", "20.71": fixed decimals when decimals >= 0, else 3 significant digits.
QString scaleText(double value, int decimals);
/// "1.45×" of a log2; "1/40×" far below one.
QString ratioText(double log2);
/// The two ends of an axis or a legend: as many more digits as it takes to tell them apart, up to six.
std::pair<QString, QString> endTexts(double lo, double hi, int decimals);
/// What paintLegend() needs at least.
double leastLegendWidth(const ColourScale& scale, const QString& unit, bool lowIsGood, int decimals);
/// One line of text height, right-aligned in `area`.
void paintLegend(QPainter& painter, const QRectF& area, const ColourScale& scale, const QString& unit, bool lowIsGood,
                 int decimals);

} // namespace qs::gui
