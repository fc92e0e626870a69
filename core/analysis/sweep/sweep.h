// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Formats times block sizes over a model: SQNR against true bits per weight for each class of tensors (tensors of one
// role), and which specs nothing beats on both.

#include "core/analysis/analysis.h"
#include "core/report/report.h"

namespace qs {

/// A spec of the sweep. Those of a line differ in the block size alone.
struct SweepSpec {
    std::string line;        ///< "nf4", "int4:sym=no"
    std::uint32_t block = 0; ///< 0: its scales are not in blocks
    QuantSpec spec;
};
/// `lines`: specs. One that may have blocks and says nothing of block, axes, tiles or another scale is measured with every
/// one of `blocks` that it takes, and with its default scale if that is none per block; any other one as it stands.
/// Refused: a spec that does not parse, and a line that takes none of the blocks.
Result<std::vector<SweepSpec>> sweepSpecs(const std::vector<std::string>& lines,
                                          const std::vector<std::uint32_t>& blocks);
/// What is swept unless asked otherwise, and what the window offers: a line for every registered format.
struct SweepLine {
    std::string text;
    bool usual = false;
};
std::vector<SweepLine> sweepLines();
std::span<const std::uint32_t> usualSweepBlocks(); ///< 16 32 64 128 256

struct SweepPlan {
    std::shared_ptr<const Model> model;
    std::vector<const TensorInfo*> tensors;
    std::vector<SweepSpec> specs;
    DecodedAs decodedAs = DecodedAs::F32;
};

/// A class under a spec. Without figures until all its tensors were measured: half a class has another mean.
struct SweepPoint {
    std::string className;
    std::size_t spec = 0; ///< of the plan
    std::string line, specText, specFull;
    std::uint32_t block = 0;
    std::uint64_t tensors = 0, measured = 0, refused = 0, elements = 0, bytes = 0;
    double errorPower = 0, power = 0;
    bool frontier = false;   ///< nothing has fewer bits and no more error, or as many bits and less error
    std::string worstTensor; ///< with the least SQNR of those that are measured
    double worstNmse = -1;
    std::string reason; ///< the first refusal

    bool complete() const { return tensors > 0 && measured == tensors; }
    // None unless complete.
    std::optional<double> bpw() const;
    std::optional<double> nmse() const;   ///< of the concatenated tensors
    std::optional<double> sqnrDb() const; ///< nor where nothing differs: it would be infinite
};

struct SweepResult {
    std::vector<std::string> classes; ///< the first one is all tensors, when there are several
    std::vector<SweepPoint> points;   ///< class-major, specs in the plan's order
    std::size_t specs = 0;
    double seconds = 0;
    std::uint64_t sourceBytes = 0; ///< read, over all specs
    const SweepPoint& at(std::size_t classIndex, std::size_t spec) const { return points[classIndex * specs + spec]; }
};
/// Tensor by tensor, so that its bytes stay in the cache for all specs. `onTensor` sees the state after each tensor, on
/// the caller's thread.
Result<SweepResult> runSweep(const SweepPlan& plan, const Job& job,
                             const std::function<void(const SweepResult&)>& onTensor = {});
/// Sets SweepPoint::frontier of the complete points of each class.
void markFrontier(SweepResult& result);

const Columns<SweepPoint>& sweepColumns();
/// Small multiples with the frontier, a table of the frontier, and all points.
Result<Report> sweepReport(const SweepPlan& plan, const SweepResult& result, const std::string& commandLine,
                           const Job& job = {});
std::vector<Plot> sweepPlots(const SweepPlan& plan, const SweepResult& result);

} // namespace qs
