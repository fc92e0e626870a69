// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Maps values of a heat map to colours. The legend prints the absolute range, the unit and the better direction.

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
    bool turned = false; ///< high values are good: the bright end, which means worse, is at `lo`

    /// lo == hi: uses the range of the finite values (for log: of the positive ones; for diverging: symmetric around
    /// 0).
    static ColourScale over(const QVector<float>& values, double lo, double hi, bool log, bool diverging);
    double position(double value) const; ///< 0..1, clamped; NaN for NaN
    /// 0: not measured; 1..255: index into colours().
    quint8 level(double value) const;
    /// Entry 0 is transparent. Depends on the theme: call again after Theme::changed().
    std::array<QRgb, 256> colours() const;
};

/// "0.0381", "20.71": fixed decimals if decimals >= 0, else 3 significant digits.
QString scaleText(double value, int decimals);
/// The ratio for its log2: "1.45×"; "1/40×" far below 1.
QString ratioText(double log2);
/// Labels for both ends of an axis or a legend, with enough digits (at most six more) to tell the ends apart.
std::pair<QString, QString> endTexts(double lo, double hi, int decimals);
/// The smallest width in which paintLegend() fits.
double leastLegendWidth(const ColourScale& scale, const QString& unit, bool lowIsGood, int decimals);
/// Paints one line of text height, right-aligned in `area`.
void paintLegend(QPainter& painter, const QRectF& area, const ColourScale& scale, const QString& unit, bool lowIsGood,
                 int decimals);

} // namespace qs::gui
