// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/evidence/evidence_plots.h"

#include <QCoreApplication>

#include <algorithm>
#include <cmath>

namespace qs::gui {
namespace {

constexpr int kColours = 4;
constexpr double kFarApart = 20; ///< ratio of two means

QString word(const char* text) { return QCoreApplication::translate("evidence_plots", text); }

/// x and estimate of each point of a profile.
using Points = std::vector<std::pair<double, eval::Estimate>>;

Points runningPoints(const eval::ScoreProfile& profile) {
    Points out;
    for (const auto& point : profile.running) out.emplace_back(double(point.tokens), point.divergence);
    return out;
}

Points positionPoints(const eval::ScoreProfile& profile) {
    Points out;
    for (const auto& range : profile.positions)
        out.emplace_back((double(range.begin) + double(range.end) - 1) / 2, range.divergence);
    return out;
}

QVector<PlotSeries> linesOf(const std::vector<NamedProfile>& profiles, int chosen,
                            Points (*pointsOf)(const eval::ScoreProfile&)) {
    QVector<PlotSeries> out;
    for (std::size_t i = 0; i < profiles.size(); ++i) {
        PlotSeries line;
        line.name = profiles[i].name;
        line.style = PlotSeries::Style::Line;
        line.token = int(i) % kColours, line.dash = int(i) / kColours % 4;
        PlotSeries band = line;
        band.style = PlotSeries::Style::Band;
        band.name = word("± 1 standard error by chunk");
        band.naming = PlotSeries::Naming::None;
        for (const auto& [x, estimate] : pointsOf(*profiles[i].profile)) {
            line.points.append({x, estimate.mean});
            if (!estimate.byChunk) continue;
            band.points.append({x, estimate.mean + *estimate.byChunk});
            band.lower.append({x, std::max(0.0, estimate.mean - *estimate.byChunk)});
        }
        if (int(i) == chosen && band.points.size() > 1) out.prepend(band); // under the lines
        if (!line.points.empty()) out.append(line);
    }
    return out;
}

} // namespace

QVector<PlotSeries> runningSeries(const std::vector<NamedProfile>& profiles, int chosen) {
    return linesOf(profiles, chosen, runningPoints);
}

QVector<PlotSeries> positionSeries(const std::vector<NamedProfile>& profiles, int chosen) {
    return linesOf(profiles, chosen, positionPoints);
}

DivergencePlot divergencePlot(const eval::ScoreProfile& profile, int token) {
    DivergencePlot out;
    out.bars.name = word("tokens, %");
    out.bars.style = PlotSeries::Style::Bars;
    out.bars.token = token % kColours;
    out.outside = double(profile.below + profile.above);
    const auto total = double(profile.tokens());
    int first = eval::kBins, last = -1;
    for (int i = 0; i < eval::kBins; ++i)
        if (profile.bins[std::size_t(i)] > 0) first = std::min(first, i), last = i;
    if (last < 0) return out;
    const auto left = [](int bin) { return eval::kFirstPower + double(bin) / eval::kBinsPerPower; };
    for (int i = first; i <= last; ++i)
        out.bars.points.append(
            {left(i) + 0.5 / eval::kBinsPerPower, 100 * double(profile.bins[std::size_t(i)]) / total});
    out.lo = left(first) - 0.1, out.hi = left(last + 1) + 0.1;
    return out;
}

QVector<PlotMarker> percentileMarkers(const eval::ScoreSummary& summary) {
    const std::pair<const char*, double> all[] = {{"p50", summary.medianDivergence},
                                                  {"p90", summary.divergence90},
                                                  {"p99", summary.divergence99},
                                                  {"p99.9", summary.divergence999}};
    QVector<PlotMarker> out;
    for (const auto& [name, value] : all)
        if (value > 0) out.append({std::log10(value), QLatin1String(name), true, true, 2});
    return out;
}

namespace {

constexpr std::size_t kPointsOfLine = 1000; ///< at most

PlotSeries cosineLine(const eval::RecordedEmbedding& one, std::size_t index) {
    PlotSeries line;
    line.name = QString::fromStdString(one.row.spec);
    line.style = PlotSeries::Style::Line;
    line.token = int(index) % kColours, line.dash = int(index) / kColours % 4;
    return line;
}

std::size_t stepOf(std::size_t count) { return std::max<std::size_t>(1, (count + kPointsOfLine - 1) / kPointsOfLine); }

} // namespace

QVector<PlotSeries> cosineSeries(const std::vector<eval::RecordedEmbedding>& embeddings) {
    QVector<PlotSeries> out;
    for (std::size_t i = 0; i < embeddings.size(); ++i) {
        PlotSeries line = cosineLine(embeddings[i], i);
        const auto& values = embeddings[i].cosines;
        const std::size_t step = stepOf(values.size());
        for (std::size_t begin = 0; begin < values.size(); begin += step) {
            double least = INFINITY;
            for (std::size_t at = begin; at < std::min(begin + step, values.size()); ++at)
                if (std::isfinite(values[at])) least = std::min(least, values[at]);
            if (std::isfinite(least)) line.points.append({double(begin), least});
        }
        if (!line.points.empty()) out.append(line);
    }
    return out;
}

QVector<PlotSeries> cosineShares(const std::vector<eval::RecordedEmbedding>& embeddings) {
    QVector<PlotSeries> out;
    for (std::size_t i = 0; i < embeddings.size(); ++i) {
        PlotSeries line = cosineLine(embeddings[i], i);
        std::vector<double> values;
        for (const double one : embeddings[i].cosines)
            if (std::isfinite(one)) values.push_back(one);
        std::ranges::sort(values);
        const std::size_t step = stepOf(values.size());
        for (std::size_t at = 0; at < values.size(); ++at)
            if (at % step == 0 || at + 1 == values.size())
                line.points.append({values[at], 100 * double(at + 1) / double(values.size())});
        if (!line.points.empty()) out.append(line);
    }
    return out;
}

QString besideReference(const QString& spec, const eval::EvaluationRecord& record) {
    if (record.quantizedMatrices == 0) return spec;
    return (spec.isEmpty() ? QString() : spec + QStringLiteral("; ")) + word("the reference is itself quantized");
}

bool spansDecades(const std::vector<NamedProfile>& profiles) {
    double least = INFINITY, most = 0;
    for (const auto& one : profiles) {
        if (one.profile->running.empty()) continue;
        const double mean = one.profile->running.back().divergence.mean;
        if (mean > 0) least = std::min(least, mean), most = std::max(most, mean);
    }
    return most > kFarApart * least;
}

} // namespace qs::gui
