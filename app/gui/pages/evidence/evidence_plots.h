// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Profiles of scores as series and markers. Plain functions: what is drawn can be tested without drawing.

#include "app/gui/widgets/plot_chart.h"
#include "core/eval/run/record.h"

#include <vector>

namespace qs::gui {

struct NamedProfile {
    QString name; ///< the spec
    const eval::ScoreProfile* profile = nullptr;
};

/// Mean KL so far against scored tokens, a line for each spec; of `chosen` the band of one standard error by chunk.
QVector<PlotSeries> runningSeries(const std::vector<NamedProfile>& profiles, int chosen);
/// Mean KL at each position of a chunk; as above.
QVector<PlotSeries> positionSeries(const std::vector<NamedProfile>& profiles, int chosen);

struct DivergencePlot {
    PlotSeries bars;                     ///< x: log10 of the KL in nats, y: tokens in %
    double lo = -1, hi = 1, outside = 0; ///< range with tokens; tokens of the bins' outside
};
DivergencePlot divergencePlot(const eval::ScoreProfile& profile, int token);
/// Lines at the percentiles of a summary, on the axis of divergencePlot().
QVector<PlotMarker> percentileMarkers(const eval::ScoreSummary& summary);

/// Cosine against the chunk of the text, a line for each spec; of very many chunks the least of some beside each other.
QVector<PlotSeries> cosineSeries(const std::vector<eval::RecordedEmbedding>& embeddings);
/// x: a cosine, y: chunks in % whose cosine is not above it.
QVector<PlotSeries> cosineShares(const std::vector<eval::RecordedEmbedding>& embeddings);

/// The name of a spec on a card, with a remark where the reference is itself quantized.
QString besideReference(const QString& spec, const eval::EvaluationRecord& record);

/// Whether the means lie so far apart that only a logarithmic axis shows all of them.
bool spansDecades(const std::vector<NamedProfile>& profiles);

} // namespace qs::gui
