// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Converts the analysis of a tensor to series and markers of a plot. Plain functions, so that tests need no painting.

#include "app/gui/widgets/plot_chart.h"
#include "core/analysis/analysis.h"
#include "core/analysis/forensics/forensics.h"

#include <span>

namespace qs::gui {

struct AnalysisPlot {
    PlotSeries series;
    QVector<PlotMarker> markers;
    double lo = 0, hi = 1;       ///< initial range of the x axis
    double below = 0, above = 0; ///< number of elements outside; they are counted, not dropped
    double total = 0;
};

/// The levels that the decoder uses, in units of the scale; empty for formats that store the values directly.
std::span<const float> decodeLevels(const TensorAnalysis& analysis);

/// Density of w / scale over the range of the levels, or over the central 99.8 % if values lie outside that range.
/// Levels become markers with code and share.
AnalysisPlot weightDensity(const TensorAnalysis& analysis, int bins = 129);

/// The x axis of signed errors, one for all compared plots.
struct ErrorAxis {
    double range = 0; ///< the axis is -range to range; 0: there is no error
    SymlogAxis symlog;
    double place() const { return symlog.place(range); }
};
/// symlog: up to the largest error. Linear: up to p99.9 of |E|; errors beyond are counted.
ErrorAxis errorAxis(const TensorAnalysis& a, const TensorAnalysis* b, bool symlog);
/// The signed error as cumulative share in % or as density (on a symlog axis: share of each bin in %), with p50, p95
/// and p99 of |E| on both sides. x are positions on the axis.
AnalysisPlot signedError(const TensorAnalysis& analysis, const ErrorAxis& axis, bool cumulative, int bins = 129);
/// Title of the y axis.
QString errorUnit(const ErrorAxis& axis, bool cumulative);

/// At most so many points for a series over channels: a card has a few hundred pixels, and more points cost time.
constexpr std::size_t kMostChannelPoints = 1024;
double rowsPerPoint(const ChannelProfile& profile);
/// One point per row or column; if several share a point, the largest. x is the number of the (first) channel.
PlotSeries channelSeries(const ChannelProfile& profile, const std::vector<float>& values, const QString& name,
                         int token);

/// "0.10 %", or "3 of 8192" for a tiny share.
QString shareText(double count, double total);

} // namespace qs::gui
