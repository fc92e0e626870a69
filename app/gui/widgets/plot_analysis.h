// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A tensor's analysis as series and markers. Plain functions: what is drawn can be tested without drawing.

#include "app/gui/widgets/plot_chart.h"
#include "core/analysis/analysis.h"
#include "core/analysis/forensics/forensics.h"

#include <span>

namespace qs::gui {

struct AnalysisPlot {
    PlotSeries series;
    QVector<PlotMarker> markers;
    double lo = 0, hi = 1;       ///< home range of the x axis
    double below = 0, above = 0; ///< elements outside; counted, never dropped
    double total = 0;
};

/// The levels that the decoder uses, in units of the scale; empty for formats that store the values themselves.
std::span<const float> decodeLevels(const TensorAnalysis& analysis);

/// Density of w / scale over the range of the levels, or of the central 99.8 % where values lie beyond it; levels as
/// markers with code and share.
AnalysisPlot weightDensity(const TensorAnalysis& analysis, int bins = 129);

/// The x axis on which signed errors are drawn, one for all that are compared.
struct ErrorAxis {
    double range = 0; ///< both sides; 0: there is no error
    SymlogAxis symlog;
    double place() const { return symlog.place(range); }
};
/// Symlog: out to the largest error. Linear: to p99.9 of |E|, what lies beyond is counted.
ErrorAxis errorAxis(const TensorAnalysis& a, const TensorAnalysis* b, bool symlog);
/// Cumulative share in %, or the density (on a symlog axis: the share of each bin in %) of the signed error; p50, p95
/// and p99 of |E| on both sides. x are places on the axis.
AnalysisPlot signedError(const TensorAnalysis& analysis, const ErrorAxis& axis, bool cumulative, int bins = 129);
/// The title of its y axis.
QString errorUnit(const ErrorAxis& axis, bool cumulative);

/// Rows that one point of a channel series stands for: a card is a few hundred pixels wide, more points only cost time.
constexpr std::size_t kMostChannelPoints = 1024;
double rowsPerPoint(const ChannelProfile& profile);
/// One point per row or column, or the largest of those that share one; x is the (first) channel's number.
PlotSeries channelSeries(const ChannelProfile& profile, const std::vector<float>& values, const QString& name,
                         int token);

/// "0.10 %", "3 of 8192" when the share is tiny.
QString shareText(double count, double total);

} // namespace qs::gui
