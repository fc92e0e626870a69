// SPDX-License-Identifier: GPL-3.0-or-later
// THE list of metrics. W original, V reconstruction, E = V - W, over the finite elements.
#include "core/analysis/analysis.h"

#include "core/base/decibel.h"
#include "core/base/rows.h"
#include "core/base/tip.h"

#include <algorithm>
#include <cfloat>
#include <cmath>

namespace qs {
namespace {

using Row = TensorAnalysis;
using Figure = std::optional<double>;

/// Not measured rather than 0, infinite or NaN.
Figure finite(double value) { return std::isfinite(value) ? Figure(value) : std::nullopt; }
bool measured(const Row& row) { return row.status == Status::Ok && row.sums.n > 0; }
Figure perElement(const Row& row, double sum) { return measured(row) ? finite(sum / row.sums.n) : std::nullopt; }

Figure mse(const Row& row) { return perElement(row, row.sums.se2); }
Figure rmse(const Row& row) {
    const Figure value = mse(row);
    return value ? Figure(std::sqrt(*value)) : std::nullopt;
}
Figure mae(const Row& row) { return perElement(row, row.sums.sae); }
Figure maxAbs(const Row& row) { return measured(row) ? finite(double(row.sums.maxAbs)) : std::nullopt; }
Figure nmse(const Row& row) {
    return measured(row) && row.sums.sw2 > 0 ? finite(row.sums.se2 / row.sums.sw2) : std::nullopt;
}
Figure sqnr(const Row& row) {
    const Figure value = sqnrDb(nmse(row));
    return value ? finite(*value) : std::nullopt;
}
constexpr double kSmallError = 0.5; ///< ||E||^2 relative to ||W|| ||V||

Figure cosine(const Row& row) {
    const ErrorSums& sums = row.sums;
    if (!measured(row) || !(sums.sw2 > 0) || !(sums.sv2 > 0)) return std::nullopt;
    const double w = std::sqrt(sums.sw2), v = std::sqrt(sums.sv2);
    // Where the error is small out of it: 1 - cos of a good format is smaller than what the sums of the products keep.
    // For a large error compute it from <W, V>. The other formula would lose digits: most of the error is then the
    // difference of the norms.
    if (!(sums.se2 < kSmallError * w * v)) return finite(std::clamp(sums.swv / w / v, -1.0, 1.0));
    const double difference = (sums.sv2 - sums.sw2) / (w + v);
    return finite(1 - std::max(0.0, sums.se2 - difference * difference) / (2 * w * v));
}
Figure bias(const Row& row) { return perElement(row, row.sums.se); }
/// The first bin of the histogram holds 0 and magnitudes up to 4e-40: it does not tell them apart where no error is larger
/// than those of subnormal numbers.
bool isBelowBins(const Row& row, double percentile) {
    return percentile == 0 && row.sums.maxAbs > 0 && row.sums.maxAbs < FLT_MIN;
}
Figure percentile(const Row& row, double value) {
    return measured(row) && !isBelowBins(row, value) ? finite(value) : std::nullopt;
}
Figure p50(const Row& row) { return percentile(row, row.p50); }
Figure p95(const Row& row) { return percentile(row, row.p95); }
Figure p99(const Row& row) { return percentile(row, row.p99); }
Figure clipShare(const Row& row) { return row.solved ? std::nullopt : perElement(row, double(row.sums.clipped)); }
Figure zeroShare(const Row& row) { return perElement(row, double(row.sums.zeros)); }
Figure signFlips(const Row& row) { return measured(row) ? Figure(double(row.sums.signFlips)) : std::nullopt; }

Figure codeEntropy(const Row& row) {
    if (!measured(row) || row.codeCounts.empty()) return std::nullopt;
    double bits = 0;
    for (const std::uint64_t count : row.codeCounts)
        if (count) bits -= double(count) / row.sums.n * std::log2(double(count) / row.sums.n);
    return bits == 0 ? 0.0 : bits; // no -0
}
Figure deadCodes(const Row& row) {
    if (!measured(row) || row.codeCounts.empty()) return std::nullopt;
    double dead = 0;
    for (const std::uint64_t count : row.codeCounts) dead += count == 0;
    return dead;
}

Figure lloydGap(const Row& row) { return row.lloydGapDb; }

Figure onInputs(const Row& row, std::optional<double> InputErrors::*which) {
    return measured(row) && row.onInputs && (*row.onInputs).*which ? finite(*((*row.onInputs).*which)) : std::nullopt;
}

using Effect = std::optional<OutputFigure> OutputEffect::*;
const OutputFigure* onOutput(const Row& row, Effect which) {
    return measured(row) && row.onOutput && (*row.onOutput).*which ? &*((*row.onOutput).*which) : nullptr;
}
template<Effect which> Figure effect(const Row& row) {
    const OutputFigure* figure = onOutput(row, which);
    return figure ? finite(figure->mean) : std::nullopt;
}
template<Effect which> Figure effectError(const Row& row) {
    const OutputFigure* figure = onOutput(row, which);
    return figure && figure->error ? finite(*figure->error) : std::nullopt;
}
/// What the slope says of the error of this spec.
Figure predicted(const Row& row) {
    const OutputFigure* slope = onOutput(row, &OutputEffect::slope);
    const Figure error = nmse(row);
    return slope && error ? finite(slope->mean * *error) : std::nullopt;
}
Figure predictedError(const Row& row) {
    const OutputFigure* slope = onOutput(row, &OutputEffect::slope);
    const Figure error = nmse(row);
    return slope && slope->error && error ? finite(*slope->error * *error) : std::nullopt;
}
template<std::optional<double> OutputEffect::*which> Figure imported(const Row& row) {
    return row.onOutput && (*row.onOutput).*which ? finite(*((*row.onOutput).*which)) : std::nullopt;
}

/// The inputs that were given come first; else those of the text.
Figure weightedNmse(const Row& row) {
    return row.onInputs ? onInputs(row, &InputErrors::weightedNmse) : effect<&OutputEffect::weightedNmse>(row);
}
Figure outputNmse(const Row& row) {
    return row.onInputs ? onInputs(row, &InputErrors::outputNmse) : effect<&OutputEffect::outputNmse>(row);
}
Figure hessianTrace(const Row& row) { return onInputs(row, &InputErrors::hessianTrace); }

bool hasStatistics(const Row& row) {
    return row.status == Status::Ok && row.statistics && row.statistics->moments.n > 0;
}
Figure kurtosis(const Row& row) { return hasStatistics(row) ? finite(row.statistics->kurtosis) : std::nullopt; }
Figure crest(const Row& row) { return hasStatistics(row) ? finite(row.statistics->crest) : std::nullopt; }
Figure outliers(const Row& row) {
    return hasStatistics(row) ? Figure(double(row.statistics->outlierChannels)) : std::nullopt;
}

Figure outlierColumns(const Row& row) {
    return hasStatistics(row) ? Figure(double(row.statistics->outlierColumns)) : std::nullopt;
}

const char* whyUnmeasured(const Row& row) {
    if (row.status == Status::Refused) return "the tensor was refused";
    if (row.status == Status::Kept) return "it is kept as it is";
    if (row.status == Status::Failed) return "the measurement failed";
    if (row.elements == 0) return "the tensor is empty";
    if (row.sums.n == 0) return "no value is finite";
    return nullptr;
}
const char* whyNotFinite(const Row& row) {
    if (const char* why = whyUnmeasured(row)) return why;
    return "infinite: a value decodes to infinity";
}
const char* whyNoRatio(const Row& row) {
    if (const char* why = whyUnmeasured(row)) return why;
    if (!(row.sums.sw2 > 0)) return "undefined: every value is zero";
    return "infinite: a value decodes to infinity";
}
template<double Row::*which> const char* whyNoPercentile(const Row& row) {
    if (measured(row) && isBelowBins(row, row.*which)) return "not measured: the error is below 4e-40";
    return whyNotFinite(row);
}
bool isExact(const Row& row) { return !whyUnmeasured(row) && row.sums.se2 == 0 && row.sums.sw2 > 0; }
const char* whyNoSqnr(const Row& row) {
    if (!whyUnmeasured(row) && row.sums.se2 == 0) return "infinite: the reconstruction is exact";
    return whyNoRatio(row);
}
const char* whyNoCosine(const Row& row) {
    if (!whyUnmeasured(row) && row.sums.sw2 > 0 && row.sums.sv2 == 0) return "undefined: every value decodes to zero";
    return whyNoRatio(row);
}
const char* whyNoClipping(const Row& row) {
    const char* why = whyUnmeasured(row);
    return why || !row.solved ? why : "not measured: a solver decided the codes";
}
const char* whyNoInputs(const Row& row) {
    if (const char* why = whyUnmeasured(row)) return why;
    return row.onInputs ? "undefined: what is weighed is zero"
                        : "needs inputs of the layer: Load activations in the overview, or analyze --activations";
}
const char* whyNoOutput(const Row& row) {
    if (const char* why = whyUnmeasured(row)) return why;
    return row.onInputs ? "column weights alone were given, or the output is zero" : whyNoInputs(row);
}
const char* whyNoEffect(const Row& row) {
    if (const char* why = whyUnmeasured(row)) return why;
    return "needs an evaluation of each tensor: page Evidence, tab Tensors, or analyze --evidence";
}
const char* whyNoImport(const Row& row) {
    if (const char* why = whyUnmeasured(row)) return why;
    return "needs an imported figure of this tensor and spec: page Evidence, tab Trust, or analyze --evidence";
}
const char* whyNoCodes(const Row& row) {
    const char* why = whyUnmeasured(row);
    return why ? why : "the format has no codes";
}
const char* whyNoGap(const Row& row) {
    if (const char* why = whyUnmeasured(row)) return why;
    if (row.levels.empty()) return "the format has no codes";
    if (row.sums.se2 == 0) return "infinite: the reconstruction is exact";
    if (row.solved) return "not measured: a solver decided the codes";
    return "undefined: the boundaries between codes differ from group to group, or as many levels lose nothing";
}
const char* whyNoStatistics(const Row& row) {
    if (const char* why = whyUnmeasured(row)) return why;
    return row.statistics ? "undefined: every value is equal" : "statistics were not asked for";
}

constexpr auto kLower = Direction::LowerIsBetter, kNone = Direction::None;
constexpr auto kHigher = Direction::HigherIsBetter;
const Metric kMetrics[] = {
    {"mse", "MSE", "", kLower, Show::Scientific, 4, "mean of E^2", true, mse, whyNotFinite},
    {"rmse", "RMSE", "", kLower, Show::Significant, 4, "square root of the mean of E^2", true, rmse, whyNotFinite},
    {"mae", "MAE", "", kLower, Show::Significant, 4, "mean of |E|", true, mae, whyNotFinite},
    {"max_abs", "Max |E|", "", kLower, Show::Significant, 4, "largest |E|", true, maxAbs, whyNotFinite},
    {"nmse", "NMSE", "", kLower, Show::Scientific, 4, "||E||^2 / ||W||^2", true, nmse, whyNoRatio},
    {"sqnr_db", "SQNR", "dB", kHigher, Show::Fixed, 2, "-10 log10(||E||^2 / ||W||^2)", true, sqnr, whyNoSqnr, false,
     true, nullptr, isExact},
    {"cosine", "Cosine", "", kHigher, Show::Significant, 6, "<W, V> / (||W|| ||V||)", true, cosine, whyNoCosine},
    {"bias", "Bias", "", kNone, Show::Significant, 4, "mean of E", true, bias, whyNotFinite},
    {"p50", "p50 |E|", "", kLower, Show::Significant, 4, "median of |E|, within 1/32", true, p50,
     whyNoPercentile<&Row::p50>},
    {"p95", "p95 |E|", "", kLower, Show::Significant, 4, "95th percentile of |E|, within 1/32", true, p95,
     whyNoPercentile<&Row::p95>},
    {"p99", "p99 |E|", "", kLower, Show::Significant, 4, "99th percentile of |E|, within 1/32", true, p99,
     whyNoPercentile<&Row::p99>},
    {"clip_share", "Clipped", "", kLower, Show::Percent, 3, "share of values beyond the outermost level", true,
     clipShare, whyNoClipping},
    {"zero_share", "Zeros", "", kNone, Show::Percent, 3, "share of values that decode to zero", false, zeroShare,
     whyUnmeasured},
    {"sign_flips", "Sign flips", "", kLower, Show::Integer, 0, "values that decode to the other sign", true, signFlips,
     whyUnmeasured},
    {"code_entropy", "Code entropy", "bit", kHigher, Show::Fixed, 3, "-sum p log2 p over the codes", false, codeEntropy,
     whyNoCodes},
    {"dead_codes", "Dead codes", "", kLower, Show::Integer, 0, "codes that no value has", false, deadCodes, whyNoCodes},
    {"lloyd_gap_db", "Lloyd gap", "dB", kLower, Show::Fixed, 2,
     "SQNR of the best codebook of as many levels for W / scale, minus that of these levels", true, lloydGap, whyNoGap},
    {"kurtosis", "Kurtosis", "", kNone, Show::Fixed, 2, "excess kurtosis of W: m4 / m2^2 - 3", false, kurtosis,
     whyNoStatistics},
    {"crest", "Crest", "", kNone, Show::Fixed, 2, "max|W| / rms(W)", false, crest, whyNoStatistics},
    {"outlier_channels", "Outlier rows", "", kNone, Show::Integer, 0, "rows with max|W| above 6 x the median row's",
     false, outliers, whyNoStatistics},
    {"outlier_columns", "Outlier columns", "", kNone, Show::Integer, 0,
     "columns (indices of the last axis) with max|W| above 6 x the median column's", false, outlierColumns,
     whyNoStatistics},
    {"weighted_nmse", "Weighted NMSE", "", kLower, Show::Scientific, 4,
     "sum a_j E_ij^2 / sum a_j W_ij^2 with a_j = E[x_j^2] of the layer's inputs", true, weightedNmse, whyNoInputs},
    {"output_nmse", "Output NMSE", "", kLower, Show::Scientific, 4, "||X E^T||^2 / ||X W^T||^2 on the layer's inputs",
     true, outputNmse, whyNoOutput},
    {"hessian_trace", "Hessian trace", "", kLower, Show::Significant, 4,
     "mean diagonal of the Hessian of the squared output error, 2 E[x_j^2], times ||E||^2", true, hessianTrace,
     whyNoInputs},
    {"kl_alone", "KL alone", "nats", kLower, Show::Significant, 4,
     "mean KL divergence of the next token on a text, with this tensor alone quantized", false,
     effect<&OutputEffect::alone>, whyNoEffect, true, false, effectError<&OutputEffect::alone>},
    {"kl_saved", "KL saved", "nats", kLower, Show::Significant, 4,
     "KL with all tensors quantized minus KL with all but this one: what this one costs", false,
     effect<&OutputEffect::saved>, whyNoEffect, true, false, effectError<&OutputEffect::saved>},
    {"kl_predicted", "KL predicted", "nats", kLower, Show::Significant, 4,
     "slope of the tensor, KL a unit of NMSE, times the NMSE of the spec", true, predicted, whyNoEffect, false, false,
     predictedError},
    {"kl_imported", "KL imported", "nats", kLower, Show::Significant, 4,
     "KL of this tensor alone, as another program measured it", true, imported<&OutputEffect::importedKl>, whyNoImport,
     false, false},
    {"ppl_imported", "PPL imported", "", kLower, Show::Significant, 6,
     "perplexity with this tensor alone quantized, as another program measured it", true,
     imported<&OutputEffect::importedPerplexity>, whyNoImport, false, false},
    {"gptq_loss", "GPTQ loss", "", kLower, Show::Significant, 4, "the loss that a log of GPTQ says of this layer", true,
     imported<&OutputEffect::importedLoss>, whyNoImport, false, false},
};

} // namespace

std::span<const Metric> metrics() { return kMetrics; }

const Metric* findMetric(std::string_view id) { return rowOf(kMetrics, id); }

ColumnInfo metricColumn(const Metric& metric) {
    return withWholeTip(
        {metric.id, metric.title, metric.unit, metric.show, metric.decimals, metric.better, metric.formula});
}

std::string metricTip(const Metric& metric) { return metricColumn(metric).tip; }

const Metric& nmseMetric() { return *findMetric("nmse"); }
const Metric& sqnrMetric() { return *findMetric("sqnr_db"); }
const Metric& maxAbsMetric() { return *findMetric("max_abs"); }
const Metric& weightedNmseMetric() { return *findMetric("weighted_nmse"); }
const Metric& outputNmseMetric() { return *findMetric("output_nmse"); }
const Metric& klAloneMetric() { return *findMetric("kl_alone"); }
const Metric& klPredictedMetric() { return *findMetric("kl_predicted"); }

} // namespace qs
