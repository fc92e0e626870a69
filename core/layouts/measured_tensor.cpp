// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/layouts/measured_tensor.h"

#include "core/base/text.h"
#include "core/quant/spec/trained.h"

#include <algorithm>
#include <fmt/format.h>

namespace qs {
namespace {

constexpr std::uint64_t kScalesAtOnce = std::uint64_t(1) << 20;

} // namespace

Result<MeasuredTensor> MeasuredTensor::of(const TensorView& view, const QuantSpec& asked, const Job& job) {
    if (auto ok = checkQuantizable(*view.info); !ok) return tl::unexpected(ok.error());
    const QuantSpec spec = forTensor(asked, *view.info);
    auto grid = scaleGrid(spec, view.info->shape);
    if (!grid) return failAt(fmt::format("tensor '{}'", escapeForPeople(view.info->name)), std::move(grid.error()));
    return MeasuredTensor(trainedSource(view, spec).value_or(view), spec, std::move(*grid), job);
}

Result<const TensorPass*> MeasuredTensor::pass() {
    if (pass_) return &*pass_;
    // Each pass reads the tensor once. Rows that are not contiguous are read in many short calls, which a mapping
    // suits.
    const TensorView read = grid_.contiguous ? forScan(view_, kReadBytes) : view_;
    auto made = solved_ ? passOf(read, plan_, grid_, *solved_, job_)
                        : TensorPass::prepare(read, plan_, grid_, job_, nullptr, scales_);
    if (!made) return tl::unexpected(made.error());
    pass_.emplace(std::move(*made));
    scales_ = pass_->scales();
    pass_->refuseNonFinite(nonFinite_);
    const auto& shared = pass_->shared();
    if (!areUsable(*plan_, shared)) return tl::unexpected(overflow());
    warnings_ = passWarnings(*plan_, shared, info().elements);
    return &*pass_;
}

Error MeasuredTensor::overflow() const {
    if (nonFinite_) nonFinite_->store(true, std::memory_order_relaxed);
    return overflowError(info(), spec());
}

Result<std::vector<GroupParams>> measureScales(MeasuredTensor& tensor) {
    const auto pass = tensor.pass();
    if (!pass) return tl::unexpected(pass.error());
    std::vector<GroupParams> params(std::size_t(tensor.grid().scales));
    const auto& shared = (*pass)->shared();
    if (!shared.empty()) return tensor.grid().kind == ScaleKind::None ? params : shared;
    auto encoders = tensor.encoders();
    // Groups of an empty tensor have no range; their scale is that of nothing but zeros.
    if (tensor.info().elements == 0)
        std::fill(params.begin(), params.end(), encoders.front().params(tensor.plan()->run(), nullptr, 0));
    const auto done = (*pass)->run(0, (*pass)->units(), tensor.job(), [&](const PassRange& range) {
        encoders[range.worker].params(range.run, params.data() + range.firstGroup);
    });
    if (!done) return tl::unexpected(done.error());
    return params;
}

Result<void> eachScale(MeasuredTensor& tensor, const TakeScales& take) {
    const auto pass = tensor.pass();
    if (!pass) return tl::unexpected(pass.error());
    if ((*pass)->measuresInOrder()) return (*pass)->eachParams(tensor.info().dtype, kScalesAtOnce, tensor.job(), take);
    const auto all = measureScales(tensor);
    return all ? take(*all) : tl::unexpected(all.error());
}

} // namespace qs
