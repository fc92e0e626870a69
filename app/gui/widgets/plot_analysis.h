// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A tensor's analysis as series and markers. Plain functions: what is drawn can be tested without drawing.

#include "app/gui/widgets/plot_chart.h"
#include "core/analysis/analysis.h"
#include "core/analysis/forensics.h"

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
std::span<const float> decodeLevels(const QuantSpec& spec);

/// Density of w / scale over the range of the levels, or of the central 99.8 % where values lie beyond it; levels as
/// markers with code and share.
AnalysisPlot weightDensity(const TensorAnalysis& analysis, int bins = 129);

/// p99.9 of |E|, or the largest error when that is 0; 0 for an exact reconstruction.
double errorRange(const TensorAnalysis& analysis);
/// Density, or cumulative share in %, of the signed error over [-range, range]; p50, p95 and p99 of |E| on both sides.
AnalysisPlot signedError(const TensorAnalysis& analysis, double range, bool cumulative, int bins = 129);

/// Rows that one point of a channel series stands for: a card is a few hundred pixels wide, more points only cost time.
constexpr std::size_t kMostChannelPoints = 1024;
double rowsPerPoint(const ChannelProfile& profile);
/// One point per output channel, or the largest of the channels that share one; x is the (first) channel's number.
PlotSeries channelSeries(const ChannelProfile& profile, const std::vector<float>& values, const QString& name,
                         int token);

/// "0.10 %", "3 of 8192" when the share is tiny.
QString shareText(double count, double total);

} // namespace qs::gui
