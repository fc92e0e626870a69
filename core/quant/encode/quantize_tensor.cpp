// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/parallel.h"
#include "core/base/text.h"
#include "core/model/computed_type.h"
#include "core/quant/encode/pass.h"
#include "core/quant/encode/solved.h"
#include "core/quant/spec/code_set.h"
#include "core/quant/spec/dialect.h"
#include "core/quant/spec/trained.h"

#include <algorithm>
#include <atomic>
#include <cfloat>
#include <cmath>
#include <fmt/format.h>

namespace qs {

std::string whyNotQuantizable(const TensorInfo& tensor) {
    if (info(tensor.dtype).quantizable) return {};
    if (tensor.packed) return fmt::format("is {}, which this program lists but does not decode", tensor.typeId());
    return fmt::format("is {}: only floats of 8 to 64 bits are quantized", tensor.typeId());
}

Result<void> checkQuantizable(const TensorInfo& tensor) {
    const std::string why = whyNotQuantizable(tensor);
    if (why.empty()) return {};
    return fail(fmt::format("tensor '{}' {}", escapeForPeople(tensor.name), why));
}

std::string tensorPlace(const TensorInfo& tensor) {
    return tensor.name.empty() ? "the tensor" : fmt::format("tensor '{}'", escapeForPeople(tensor.name));
}

Error notTakenError(const TensorInfo& tensor, const QuantSpec& spec, const NotTaken& found) {
    const std::string place = tensorPlace(tensor), text = specText(spec);
    if (found.nan + found.inf > 0) {
        QuantSpec skips = spec;
        if (largestTaken(spec) != FLT_MAX) skips = {}, skips.format = spec.format;
        skips.nan = NanPolicy::Skip;
        return advise(fmt::format("{} holds {} NaN and {} Inf, which nan=skip leaves out", place, found.nan, found.inf),
                      {specText(skips)})
            .value();
    }
    const bool ofRange = largestTaken(spec) == FLT_MAX / 2;
    return advise(
               fmt::format(fmt::runtime(ofRange ? "{} holds {} values between which a range overflows f32, as {} needs"
                                                : "{} holds {} values that overflow in f16, to which {} casts"),
                           place, found.beyond, text),
               {spec.format})
        .value();
}

Error overflowError(const TensorInfo& tensor, const QuantSpec& spec) {
    return fail(
               fmt::format("{} has values so large that a scale or a value overflows under {}, and NaN or Inf would be "
                           "written",
                           tensorPlace(tensor), specText(spec)))
        .value();
}

bool areUsable(const EncodePlan& plan, std::span<const GroupParams> params) {
    const bool threshold = plan.run().statistic == GroupStatistic::HalfStd;
    return std::ranges::all_of(params, [threshold](const GroupParams& p) {
        return std::isfinite(p.scale) && (threshold ? !std::isnan(p.aux) : std::isfinite(p.aux));
    });
}

Result<NotTaken> countNotTaken(const TensorView& view, const QuantSpec& spec, const Job& job) {
    const float largest = largestTaken(spec);
    QuantSpec plain;
    plain.format = "f32";
    const auto grid = scaleGrid(plain, view.info->shape);
    std::atomic<std::uint64_t> nan{0}, inf{0}, beyond{0};
    std::vector<float> most(workerCount(), 0.0f);
    const auto done = forEachRange(view, plain, *grid, job, [&](const PassRange& range) {
        const auto absMax = bestKernels().absMax;
        most[range.worker] = std::max(most[range.worker], absMax(range.x, range.n, true));
        if (absMax(range.x, range.n, false) <= largest) return;
        for (std::size_t i = 0; i < range.n; ++i) {
            const float x = range.x[i];
            if (std::fabs(x) <= largest) continue;
            (std::isnan(x) ? nan : std::isinf(x) ? inf : beyond).fetch_add(1, std::memory_order_relaxed);
        }
    });
    if (!done) return tl::unexpected(done.error());
    return NotTaken{nan, inf, beyond, *std::ranges::max_element(most)};
}

Result<QuantizedTensor> quantizeTensor(const TensorView& view, const QuantSpec& spec, const Job& job) {
    return quantizeSolved(view, spec, {}, job);
}

Result<QuantizedTensor> quantizeSolved(const TensorView& view, const QuantSpec& asked, const Solved& solved,
                                       const Job& job) {
    if (auto ok = checkQuantizable(*view.info); !ok) return tl::unexpected(ok.error());
    return quantizeSolved(view, composedPlan(forTensor(asked, *view.info)), solved, job);
}

Result<QuantizedTensor> quantizeSolved(const TensorView& view, const SharedPlan& plan, const Solved& solved,
                                       const Job& job) {
    if (auto ok = checkQuantizable(*view.info); !ok) return tl::unexpected(ok.error());
    const QuantSpec& spec = plan->spec();
    auto grid = scaleGrid(spec, view.info->shape);
    if (!grid) return failAt(tensorPlace(*view.info), std::move(grid.error()));
    // What a solver decided stands before what was trained.
    const TensorView source = solved.values.empty() ? trainedSource(view, spec).value_or(view) : view;
    const auto pass = passOf(source, plan, *grid, solved, job);
    if (!pass) return tl::unexpected(pass.error());

    QuantizedTensor out;
    out.spec = spec;
    out.sourceDtype = computedType(view.info->dtype);
    out.shape = view.info->shape;
    out.grid = *grid;
    if (pass->learned()) out.levels = pass->learned()->levels;
    const bool identity = spec.traits().kind == FormatKind::Identity;
    const BlockCodec* codec = codecOf(spec);
    if (codec)
        out.blocks.resize(blockBytes(*codec, view.info->elements));
    else
        (identity ? out.values : out.scales).resize(identity ? view.info->elements : std::size_t(grid->scales));
    if (!codec && !identity) out.codes.resize(view.info->elements);
    const bool zeros = hasZeroPoints(spec) || hasBiases(spec);
    if (zeros) out.zeros.resize(out.scales.size());
    const bool sharedScales = !pass->shared().empty();
    if (sharedScales && grid->kind != ScaleKind::None) {
        const auto& shared = pass->shared();
        for (std::size_t i = 0; i < shared.size(); ++i) {
            out.scales[i] = shared[i].scale;
            if (zeros) out.zeros[i] = offsetOf(plan->encoder(), shared[i]);
        }
    }

    auto encoders = pass->encoders(view.info->dtype);
    std::vector<std::uint64_t> finite(kMaxPieces);
    std::atomic<bool> overflowed{!areUsable(*plan, pass->shared())};
    const auto done = pass->run(0, pass->units(), job, [&](const PassRange& range) {
        ErrorSums sums;
        RunOut wanted;
        if (codec) {
            encoders[range.worker].blocks().pack(range.run, out.blocks.data() + blockBytes(*codec, range.begin));
            finite[range.piece] += std::uint64_t(
                std::count_if(range.x, range.x + range.n, [](float value) { return std::isfinite(value); }));
            return;
        }
        if (identity)
            wanted.decoded = out.values.data() + range.begin;
        else
            wanted.codes = out.codes.data() + range.begin;
        if (!sharedScales) wanted.scales = out.scales.data() + range.firstGroup;
        if (!sharedScales && zeros) wanted.zeros = out.zeros.data() + range.firstGroup;
        wanted.sums = &sums;
        encoders[range.worker](range.run, wanted);
        finite[range.piece] += std::uint64_t(sums.n);
        if (!std::isfinite(sums.se2)) overflowed.store(true, std::memory_order_relaxed);
    });
    if (!done && done.error().cancelled) return tl::unexpected(done.error());
    std::uint64_t counted = 0;
    for (const std::uint64_t n : finite) counted += n;
    if ((!done || counted != view.info->elements || overflowed) && spec.effectiveNan() == NanPolicy::Refuse) {
        const auto found = countNotTaken(view, spec, job);
        if (!found) return tl::unexpected(found.error());
        if (found->any()) return tl::unexpected(notTakenError(*view.info, spec, *found));
    }
    if (!done) return tl::unexpected(done.error());
    if (overflowed) return tl::unexpected(overflowError(*view.info, spec));
    out.warnings = passWarnings(*plan, pass->shared(), view.info->elements);
    return out;
}

// A threshold that overflowed or underflowed says nothing about the values: every code is 0, or none is.
std::vector<std::string> passWarnings(const EncodePlan& plan, const std::vector<GroupParams>& shared,
                                      std::uint64_t elements) {
    if (plan.run().statistic != GroupStatistic::HalfStd || shared.empty() || elements == 0) return {};
    const float threshold = shared.front().aux;
    if (std::isinf(threshold))
        return {"the standard deviation overflows f32: the threshold is infinite and every value becomes 0"};
    if (threshold == 0)
        return {"the standard deviation is 0 in f32 (equal values, or squares that underflow): every value but 0 "
                "becomes +1 or -1"};
    return {};
}

void forEachScaleRun(const ScaleGrid& grid, std::span<const std::int64_t> shape, std::uint64_t begin, std::size_t n,
                     const std::function<void(const ScaleRun&)>& body) {
    const auto features = std::uint64_t(grid.features), group = std::uint64_t(grid.group);
    const std::uint64_t groupsPerRow = features == 0 ? 0 : (features + group - 1) / group;
    const bool flat = grid.kind != ScaleKind::Block || features % group == 0;
    for (std::uint64_t at = begin, end = begin + n; at < end;) {
        ScaleRun run;
        run.offset = std::size_t(at - begin);
        const std::uint64_t row = at / features, rowEnd = (row + 1) * features;
        if (!grid.contiguous) {
            const auto columns = std::uint64_t(columnsPerScale(grid));
            run.along = columns == 1;
            run.scale =
                std::size_t(stridedScaleIndex(grid, shape, std::int64_t(row))) + std::size_t(at % features / columns);
            run.count =
                std::size_t(std::min({end, rowEnd, run.along ? end : at + columns - at % features % columns}) - at);
        } else if (flat) {
            run.scale = std::size_t(at / group);
            run.count = std::size_t(std::min(end, (at / group + 1) * group) - at);
        } else {
            const std::uint64_t index = at % features / group;
            run.scale = std::size_t(row * groupsPerRow + index);
            run.count = std::size_t(std::min({end, rowEnd, row * features + (index + 1) * group}) - at);
        }
        if (grid.kind == ScaleKind::None) run.scale = 0, run.count = std::size_t(end - at);
        body(run);
        at += run.count;
    }
}

std::vector<float> materialize(const QuantizedTensor& tensor) {
    if (!tensor.values.empty()) return tensor.values;
    if (const BlockCodec* codec = codecOf(tensor.spec)) {
        const std::size_t blocks = tensor.blocks.size() / codec->bytes;
        std::vector<float> out(blocks * codec->elements);
        codec->decode(tensor.blocks.data(), blocks, out.data());
        return out;
    }
    const KernelSet& kernels = bestKernels();
    Run run = EncodePlan(tensor.spec).run();
    if (!tensor.levels.empty()) run.levels = tensor.levels.data(), run.levelCount = int(tensor.levels.size());
    std::vector<float> out(tensor.codes.size());
    const bool biased = hasBiases(tensor.spec);
    const float one = 1;
    const float* scales = tensor.grid.kind == ScaleKind::None ? &one : tensor.scales.data();
    forEachScaleRun(tensor.grid, tensor.shape, 0, out.size(), [&](const ScaleRun& part) {
        for (std::size_t i = 0; !tensor.zeros.empty() && i < part.count; ++i) {
            const std::size_t at = part.scale + (part.along ? i : 0);
            const float level = run.levels[tensor.codes[part.offset + i]];
            out[part.offset + i] =
                biased ? level * tensor.scales[at] + tensor.zeros[at] : (level - tensor.zeros[at]) * tensor.scales[at];
        }
        if (!tensor.zeros.empty()) return;
        kernels.dequantize(tensor.codes.data() + part.offset, part.count, part.along ? 1 : part.count,
                           scales + part.scale, run.levels, run.levelCount, out.data() + part.offset);
    });
    return out;
}

} // namespace qs
