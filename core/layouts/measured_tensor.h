// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A tensor, its spec, and the pass that encodes the tensor under the spec. Writers and the proof share it.

#include "core/quant/encode/pass.h"
#include "core/quant/encode/solved.h"

#include <atomic>
#include <memory>
#include <optional>

namespace qs {

class MeasuredTensor {
public:
    /// Fails if the spec does not fit the tensor. The view must stay valid.
    static Result<MeasuredTensor> of(const TensorView& view, const QuantSpec& spec, const Job& job);

    const TensorView& view() const { return view_; }
    const TensorInfo& info() const { return *view_.info; }
    const SharedPlan& plan() const { return plan_; }
    const QuantSpec& spec() const { return plan_->spec(); } ///< the spec for this tensor: see forTensor()
    const ScaleGrid& grid() const { return grid_; }
    const Job& job() const { return job_; }
    const Solved* solved() const { return solved_.get(); } ///< the result of a solver; null: there was no solver
    void setSolved(std::shared_ptr<const Solved> solved) { solved_ = std::move(solved); }
    /// See TensorPass::refuseNonFinite(). Null: NaN and Inf were already searched.
    void refuseNonFinite(std::shared_ptr<std::atomic<bool>> met) { nonFinite_ = std::move(met); }

    /// The pass, with its scales measured. The first call makes it.
    Result<const TensorPass*> pass();
    /// The error of a scale or value that is not finite in the type in which it is stored.
    Error overflow() const;
    /// Frees the pass and its file descriptor. Measurements of the whole tensor stay.
    void dropPass() { pass_.reset(); }
    /// Frees all that was measured.
    void forget() { pass_.reset(), scales_.reset(); }
    /// The measurements of the whole tensor; null if none are needed or were made yet. Giving them saves a pass.
    const std::shared_ptr<const TensorScales>& scales() const { return scales_; }
    void setScales(std::shared_ptr<const TensorScales> scales) { scales_ = std::move(scales); }
    const std::vector<std::string>& warnings() const { return warnings_; } ///< warnings about the measured values

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
/// Passes all scales of the grid to `take`: in one call or, if each range measures its own scales, some at a time.
Result<void> eachScale(MeasuredTensor& tensor, const TakeScales& take);
/// All scales of the grid, in one vector.
Result<std::vector<GroupParams>> measureScales(MeasuredTensor& tensor);

} // namespace qs
