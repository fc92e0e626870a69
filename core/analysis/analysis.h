// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A tensor under a spec, measured in one pass: error sums, histograms, code counts, channel profile, block map.

#include "core/analysis/histogram.h"
#include "core/analysis/output_effects.h"
#include "core/base/column.h"
#include "core/base/job.h"
#include "core/model/model.h"
#include "core/quant/codebook/learn.h"
#include "core/quant/encode/quantizer.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>

namespace qs {

class UnitRun;
struct Layout;
struct Solved;
namespace value {
struct Tensor;
}

enum class Status {
    Ok,
    Refused,
    Failed,
    Kept, ///< the spec is not for it: a recipe, or the layout in which the spec is stored, keeps it as it is
};
const char* statusId(Status status); ///< "ok", "refused", "failed" or "kept"

/// Spec-independent figures of the finite elements; cached by the window.
struct TensorStatistics {
    Moments moments;
    double mean = 0, std = 0, kurtosis = 0; ///< excess kurtosis: m4/m2^2 - 3; population std
    double crest = 0;                       ///< max|x| / rms
    std::int64_t outlierChannels = 0;       ///< rows whose absmax > 6 x the median row absmax
    std::int64_t outlierColumns = 0;        ///< indices of the last axis, by the same rule
    std::optional<double> conversionError;  ///< F64 only: max |x - f32(x)|
    double absMax() const;
};

/// Max-pooled picture of the error: cell = max NMSE of the blocks it covers (sum E^2 / sum W^2; NaN when empty).
struct BlockMap {
    int rows = 0, columns = 0;                     ///< cells
    std::int64_t tensorRows = 0, blocksPerRow = 0; ///< rows and blocks that the cells cover
    std::int64_t blockElements = 0;
    std::vector<float> nmse; ///< rows * columns
};

/// One entry per row (or column) of the last-axis view, reduced by max to at most 2,048 points.
struct ChannelProfile {
    std::int64_t channels = 0;
    std::vector<float> absMax, nmse; ///< nmse: of rows alone
};

enum class Detail {
    Sums,    ///< error sums and code counts alone: no histograms, percentiles or Lloyd gap
    Figures, ///< plus histograms and what follows from them: what tables and reports need
    Inspect, ///< plus block map and channel profile
};

/// The inputs of a layer: E[x_j^2] for each input and, if they are known, the inputs [rows, K]; K is inputsOfLayer().
struct LayerInputs {
    std::vector<float> columnWeights;
    std::shared_ptr<const value::Tensor> rows;
};
/// The error weighted by the inputs of a layer. A figure is empty if the inputs were not given or the output is 0.
struct InputErrors {
    std::optional<double> weightedNmse, outputNmse, hessianTrace;
};

/// What the error is measured on: the f32 values that codes decode to, or those values as a file of the source's type
/// holds them. The two differ where the source is F16 or BF16.
enum class DecodedAs { F32, Source };
struct DecodedAsTraits {
    DecodedAs value;
    const char* id;
    const char* title;
};
std::span<const DecodedAsTraits> decodedAsChoices();

/// The distribution of values and errors of one tensor, or of many together. It takes 262 KB.
constexpr std::uint64_t kFewValues = 2048;
struct Distribution {
    FloatHistogram error;   ///< histogram of E = V - W
    FloatHistogram value;   ///< histogram of W / scale, in the unit of the levels
    std::vector<float> few; ///< all W / scale, ascending, of a tensor of at most kFewValues; empty: of more
    void merge(const Distribution& other) {
        error.merge(other.error);
        value.merge(other.value);
    }
};

/// The pictures of one tensor.
struct Inspection {
    BlockMap blockMap;
    ChannelProfile channels; ///< rows
    ChannelProfile columns;  ///< only of the weights, not of the error
};

/// The figures of a tensor. Larger parts are behind pointers, so that copies share them and can drop them.
struct TensorAnalysis {
    std::string tensor;
    DType dtype = DType::F32;
    std::vector<std::int64_t> shape;
    std::uint64_t elements = 0;
    QuantSpec spec;
    std::string specAsTyped;
    Status status = Status::Ok;
    std::string reason; ///< why refused, failed, kept, or why a figure is missing
    std::uint64_t bytesBefore = 0, bytesAfter = 0;
    double bpw = 0;
    DType decodedAs = DType::F32; ///< type of the decoded values that the error is measured on
    ErrorSums sums;
    std::uint64_t nan = 0, inf = 0;
    std::vector<float> levels;                    ///< values that codes decode to, in units of the scale
    std::vector<std::uint64_t> codeCounts;        ///< per level
    double p50 = 0, p95 = 0, p99 = 0;             ///< percentiles of |E|
    std::optional<double> lloydGapDb;             ///< see lloyd_gap.h
    std::optional<InputErrors> onInputs;          ///< empty if the layer's inputs were not given
    std::shared_ptr<const OutputEffect> onOutput; ///< figures of the model's output; null: none are known
    bool solved = false;                          ///< codes are a solver's: clipping and the Lloyd gap are not measured
    std::optional<TensorStatistics> statistics;
    std::shared_ptr<const Distribution> distribution; ///< null: not measured, or not kept
    std::shared_ptr<const Inspection> inspection;     ///< null without Detail::Inspect
    std::vector<std::string> warnings;
    std::string larger; ///< why it stores more bits than the source, and what does not; "": it does not
    double seconds = 0; ///< of the pass
    /// Bits per weight in the source; 0 of an empty tensor.
    double sourceBpw() const { return elements ? 8.0 * double(bytesBefore) / double(elements) : 0; }
    /// Empty ones where there are none.
    const FloatHistogram& errors() const;
    const FloatHistogram& values() const;
    const BlockMap& blockMap() const;
    const ChannelProfile& channels() const;
    const ChannelProfile& columns() const;
    bool isLarger() const { return status == Status::Ok && elements > 0 && bpw > sourceBpw(); }
};

struct AnalysisOptions {
    Detail detail = Detail::Figures;
    int mapRows = 512, mapColumns = 512; ///< upper bounds of the block map
    bool statistics = true;
    DecodedAs decodedAs = DecodedAs::F32;
    std::shared_ptr<const LearnedLevels> levels = {}; ///< of a spec that learns them; null: from the tensor itself
    /// Null, or none for a tensor: not measured on inputs.
    std::function<Result<std::shared_ptr<const LayerInputs>>(const TensorInfo&)> inputs = {};
    /// What is known of the model's output; null: nothing.
    std::shared_ptr<const OutputEffects> effects = {};
    /// What a solver decides, its refusal is the row's; null: rounding to nearest.
    std::function<Result<std::shared_ptr<const Solved>>(const TensorView&, const QuantSpec&)> solve = {};
};

/// Cancellable; bounded scratch whatever the tensor's size. A refusal is a row (status), not an Error; Error is for a
/// cancelled job or a file that changed.
Result<TensorAnalysis> analyseTensor(const Model& model, const TensorInfo& tensor, const QuantSpec& spec,
                                     const AnalysisOptions& options, const Job& job);
Result<TensorStatistics> measureStatistics(const Model& model, const TensorInfo& tensor, const Job& job);

/// The layout in which `quantize` stores tensors under a spec.
struct StoredIn {
    const Layout* layout = nullptr; ///< whose choice of matrices counts; null: all are taken
    std::string refusal = {};       ///< why it refuses those that it takes; "": it does not
};
/// followedLayout() of the spec. `tensors`: all that the spec is for; `named`: by a filter.
StoredIn storedIn(const Model& model, const std::vector<const TensorInfo*>& tensors, const QuantSpec& spec, bool named);

struct AnalysisPlan {
    std::shared_ptr<const Model> model;
    std::vector<const TensorInfo*> tensors;
    std::vector<std::pair<std::string, QuantSpec>> specs; ///< as typed, parsed
    AnalysisOptions options;
    /// Per spec, the codebooks that tensors share or that inputs weigh; empty, or a tensor's missing: its own.
    std::vector<std::map<const TensorInfo*, std::shared_ptr<const LearnedLevels>>> codebooks = {};
    bool keepRows = true;              ///< false: rows are only handed out, for models of very many tensors
    const Layout* layout = nullptr;    ///< whose choice of matrices counts; null: that of storedIn() of each spec
    std::vector<StoredIn> stored = {}; ///< of each spec and all its tensors; empty: all are in the plan
    bool named = false;                ///< the tensors were named by a filter: no layout keeps one of them
    /// A unit is a tensor under a spec. analyse() goes on with the list that was begun with weightOf(). Units that are
    /// left out have no row. Null: all are computed.
    UnitRun* units = nullptr;
};
/// The weights of all units of a plan: the bytes that they read.
double weightOf(const AnalysisPlan& plan);
using AnalysisRow = std::shared_ptr<const TensorAnalysis>;
/// The same row without its distribution.
AnalysisRow figuresOf(const TensorAnalysis& row);
/// The same row with what `effects` (null: nothing) knows of it; the row itself where that changes nothing.
AnalysisRow withEffect(const AnalysisRow& row, const OutputEffects* effects);
struct AnalysisResult {
    std::vector<AnalysisRow> rows; ///< tensor-major in the plan's order
    /// Per spec of the plan, of all rows together, where rows were kept without their own; else empty.
    std::vector<std::shared_ptr<const Distribution>> pooled = {};
    double seconds = 0;
    std::uint64_t sourceBytes = 0; ///< read
};
/// The whole plan; rows are handed out as they are finished (any thread). Those keep their distributions, the result's
/// rows do not.
Result<AnalysisResult> analyse(const AnalysisPlan& plan, const Job& job,
                               const std::function<void(AnalysisRow)>& onRow = {});

// ---- metrics: THE list -------------------------------------------------------------------------------------------

struct Metric {
    const char* id;
    const char* title;
    const char* unit;
    Direction better;
    Show show;
    int decimals;
    const char* formula; ///< shown by metricTip() and by `metrics`
    bool proxy;          ///< it stands for what the model's output loses, and is not measured on it
    /// nullopt: not measured or infinite, e.g. sqnr_db of an exact reconstruction; whyMissing() tells.
    std::optional<double> (*value)(const TensorAnalysis&);
    const char* (*whyMissing)(const TensorAnalysis&);
    bool onOutput = false;   ///< measured on the model's output: proxies are held against it
    bool isOfWeights = true; ///< a proxy that is computed from the weights (and inputs) alone
    /// The standard error of value(); null: it has none.
    std::optional<double> (*error)(const TensorAnalysis&) = nullptr;
    /// The figure has no finite value because nothing is lost; tables show it as "inf". Null: that cannot be.
    bool (*isInfinite)(const TensorAnalysis&) = nullptr;

    bool isWorse(double a, double b) const { return better == Direction::HigherIsBetter ? a < b : a > b; }
};
std::span<const Metric> metrics();
const Metric* findMetric(std::string_view id);
/// "mean of |E|. No unit. Lower is better.": the formula, the unit and the direction. Every tip of a metric says this.
std::string metricTip(const Metric& metric);
ColumnInfo metricColumn(const Metric& metric); ///< a column of it, with that tip
const Metric& nmseMetric();                    ///< the usual measure of an error
const Metric& sqnrMetric();                    ///< the same in dB
const Metric& maxAbsMetric();
const Metric& weightedNmseMetric(); ///< squared errors times the mean squares of their inputs
const Metric& outputNmseMetric();   ///< of the output of the layer
const Metric& klAloneMetric();
const Metric& klPredictedMetric();

/// Columns of `analyze`: tensor, shape, spec, spec_full, status, bpw, every metric (with "_se" behind the id its
/// standard error), nan, inf, bytes, reason.
const Columns<AnalysisRow>& analysisColumns();

/// Totals per spec over the rows that were measured: bytes, bpw, nmse and sqnr_db of the concatenated tensors.
struct SpecTotal {
    std::string specAsTyped, specFull;
    std::uint64_t tensors = 0, refused = 0, kept = 0, elements = 0, bytesBefore = 0, bytesAfter = 0;
    double bpw = 0;
    ErrorSums sums;
    std::uint64_t allBytes = 0, allElements = 0; ///< of the whole model, where it was given
    double bpwAll() const { return allElements ? 8.0 * double(allBytes) / double(allElements) : 0; }
};
/// `model`: whose tensors the rows are of; what is not measured of it stays as it is. Null: not counted.
std::vector<SpecTotal> totals(const std::vector<AnalysisRow>& rows, const Model* model = nullptr);
const Columns<SpecTotal>& totalColumns();
/// What must be known about rows taken together, a sentence each: specs that store more bits than the source has, and
/// what the errors of F16 and BF16 sources are measured on.
std::vector<std::string> remarksOf(const std::vector<AnalysisRow>& rows);

// ---- inspect -----------------------------------------------------------------------------------------------------

struct InspectRow {
    TensorInfo info;
    std::string path;
    std::optional<TensorStatistics> statistics; ///< --stats
    std::string reason;                         ///< why there are none
};
const Columns<InspectRow>& inspectColumns(bool withStatistics);

} // namespace qs
