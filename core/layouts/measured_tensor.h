// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A tensor and its spec, and the pass that encodes the one by the other. Writers and the proof share it.

#include "core/quant/encode/pass.h"
#include "core/quant/encode/solved.h"

#include <atomic>
#include <memory>
#include <optional>

namespace qs {

class MeasuredTensor {
public:
    /// Fails where the spec does not fit the tensor. The view must stay valid.
    static Result<MeasuredTensor> of(const TensorView& view, const QuantSpec& spec, const Job& job);

    const TensorView& view() const { return view_; }
    const TensorInfo& info() const { return *view_.info; }
    const SharedPlan& plan() const { return plan_; }
    const QuantSpec& spec() const { return plan_->spec(); } ///< for this tensor: see forTensor()
    const ScaleGrid& grid() const { return grid_; }
    const Job& job() const { return job_; }
    const Solved* solved() const { return solved_.get(); } ///< null: nothing was decided before
    void setSolved(std::shared_ptr<const Solved> solved) { solved_ = std::move(solved); }
    /// See TensorPass::refuseNonFinite(). Null: NaN and Inf were looked for before.
    void refuseNonFinite(std::shared_ptr<std::atomic<bool>> met) { nonFinite_ = std::move(met); }

    /// The pass with its scales measured; it is made when it is first asked for.
    Result<const TensorPass*> pass();
    /// Frees the pass and the descriptor that it reads by. What was measured of the whole tensor stays.
    void dropPass() { pass_.reset(); }
    /// Frees all that was measured.
    void forget() { pass_.reset(), scales_.reset(); }
    /// What was measured of the whole tensor; null: nothing is needed or was measured yet. Giving it saves that pass.
    const std::shared_ptr<const TensorScales>& scales() const { return scales_; }
    void setScales(std::shared_ptr<const TensorScales> scales) { scales_ = std::move(scales); }
    const std::vector<std::string>& warnings() const { return warnings_; } ///< about what was measured

    std::vector<RunEncoder> encoders() const { return pass_->encoders(info().dtype); } ///< after pass()

private:
    MeasuredTensor(TensorView view, QuantSpec spec, ScaleGrid grid, Job job)
        : view_(std::move(view)), plan_(composedPlan(std::move(spec))), grid_(std::move(grid)), job_(std::move(job)) {}

    TensorView view_;
    SharedPlan plan_;
    ScaleGrid grid_;
    Job job_;
    std::shared_ptr<const Solved> solved_;
    std::shared_ptr<std::atomic<bool>> nonFinite_;
    std::optional<TensorPass> pass_;
    std::shared_ptr<const TensorScales> scales_;
    std::vector<std::string> warnings_;
};

/// Takes the scales of a tensor in order, some at a time.
using TakeScales = std::function<Result<void>(std::span<const GroupParams>)>;
/// All scales of the grid, in one call or, where each range measures its own, some at a time.
Result<void> eachScale(MeasuredTensor& tensor, const TakeScales& take);
/// All scales of the grid, in memory.
Result<std::vector<GroupParams>> measureScales(MeasuredTensor& tensor);

} // namespace qs
