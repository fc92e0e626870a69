// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/widgets/plot_analysis.h"
#include "core/quant/spec/code_set.h"

#include "app/gui/widgets/plot_axis.h"

#include <QCoreApplication>

#include <algorithm>
#include <cmath>
#include <limits>

namespace qs::gui {
namespace {

QString tr(const char* text) { return QCoreApplication::translate("plot_analysis", text); }

// A bin is up to 1/32 of its value wide, so that values exactly at the outermost level spread past it. When nothing was
// clipped, no value lies beyond that level, and the share belongs to the outermost bins.
bool insideLevels(const TensorAnalysis& analysis, double bottom, double top) {
    constexpr double oneBin = 1 + 1.0 / 32 + 1e-6;
    return analysis.sums.clipped == 0 && analysis.values().maximum() <= top * oneBin &&
           analysis.values().minimum() >= bottom * oneBin;
}

QVector<PlotMarker> levelMarkers(const TensorAnalysis& analysis, std::span<const float> levels) {
    QVector<PlotMarker> out;
    double total = 0;
    for (const auto count : analysis.codeCounts) total += double(count);
    for (std::size_t code = 0; code < levels.size(); ++code) {
        QString label = tr("code %1: level %2").arg(code).arg(readoutText(double(levels[code])));
        if (code < analysis.codeCounts.size() && total > 0)
            label += tr(", %1 of weights").arg(shareText(double(analysis.codeCounts[code]), total));
        out.append({double(levels[code]), label, false, false, 1});
    }
    return out;
}

} // namespace

QString shareText(double count, double total) {
    const double percent = total > 0 ? 100 * count / total : 0;
    if (count > 0 && percent < 0.005) return tr("%1 of %2").arg(count, 0, 'f', 0).arg(total, 0, 'f', 0);
    return QString::number(percent, 'f', 2) + QStringLiteral(" %");
}

std::span<const float> decodeLevels(const TensorAnalysis& analysis) { return analysis.levels; }

AnalysisPlot weightDensity(const TensorAnalysis& analysis, int bins) {
    AnalysisPlot plot;
    plot.series.name = tr("density");
    const std::span<const float> levels = decodeLevels(analysis);
    plot.total = double(analysis.values().total());
    double lo = -1, hi = 1;
    bool fold = false;
    const double central = analysis.values().absPercentile(99.9);
    if (levels.empty()) {
        hi = central > 0 ? central : 1;
        lo = -hi;
    } else {
        lo = double(levels.front());
        hi = double(levels.back());
        fold = insideLevels(analysis, lo, hi);
        if (!fold && central > 0) {
            lo = std::min(lo, -central);
            hi = std::max(hi, central);
        }
    }
    FloatHistogram::Linear linear = analysis.values().linear(lo, hi, bins);
    if (fold) {
        linear.counts.front() += std::exchange(linear.below, 0);
        linear.counts.back() += std::exchange(linear.above, 0);
    }
    plot.below = linear.below;
    plot.above = linear.above;
    const double perUnit = plot.total > 0 ? 1 / (plot.total * linear.width()) : 0;
    for (int i = 0; i < bins; ++i)
        plot.series.points.append({lo + (i + 0.5) * linear.width(), linear.counts[std::size_t(i)] * perUnit});
    plot.markers = levelMarkers(analysis, levels);
    const double air = 0.02 * (hi - lo);
    plot.lo = lo - air;
    plot.hi = hi + air;
    return plot;
}

ErrorAxis errorAxis(const TensorAnalysis& a, const TensorAnalysis* b, bool symlog) {
    ErrorAxis axis;
    double p95 = 0, largest = 0;
    for (const auto* one : {&a, b}) {
        if (!one) continue;
        const double most = double(one->sums.maxAbs), central = one->errors().absPercentile(99.9);
        largest = std::max(largest, most);
        axis.range = std::max(axis.range, symlog || central <= 0 ? most : central);
        // the smaller percentile stays visible, too
        if (one->p95 > 0) p95 = p95 > 0 ? std::min(p95, one->p95) : one->p95;
    }
    if (symlog) axis.symlog = SymlogAxis::ofErrors(p95, largest);
    return axis;
}

QString errorUnit(const ErrorAxis& axis, bool cumulative) {
    return cumulative ? tr("share of errors, %") : axis.symlog.on() ? tr("share in each bin, %") : tr("density");
}

AnalysisPlot signedError(const TensorAnalysis& analysis, const ErrorAxis& axis, bool cumulative, int bins) {
    AnalysisPlot plot;
    plot.lo = -axis.place();
    plot.hi = axis.place();
    plot.total = double(analysis.errors().total());
    plot.series.token = 2;
    plot.series.name = cumulative ? tr("share of errors ≤ x") : axis.symlog.on() ? tr("share") : tr("density");
    if (!(axis.range > 0)) return plot;
    auto edges = axis.symlog.edges(axis.range, bins);
    // A bin of the histogram is up to 1/32 of its value wide. If no value lies beyond the range, no share does either.
    const bool all = double(analysis.sums.maxAbs) <= axis.range;
    auto binned = analysis.errors().binned(edges);
    if (all) {
        binned.counts.front() += std::exchange(binned.below, 0);
        binned.counts.back() += std::exchange(binned.above, 0);
    }
    plot.below = binned.below;
    plot.above = binned.above;
    const double percent = plot.total > 0 ? 100 / plot.total : 0;
    const double width = 2 * axis.range / bins; // of a linear axis
    double sum = binned.below;
    if (cumulative) plot.series.points.append({plot.lo, percent * sum});
    for (int i = 0; i < bins; ++i) {
        const double count = binned.counts[std::size_t(i)];
        sum += count;
        const double at = plot.lo + (i + (cumulative ? 1.0 : 0.5)) * (plot.hi - plot.lo) / bins;
        plot.series.points.append({at, cumulative         ? percent * sum
                                       : axis.symlog.on() ? percent * count
                                                          : percent / 100 * count / width});
    }
    const std::pair<const char*, double> percentiles[] = {
        {"p50", analysis.p50}, {"p95", analysis.p95}, {"p99", analysis.p99}};
    for (const auto& [name, value] : percentiles) {
        const QString label = QStringLiteral("%1 |E| = %2").arg(QString::fromLatin1(name), readoutText(value));
        plot.markers.append({axis.symlog.place(-value), label, true, false, 4});
        plot.markers.append({axis.symlog.place(value), label, true, false, 4});
    }
    return plot;
}

double rowsPerPoint(const ChannelProfile& profile) {
    const std::size_t points = std::min(profile.absMax.size(), kMostChannelPoints);
    return points == 0 ? 1 : double(profile.channels) / double(points);
}

PlotSeries channelSeries(const ChannelProfile& profile, const std::vector<float>& values, const QString& name,
                         int token) {
    PlotSeries series{name, PlotSeries::Style::Area, token, {}, {}};
    const std::size_t points = std::min(values.size(), kMostChannelPoints);
    const double each = points == 0 ? 1 : double(profile.channels) / double(points);
    series.points.reserve(qsizetype(points));
    for (std::size_t i = 0; i < points; ++i) {
        const std::size_t from = i * values.size() / points, to = (i + 1) * values.size() / points;
        double most = std::numeric_limits<double>::quiet_NaN(); // stays NaN if no channel was measured
        for (std::size_t j = from; j < to; ++j)
            if (!(double(values[j]) <= most) && !std::isnan(values[j])) most = double(values[j]);
        series.points.append({std::floor(double(i) * each), most});
    }
    return series;
}

} // namespace qs::gui
