// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Measures many formats and block sizes on a model: SQNR against true bits per weight. Tensors of one role form a
// class. The frontier of a class is the specs that no other spec beats in both figures.

#include "core/analysis/analysis.h"
#include "core/report/report.h"

namespace qs {

/// A spec of the sweep. Specs of one line differ only in the block size.
struct SweepSpec {
    std::string line;        ///< "nf4", "int4:sym=no"
    std::uint32_t block = 0; ///< 0: its scales are not per block
    QuantSpec spec;
};
/// Builds the specs of a sweep from `lines`, which are specs. A line that can have blocks is measured with each valid
/// size in `blocks`, unless it sets block, axes, tiles or another kind of scale. If its default scale is not per block,
/// it is also measured with that. Other lines are measured as they are. Fails if a line does not parse or accepts none
/// of the blocks.
Result<std::vector<SweepSpec>> sweepSpecs(const std::vector<std::string>& lines,
                                          const std::vector<std::uint32_t>& blocks);
/// A line that can be swept; sweepLines() has at least one for every registered format. `usual`: part of the default
/// sweep.
struct SweepLine {
    std::string text;
    bool usual = false;
};
std::vector<SweepLine> sweepLines();
std::span<const std::uint32_t> usualSweepBlocks(); ///< 16 32 64 128 256

/// A sweep: every spec is measured on every tensor.
struct SweepPlan {
    std::shared_ptr<const Model> model;
    std::vector<const TensorInfo*> tensors;
    std::vector<SweepSpec> specs;
    DecodedAs decodedAs = DecodedAs::F32;
    std::shared_ptr<const OutputEffects> effects = {}; ///< effects on the model's output; null: none are known
    UnitRun* units = nullptr; ///< shares the units, a tensor under a spec; null: all are computed
    bool named = false;       ///< see AnalysisPlan::named
};

/// The sum over tensors of the effect of each one alone on the output, in nats per token.
struct EffectSum {
    double sum = 0;
    double error = 0; ///< the sum of their standard errors: an upper limit of the error of the sum
    std::uint64_t tensors = 0;
};

/// The figures of one class under one spec. There are none until all tensors of the class were measured, because a part
/// of a class has another mean.
struct SweepPoint {
    std::string className;
    std::size_t spec = 0; ///< index into SweepPlan::specs
    std::string line, specText, specFull;
    std::uint32_t block = 0;
    /// `tensors`: of the class that the spec is for; its layout keeps the others. `refused`: tensors that the spec cannot
    /// encode. `bytes`: size after encoding.
    std::uint64_t tensors = 0, measured = 0, refused = 0, elements = 0, bytes = 0;
    std::uint64_t kept = 0, keptBytes = 0; ///< tensors of the class that the layout keeps, and their bytes as they are
    /// Sums of squares of the error and of the weights.
    double errorPower = 0, power = 0;
    /// No other spec for the same tensors has fewer bits and no more error, or equal bits and less error.
    bool frontier = false;
    std::string worstTensor; ///< the measured tensor with the least SQNR
    double worstNmse = -1;
    EffectSum alone, predicted;               ///< sum of KL alone; sum of KL predicted
    std::optional<OutputFigure> modelKl = {}; ///< only for the class of all tensors: mean KL of the model
    std::string reason;                       ///< why the first that has no figures has none

    bool complete() const { return tensors > 0 && measured == tensors; }
    // Empty unless complete().
    std::optional<double> bpw() const;    ///< stored bits per weight, with scales and padding
    std::optional<double> nmse() const;   ///< NMSE of all tensors of the class together
    std::optional<double> sqnrDb() const; ///< in dB; also empty if there is no error, because it would be infinite
    /// The sum of an effect over all tensors of the class; nullopt if one of them is not measured.
    std::optional<OutputFigure> whole(const EffectSum& effect) const;
};

struct SweepResult {
    std::vector<std::string> classes; ///< if there are several, the first is "all tensors"
    std::vector<SweepPoint> points;   ///< for each class, all specs in the order of the plan
    std::size_t specs = 0;
    double seconds = 0;
    std::uint64_t sourceBytes = 0; ///< bytes read, summed over all specs
    const SweepPoint& at(std::size_t classIndex, std::size_t spec) const { return points[classIndex * specs + spec]; }
};
/// Runs the sweep tensor by tensor, so that a tensor stays in the cache for all specs. `onTensor` is called after each
/// tensor, on the caller's thread, with the results so far. Fails if the job is cancelled or a file changed.
Result<SweepResult> runSweep(const SweepPlan& plan, const Job& job,
                             const std::function<void(const SweepResult&)>& onTensor = {});
/// Sets SweepPoint::frontier for the complete points of each class.
void markFrontier(SweepResult& result);

const Columns<SweepPoint>& sweepColumns();
/// `ids` and, after "nmse", the ids of effects on the output that some point has.
std::vector<std::string_view> columnsWithEffects(const std::vector<SweepPoint>& points,
                                                 std::vector<std::string_view> ids);
/// Sentences: what the errors of a sweep are, and how well they rank specs in the same order as the measured output.
std::string sweepRemark(const SweepResult& result);
/// The report: a plot per class with its frontier, a table of the frontiers, and all points.
Result<Report> sweepReport(const SweepPlan& plan, const SweepResult& result, const std::string& commandLine,
                           const Job& job = {});
std::vector<Plot> sweepPlots(const SweepPlan& plan, const SweepResult& result);

} // namespace qs
