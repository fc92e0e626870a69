// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/widgets/plot_analysis.h"

#include "app/gui/widgets/plot_axis.h"

#include <QCoreApplication>

#include <algorithm>
#include <cmath>
#include <limits>

namespace qs::gui {
namespace {

QString tr(const char* text) { return QCoreApplication::translate("plot_analysis", text); }

// A float bin is up to 1/32 wide, so the mass of values that are exactly +-top spills past the top level. When nothing
// was clipped no value is beyond it, and that mass belongs to the outermost bins.
bool insideLevels(const TensorAnalysis& analysis, double bottom, double top) {
    constexpr double oneBin = 1 + 1.0 / 32 + 1e-6;
    return analysis.sums.clipped == 0 && analysis.value.maximum() <= top * oneBin &&
           analysis.value.minimum() >= bottom * oneBin;
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

std::span<const float> decodeLevels(const QuantSpec& spec) {
    const FormatTraits& traits = spec.traits();
    return spec.effectiveDecode() == Decode::Poly && !traits.polyLevels.empty() ? traits.polyLevels : traits.levels;
}

AnalysisPlot weightDensity(const TensorAnalysis& analysis, int bins) {
    AnalysisPlot plot;
    plot.series.name = tr("density");
    const std::span<const float> levels = decodeLevels(analysis.spec);
    plot.total = double(analysis.value.total());
    double lo = -1, hi = 1;
    bool fold = false;
    const double central = analysis.value.absPercentile(99.9);
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
    FloatHistogram::Linear linear = analysis.value.linear(lo, hi, bins);
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

double errorRange(const TensorAnalysis& analysis) {
    const double central = analysis.error.absPercentile(99.9);
    return central > 0 ? central : double(analysis.sums.maxAbs);
}

AnalysisPlot signedError(const TensorAnalysis& analysis, double range, bool cumulative, int bins) {
    AnalysisPlot plot;
    plot.lo = -range;
    plot.hi = range;
    plot.total = double(analysis.error.total());
    plot.series.token = 2;
    plot.series.name = cumulative ? tr("share of errors ≤ x") : tr("density");
    if (!(range > 0)) return plot;
    const FloatHistogram::Linear linear = analysis.error.linear(-range, range, bins);
    plot.below = linear.below;
    plot.above = linear.above;
    double sum = linear.below;
    if (cumulative) plot.series.points.append({-range, plot.total > 0 ? 100 * sum / plot.total : 0});
    for (int i = 0; i < bins; ++i) {
        const double count = linear.counts[std::size_t(i)];
        sum += count;
        const double share = plot.total > 0 ? (cumulative ? 100 * sum : count / linear.width()) / plot.total : 0;
        plot.series.points.append({-range + (i + (cumulative ? 1.0 : 0.5)) * linear.width(), share});
    }
    const std::pair<const char*, double> percentiles[] = {
        {"p50", analysis.p50}, {"p95", analysis.p95}, {"p99", analysis.p99}};
    for (const auto& [name, value] : percentiles) {
        const QString label = QStringLiteral("%1 |E| = %2").arg(QString::fromLatin1(name), readoutText(value));
        plot.markers.append({-value, label, true, false, 4});
        plot.markers.append({value, label, true, false, 4});
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
        double most = std::numeric_limits<double>::quiet_NaN(); // stays so where no channel was measured
        for (std::size_t j = from; j < to; ++j)
            if (!(double(values[j]) <= most) && !std::isnan(values[j])) most = double(values[j]);
        series.points.append({std::floor(double(i) * each), most});
    }
    return series;
}

} // namespace qs::gui
