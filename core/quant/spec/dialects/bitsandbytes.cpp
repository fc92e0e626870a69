// SPDX-License-Identifier: GPL-3.0-or-later
// bitsandbytes has two functions under one name: 4-bit codes in blocks over the flattened tensor, and LLM.int8's rows.
#include "core/quant/encode/double_quant.h"
#include "core/quant/encode/encode_plan.h"
#include "core/quant/spec/calibrations/rows.h"
#include "core/quant/spec/dialects/rows.h"
#include "kernels/small_float.h"

#include <algorithm>
#include <bit>
#include <fmt/format.h>

namespace qs {
namespace {

constexpr const char* kId = "bnb";

/// Its two 4-bit types: quantiles of a normal distribution, and small floats whose bits it chose.
bool isItsCodebook(const FormatTraits& f) {
    return f.kind == FormatKind::Codebook && f.bits == 4 && (f.encoder == Encoder::NearestNf4 || !f.bytes.empty());
}

Result<void> checkItsBlocks(const QuantSpec& spec) {
    if (auto plain = checkPlainBlocks(spec); !plain) return plain;
    const std::uint32_t block = spec.blockSize();
    const std::uint32_t nearest = std::clamp(std::bit_floor(std::max(1u, block)), kLeastBnbBlock, kMostBnbBlock);
    if (block == nearest) return {};
    return advise(fmt::format("dialect={} has blocks of a power of two from {} to {}, not {}", kId, kLeastBnbBlock,
                              kMostBnbBlock, block),
                  {fmt::format("{}:dialect={}:block={}", spec.format, kId, nearest)});
}

/// The maximum of each row, and nothing else to choose.
Result<void> checkItsRows(const QuantSpec& spec) {
    const std::string works = fmt::format("{}:dialect={}", spec.format, kId);
    if (spec.tiles || spec.scaleKind() != ScaleKind::Axes || spec.reducedAxes() != std::vector<int>{-1})
        return advise(fmt::format("dialect={} of {} has a scale per row", kId, spec.format), {works});
    const bool typed = spec.scaleType && *spec.scaleType != ScaleType::F32.id;
    const char* more = typed ? "scaletype" : keyTooMany(spec, kAbsMaxCalibration, true);
    if (!more) return {};
    return advise(fmt::format("dialect={} of {} is LLM.int8, which does not know {}", kId, spec.format, more), {works});
}

float throughF16(float value) { return f16ToF32(f32ToF16(value)); }

/// The maximum of the values in f16 is that of the values, in f16; divided as PyTorch divides.
GroupParams rowParams(const EncodePlan&, GroupBound bound) {
    const float most = throughF16(std::max(bound.high, 0.0f));
    return most > 0 ? GroupParams{most / 127.0f, 1.0f / most * 127.0f} : GroupParams{0, 1};
}

constexpr const CalibrationTraits* kOnlyMaxima[] = {&kAbsMaxCalibration};

} // namespace

constinit const Dialect kBitsandbytes4Dialect = {
    .id = kId,
    .title = "bitsandbytes' 4-bit blocks",
    .source = "bitsandbytes 0.50.2 functional.py, backends/default/ops.py, csrc/cpu_ops.cpp",
    .takes = isItsCodebook,
    .crossesRows = true,
    .scaleTypes = [](const FormatTraits&) -> std::vector<const ScaleType*> {
        return {&ScaleType::F32, &ScaleType::U8dq};
    },
    .check = checkItsBlocks,
    .division = Division::ByReciprocalOfMaximum,
    .params =
        [](const EncodePlan&, GroupBound bound) {
            const float most = std::max(bound.high, 0.0f);
            return GroupParams{most, most};
        },
};

constinit const Dialect kLlmInt8Dialect = {
    .id = kId,
    .title = "bitsandbytes' LLM.int8",
    .source = "bitsandbytes 0.50.2 functional.py, int8_vectorwise_quant",
    .takes = [](const FormatTraits& f) { return f.kind == FormatKind::Integer && f.bits == 8; },
    .calibrations = kOnlyMaxima,
    .scaleTypes = [](const FormatTraits&) -> std::vector<const ScaleType*> { return {&ScaleType::F32}; },
    .check = checkItsRows,
    .encoder = Encoder::RoundReciprocal,
    .division = Division::InHalf,
    .params = rowParams,
    .largestTaken = [](const QuantSpec&) { return kLargestOfHalf; },
};

} // namespace qs
