// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Tick positions at round values for linear and logarithmic axes. Plain functions without a widget.

#include "core/base/symlog.h"

#include <QString>
#include <QVector>

namespace qs::gui {

struct PlotTick {
    double at = 0; ///< in plot units: log10 of the value on a logarithmic axis
    QString label;
};

struct PlotTicks {
    QVector<PlotTick> ticks;
    int exponent = 0; ///< labels are to be multiplied by 10^exponent; the title of the axis says so
};

/// The smallest step of 1, 2, 2.5 or 5 times a power of ten with at most `most` ticks in [lo, hi].
double niceStep(double lo, double hi, int most);
/// Ticks of a linear axis. decimals -1: as many as the step needs.
PlotTicks linearTicks(double lo, double hi, int most, int decimals = -1);
/// Ticks of an axis in log10 units: whole decades, or 1-2-5 in a narrow range.
PlotTicks logTicks(double lo, double hi, int most);
/// Ticks of an axis whose plot units are positions on `axis`: 0 and powers of ten, or round values in a narrow range.
PlotTicks symlogTicks(const SymlogAxis& axis, double lo, double hi, int most);
/// Ticks of an axis whose values are exponents of `base`, labelled with the power: 1 4 16, or 0.1 1 10.
PlotTicks powerTicks(double lo, double hi, int most, int base);
/// "×10⁻⁶"
QString timesTenTo(int exponent);
/// The exact value in a read-out: five significant digits, no trailing zeros.
QString readoutText(double value);

} // namespace qs::gui
