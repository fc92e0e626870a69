// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/parallel.h"
#include "core/base/text.h"
#include "core/quant/pass.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <fmt/format.h>

namespace qs {

Result<void> checkQuantizable(const TensorInfo& tensor) {
    if (info(tensor.dtype).quantizable) return {};
    return fail(fmt::format("tensor '{}' is {}: only F64, F32, F16 and BF16 are quantized",
                            escapeForPeople(tensor.name), info(tensor.dtype).id));
}

std::string nonFiniteReason(const TensorInfo& tensor, std::uint64_t nan, std::uint64_t inf) {
    return fmt::format("tensor '{}' holds {} NaN and {} Inf: use nan=skip to leave them out",
                       escapeForPeople(tensor.name), nan, inf);
}

Result<NonFinite> countNonFinite(const TensorView& view, const Job& job) {
    QuantSpec plain;
    plain.format = "f32";
    const auto grid = scaleGrid(plain, view.info->shape);
    std::atomic<std::uint64_t> nan{0}, inf{0};
    const auto done = forEachRange(view, plain, *grid, job, [&](const PassRange& range) {
        for (std::size_t i = 0; i < range.n; ++i) {
            if (std::isfinite(range.x[i])) continue;
            (std::isnan(range.x[i]) ? nan : inf).fetch_add(1, std::memory_order_relaxed);
        }
    });
    if (!done) return tl::unexpected(done.error());
    return NonFinite{nan, inf};
}

Result<QuantizedTensor> quantizeTensor(const TensorView& view, const QuantSpec& spec, const Job& job) {
    if (auto ok = checkQuantizable(*view.info); !ok) return tl::unexpected(ok.error());
    auto grid = scaleGrid(spec, view.info->shape);
    if (!grid) return fail(fmt::format("tensor '{}': {}", escapeForPeople(view.info->name), grid.error().message));
    const auto pass = TensorPass::prepare(view, spec, *grid, job);
    if (!pass) return tl::unexpected(pass.error());

    QuantizedTensor out;
    out.spec = spec;
    out.sourceDtype = view.info->dtype;
    out.shape = view.info->shape;
    out.grid = *grid;
    const bool identity = spec.traits().kind == FormatKind::Identity;
    (identity ? out.values.resize(view.info->elements) : out.codes.resize(view.info->elements));
    out.scales.resize(std::size_t(grid->scales));
    const bool sharedScales = !pass->shared().empty();
    if (sharedScales && grid->kind != ScaleKind::None)
        std::transform(pass->shared().begin(), pass->shared().end(), out.scales.begin(),
                       [](const auto& p) { return p.scale; });

    std::vector<RunEncoder> encoders(workerCount(), RunEncoder(spec, view.info->dtype));
    std::vector<std::uint64_t> finite(kMaxPieces);
    const auto done = pass->run(0, pass->units(), job, [&](const PassRange& range) {
        ErrorSums sums;
        RunOut wanted;
        if (identity)
            wanted.decoded = out.values.data() + range.begin;
        else
            wanted.codes = out.codes.data() + range.begin;
        if (!sharedScales) wanted.scales = out.scales.data() + range.firstGroup;
        wanted.sums = &sums;
        encoders[range.worker](range.run, wanted);
        finite[range.piece] += std::uint64_t(sums.n);
    });
    if (!done) return tl::unexpected(done.error());
    std::uint64_t counted = 0;
    for (const std::uint64_t n : finite) counted += n;
    if (counted != view.info->elements && spec.effectiveNan() == NanPolicy::Refuse) {
        const auto found = countNonFinite(view, job);
        if (!found) return tl::unexpected(found.error());
        return fail(nonFiniteReason(*view.info, found->nan, found->inf));
    }
    out.warnings = passWarnings(spec, pass->shared(), view.info->elements);
    return out;
}

// A threshold that overflowed or underflowed says nothing about the values: every code is 0, or none is.
std::vector<std::string> passWarnings(const QuantSpec& spec, const std::vector<GroupParams>& shared,
                                      std::uint64_t elements) {
    if (runOf(spec).statistic != GroupStatistic::HalfStd || shared.empty() || elements == 0) return {};
    const float threshold = shared.front().aux;
    if (std::isinf(threshold))
        return {"the standard deviation overflows f32: the threshold is infinite and every value becomes 0"};
    if (threshold == 0)
        return {"the standard deviation is 0 in f32 (equal values, or squares that underflow): every value but 0 "
                "becomes +1 or -1"};
    return {};
}

std::vector<float> materialize(const QuantizedTensor& tensor) {
    if (!tensor.values.empty()) return tensor.values;
    const KernelSet& kernels = bestKernels();
    const Run run = runOf(tensor.spec);
    const ScaleGrid& grid = tensor.grid;
    std::vector<float> out(tensor.codes.size());
    const auto features = std::size_t(grid.features), group = std::size_t(grid.group);
    const auto decode = [&](std::size_t begin, std::size_t n, std::size_t groupSize, const float* scales) {
        kernels.dequantize(tensor.codes.data() + begin, n, groupSize, scales, run.levels, run.levelCount,
                           out.data() + begin);
    };
    if (out.empty()) return out;
    const float one = 1;
    if (grid.kind == ScaleKind::None) {
        decode(0, out.size(), out.size(), &one);
    } else if (grid.contiguous && (grid.kind != ScaleKind::Block || features % group == 0)) {
        decode(0, out.size(), group, tensor.scales.data());
    } else {
        const std::size_t groupsPerRow = (features + group - 1) / group;
        for (std::size_t row = 0; row < std::size_t(grid.rows); ++row) {
            if (grid.contiguous) {
                decode(row * features, features, group, tensor.scales.data() + row * groupsPerRow);
                continue;
            }
            const bool along = !grid.reduced.back();
            const float* scales = tensor.scales.data() + stridedScaleIndex(grid, tensor.shape, std::int64_t(row));
            decode(row * features, features, along ? 1 : features, scales);
        }
    }
    return out;
}

} // namespace qs
