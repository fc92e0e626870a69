// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/widgets/plot_axis.h"

#include <algorithm>
#include <cmath>

namespace qs::gui {
namespace {

QString superscript(int number) {
    static const QString digits = QStringLiteral("⁰¹²³⁴⁵⁶⁷⁸⁹");
    QString out;
    const QString plain = QString::number(number);
    for (const QChar c : plain) out += c == u'-' ? QStringLiteral("⁻") : QString(digits[c.digitValue()]);
    return out;
}

// The typographic minus is as wide as a digit in a monospaced font, so that labels stay aligned around 0.
QString withMinus(QString text) { return text.replace(u'-', QChar(0x2212)); }

int decimalsOf(double step) {
    for (int decimals = 0; decimals < 8; ++decimals) {
        const double scaled = step * std::pow(10.0, decimals);
        if (std::abs(scaled - std::round(scaled)) < 1e-6 * std::max(1.0, scaled)) return decimals;
    }
    return 8;
}

} // namespace

double niceStep(double lo, double hi, int most) {
    const double span = hi - lo;
    if (!(span > 0) || !std::isfinite(span) || most < 2) return 1;
    double power = std::pow(10.0, std::floor(std::log10(span / most)));
    for (int i = 0; i < 3; ++i, power *= 10) {
        for (const double factor : {1.0, 2.0, 2.5, 5.0}) {
            const double step = factor * power;
            const double first = std::ceil(lo / step - 1e-9), last = std::floor(hi / step + 1e-9);
            if (last - first + 1 <= most) return step;
        }
    }
    return power;
}

PlotTicks linearTicks(double lo, double hi, int most, int decimals) {
    PlotTicks out;
    if (!(hi > lo) || !std::isfinite(hi - lo)) return out;
    const double largest = std::max(std::abs(lo), std::abs(hi));
    if (largest < 1e-3 || largest >= 1e6) out.exponent = 3 * int(std::floor(std::log10(largest) / 3));
    const double unit = std::pow(10.0, out.exponent);
    double step = niceStep(lo, hi, most);
    // A tick must be exactly at the value of its label: an axis of codes has no tick at 2.5.
    for (int fewer = most; decimals >= 0 && decimalsOf(step / unit) > decimals && fewer > 2;)
        step = niceStep(lo, hi, --fewer);
    const int shown = decimals >= 0 ? decimals : decimalsOf(step / unit);
    const auto first = std::llround(std::ceil(lo / step - 1e-9)), last = std::llround(std::floor(hi / step + 1e-9));
    for (auto i = first; i <= last; ++i) {
        const double value = double(i) * step;
        out.ticks.append({value, withMinus(QString::number(i == 0 ? 0.0 : value / unit, 'f', shown))});
    }
    return out;
}

PlotTicks logTicks(double lo, double hi, int most) {
    PlotTicks out;
    if (!(hi > lo) || !std::isfinite(hi - lo)) return out;
    const int first = int(std::ceil(lo - 1e-9)), last = int(std::floor(hi + 1e-9));
    if (last - first >= 1) {
        const int step = std::max(1, (last - first + most) / most);
        for (int decade = int(std::ceil(double(first) / step)) * step; decade <= last; decade += step) {
            const bool plain = decade >= -3 && decade <= 3;
            out.ticks.append({double(decade), plain ? QString::number(std::pow(10.0, decade))
                                                    : QStringLiteral("10") + superscript(decade)});
        }
        return out;
    }
    // Less than two decades in view: ticks at 1, 2 and 5; if these are too few, those of a linear axis.
    for (int decade = int(std::floor(lo)); decade <= last; ++decade)
        for (const double factor : {1.0, 2.0, 5.0}) {
            const double value = factor * std::pow(10.0, decade), at = std::log10(value);
            const bool plain = decade >= -3 && decade <= 3;
            if (plain && at > lo - 1e-9 && at < hi + 1e-9) out.ticks.append({at, QString::number(value)});
        }
    if (out.ticks.size() >= 3) return out;
    out.ticks.clear();
    const PlotTicks linear = linearTicks(std::pow(10.0, lo), std::pow(10.0, hi), most);
    out.exponent = linear.exponent;
    for (const PlotTick& tick : linear.ticks) {
        if (tick.at > 0) out.ticks.append({std::log10(tick.at), tick.label});
    }
    return out;
}

PlotTicks symlogTicks(const SymlogAxis& axis, double lo, double hi, int most) {
    const auto values = axis.ticks(lo, hi, most);
    PlotTicks out;
    if (values.size() < 3) {
        out = linearTicks(axis.value(lo), axis.value(hi), most);
        for (PlotTick& tick : out.ticks) tick.at = axis.place(tick.at);
        return out;
    }
    // not from the ticks, so that charts side by side agree
    const double largest = axis.value(std::max(std::abs(lo), std::abs(hi)));
    if (largest < 1e-2 || largest >= 1e4) out.exponent = 3 * int(std::floor(std::log10(largest) / 3));
    for (const double value : values) {
        const double shown = value / std::pow(10.0, out.exponent);
        out.ticks.append({axis.place(value), withMinus(QString::number(shown, 'g', 6))});
    }
    return out;
}

PlotTicks powerTicks(double lo, double hi, int most, int base) {
    if (base == 10) return logTicks(lo, hi, most);
    PlotTicks out;
    if (!(hi > lo) || !std::isfinite(hi - lo)) return out;
    const int first = int(std::ceil(lo - 1e-9)), last = int(std::floor(hi + 1e-9));
    const int step = std::max(1, (last - first + most) / std::max(1, most));
    for (int at = int(std::ceil(double(first) / step)) * step; at <= last; at += step)
        out.ticks.append({double(at), readoutText(std::pow(double(base), at))});
    return out;
}

QString timesTenTo(int exponent) { return QStringLiteral("×10") + superscript(exponent); }

QString readoutText(double value) {
    if (!std::isfinite(value)) return std::isnan(value) ? QStringLiteral("nan") : QStringLiteral("inf");
    return withMinus(QString::number(value, 'g', 5));
}

} // namespace qs::gui
