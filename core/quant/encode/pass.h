// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A tensor under a spec, cut into units of consecutive elements that stay in a core's second-level cache. The cut
// depends on the shape and the spec alone, so that sums kept per piece and folded in order are the same on any number
// of cores.

#include "core/quant/codebook/learn.h"
#include "core/quant/encode/encode.h"
#include "core/quant/encode/quantizer.h"

#include <atomic>

namespace qs {

inline constexpr std::size_t kChunk = 32768;      ///< elements of a unit: 128 KiB of f32
inline constexpr std::int64_t kLongGroup = 65536; ///< longer groups get their scale in a pass of their own
inline constexpr std::size_t kMaxPieces = 2048;   ///< PassRange::piece is below
inline constexpr std::uint64_t kMapBytes = std::uint64_t(64) << 20; ///< larger tensors are read, not mapped
inline constexpr std::uint64_t kReadBytes = std::uint64_t(1) << 20; ///< the same where nothing comes back to the pages

class TensorPass {
public:
    /// Measures what no unit can see alone of the scales, and learns the codebook of a spec that has one, unless given.
    static Result<TensorPass> prepare(const TensorView& view, SharedPlan plan, const ScaleGrid& grid, const Job& job,
                                      std::shared_ptr<const LearnedLevels> levels = nullptr,
                                      std::shared_ptr<const TensorScales> scales = nullptr);

    /// With scales that were decided before, in the form of shared(): one, one per long group, or all of the grid.
    static TensorPass given(const TensorView& view, SharedPlan plan, const ScaleGrid& grid,
                            std::vector<GroupParams> params, float tensorScale,
                            std::shared_ptr<const LearnedLevels> levels);

    const EncodePlan& plan() const { return *plan_; }
    const TensorView& view() const { return view_; } ///< what it reads: see forScan()
    std::size_t unitElements() const { return std::size_t(unit_); }
    std::uint64_t units() const { return segments_ * unitsPerSegment_; }
    /// First element of a unit; unitBegin(units()) is the number of elements.
    std::uint64_t unitBegin(std::uint64_t unit) const;
    /// Calls `body` for the ranges of units [first, last): see PassRange.
    Result<void> run(std::uint64_t first, std::uint64_t last, const Job& job,
                     const std::function<void(const PassRange&)>& body) const;
    /// Scales known before the pass: one for unscaled and whole-tensor scales, one per long group, or grid.scales of a
    /// strided grid or where few are relative to one of the tensor. Empty when groups are measured as they pass.
    const std::vector<GroupParams>& shared() const { return shared_; }
    /// What stored scales are relative to: see scaletype=e4m3; 1 when to nothing.
    float tensorScale() const { return tensorScale_; }
    /// What the encoders of a pass must know of the tensor; null: nothing.
    const std::shared_ptr<const TensorScales>& scales() const { return scales_; }
    /// scaletype=u8dq: what its scales are relative to; else null.
    const NestedGrid* nested() const { return scales_ && scales_->nested ? &*scales_->nested : nullptr; }
    /// One for each worker. A run ends with an error where finite values get codes that decode to NaN or Inf.
    std::vector<RunEncoder> encoders(DType source) const;
    /// Whether each range sees the scales of its own groups, which follow each other as the elements do.
    bool measuresInOrder() const { return shared_.empty() && grid_.contiguous && elements_ > 0 && !longGroups_; }
    /// Index of the group of an element, of such a pass; one past the last one at the end.
    std::uint64_t groupOf(std::uint64_t element) const;
    /// The scales of such a pass, at most about `most` groups at a time.
    Result<void> eachParams(DType source, std::uint64_t most, const Job& job,
                            const std::function<Result<void>(std::span<const GroupParams>)>& take) const;
    /// A NaN, an Inf, what is beyond largestTaken() or a scale that overflows sets it and ends a run with an error.
    void refuseNonFinite(std::shared_ptr<std::atomic<bool>> met) { nonFinite_ = std::move(met); }
    /// What codes are decoded with; empty for Identity.
    std::span<const float> levels() const { return {run_.levels, std::size_t(run_.levelCount)}; }
    std::shared_ptr<const LearnedLevels> learned() const { return learned_; } ///< null: the format's own levels

private:
    TensorPass(const TensorView& view, SharedPlan plan, const ScaleGrid& grid);
    Result<void> allWasRead() const;
    Result<void> measureTensor(const Job& job);
    void runUnit(std::uint64_t unit, const float* x, PassRange& range,
                 const std::function<void(const PassRange&)>& body) const;

    TensorView view_;
    SharedPlan plan_;
    ScaleGrid grid_;
    Run run_; ///< of the plan, with the levels that were learned
    std::vector<std::int64_t> shape_;
    std::vector<GroupParams> shared_;
    std::shared_ptr<const LearnedLevels> learned_;
    std::shared_ptr<const TensorScales> scales_;
    std::shared_ptr<std::atomic<bool>> nonFinite_;
    std::shared_ptr<std::atomic<bool>> overflow_ = std::make_shared<std::atomic<bool>>(false); ///< see encoders()
    float largestTaken_;
    std::uint64_t elements_ = 0, segments_ = 0, unitsPerSegment_ = 0;
    std::uint64_t segment_ = 0, unit_ = 1; ///< elements
    bool rowByRow_ = false;                ///< groups end with rows, or scales follow columns: one call per row
    bool shares_ = false;                  ///< scales are measured in a pass of their own
    bool longGroups_ = false;              ///< one group holds whole ranges
    bool relative_ = false;                ///< scales are measured as they pass, but relative to the tensor's
    float tensorScale_ = 1;
    friend Result<std::vector<GroupBound>> measureBounds(const TensorView&, const SharedPlan&, const ScaleGrid&,
                                                         const Job&);
};

/// Scales of a grid whose groups are longer than a unit or not contiguous.
Result<std::vector<GroupParams>> measureSharedParams(const TensorView& view, const EncodePlan& plan,
                                                     const ScaleGrid& grid, const Job& job);
/// The bounds of all groups of any grid, by a rule of core.
Result<std::vector<GroupBound>> measureBounds(const TensorView& view, const SharedPlan& plan, const ScaleGrid& grid,
                                              const Job& job);
/// Index of the scale of a row's first element, for grids that are not contiguous.
std::int64_t stridedScaleIndex(const ScaleGrid& grid, std::span<const std::int64_t> shape, std::int64_t row);
/// Consecutive columns that share a scale: 1 where scales follow columns.
std::int64_t columnsPerScale(const ScaleGrid& grid);

/// What the shared scales of a pass have to be warned about.
std::vector<std::string> passWarnings(const EncodePlan& plan, const std::vector<GroupParams>& shared,
                                      std::uint64_t elements);

/// The refusals that every quantization shares: the dtype, and values that a spec does not take.
Result<void> checkQuantizable(const TensorInfo& tensor);
/// "is I32: only floats of 8 to 64 bits are quantized"; "" if its dtype is quantized.
std::string whyNotQuantizable(const TensorInfo& tensor);
struct NotTaken {
    std::uint64_t nan = 0, inf = 0;
    std::uint64_t beyond = 0; ///< finite, but larger than largestTaken()
    float largest = 0;        ///< magnitude of the finite values
    bool any() const { return nan + inf + beyond > 0; }
};
Result<NotTaken> countNotTaken(const TensorView& view, const QuantSpec& spec, const Job& job);
/// "tensor 'NAME'", or "the tensor" of one without a name.
std::string tensorPlace(const TensorInfo& tensor);
Error notTakenError(const TensorInfo& tensor, const QuantSpec& spec, const NotTaken& found);
/// The error of finite values whose codes do not decode to finite ones.
Error overflowError(const TensorInfo& tensor, const QuantSpec& spec);
/// Scales and what the encoder needs are numbers; a ternary threshold that overflowed is one that nothing reaches.
bool areUsable(const EncodePlan& plan, std::span<const GroupParams> params);

/// Consecutive elements under one scale, or, `along`, under consecutive scales of their own.
struct ScaleRun {
    std::size_t offset = 0, count = 0; ///< from the first element asked for
    std::size_t scale = 0;             ///< index of the (first) scale
    bool along = false;
};
void forEachScaleRun(const ScaleGrid& grid, std::span<const std::int64_t> shape, std::uint64_t begin, std::size_t n,
                     const std::function<void(const ScaleRun&)>& body);

/// The view for a scan of all of it. A large tensor is read through a descriptor of its own into buffers that stay in
/// the cache: mapping and unmapping its pages takes longer (10.7 GB in memory: 3.4 s mapped, 2.4 s read), and keeps
/// them.
TensorView forScan(const TensorView& view, std::uint64_t mapped = kMapBytes);
/// Gives the pages of a tensor back, behind a scan, so that resident memory does not grow with the model.
void releasePages(const Model& model, const TensorInfo& tensor);
/// Maps elements [begin, end) at once where the view is mapped.
void populate(const TensorView& view, std::uint64_t begin, std::uint64_t end);

} // namespace qs
