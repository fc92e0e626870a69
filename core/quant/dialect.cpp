// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/quant/dialect.h"

#include "core/quant/double_quant.h"

#include <algorithm>
#include <bit>
#include <cfloat>
#include <fmt/format.h>

namespace qs {
namespace {

/// MaxText's manual_quantize: one scale that is given.
Result<void> checkManualQuantize(const QuantSpec& spec) {
    const std::string works = fmt::format("{}:scale=tensor:dialect=maxtext:calib=fixed,1,0.5", spec.format);
    if (spec.scaleKind() != ScaleKind::Tensor)
        return fail(fmt::format("dialect=maxtext has one scale per tensor: use {}", works));
    if (!spec.calibration || spec.calibration->id != "fixed")
        return fail(
            fmt::format("dialect=maxtext is manual_quantize, whose calibration is fixed,SCALE,MAX: use {}", works));
    const char* more = spec.sparsity                                ? "sparse"
                       : spec.randomSeed()                          ? "round"
                       : !spec.isSymmetric()                        ? "sym"
                       : spec.scaleType && *spec.scaleType != "f32" ? "scaletype"
                                                                    : nullptr;
    if (more) return fail(fmt::format("dialect=maxtext does not know {}: leave it out, use {}", more, works));
    return {};
}

/// LLM.int8: the maximum of each row, and nothing else to choose.
Result<void> checkBnb8(const QuantSpec& spec) {
    const std::string works = fmt::format("{}:dialect=bnb", spec.format);
    if (spec.tiles || spec.scaleKind() != ScaleKind::Axes || spec.reducedAxes() != std::vector<int>{-1})
        return fail(fmt::format("dialect=bnb of {} has a scale per row: use {}", spec.format, works));
    const bool clips = spec.calibration && (spec.calibration->id != "absmax" || !spec.calibration->arguments.empty());
    const char* more = spec.sparsity                                ? "sparse"
                       : spec.randomSeed()                          ? "round"
                       : !spec.isSymmetric()                        ? "sym"
                       : clips                                      ? "calib"
                       : spec.scaleType && *spec.scaleType != "f32" ? "scaletype"
                       : spec.effectiveNan() == NanPolicy::Skip     ? "nan"
                                                                    : nullptr;
    if (!more) return {};
    return fail(fmt::format("dialect=bnb of {} is LLM.int8, which does not know {}: leave it out, use {}", spec.format,
                            more, works));
}

} // namespace

float largestTaken(const QuantSpec& spec) {
    return isBnb8(spec) ? 0x1.ffdffep15f : FLT_MAX; // below 65520, which is infinite in f16
}

Result<void> checkDialect(const QuantSpec& spec) {
    const FormatTraits& traits = spec.traits();
    const std::string dialect = spec.effectiveDialect();
    const bool blocks = dialect == "ggml" && traits.kind != FormatKind::Superblock;
    if (dialect == "maxtext") return checkManualQuantize(spec);
    if (isBnb8(spec)) return checkBnb8(spec);
    if (!blocks && dialect != "bnb") return {};
    const auto refuse = [&](std::string_view what, std::string_view key) {
        return fail(fmt::format("dialect={} of {} has no {}: leave {} out or choose another dialect", dialect,
                                spec.format, what, key));
    };
    if (spec.tiles) return refuse("tiles", "tile");
    if (spec.sparsity) return refuse("N:M sparsity", "sparse");
    if (spec.decode == Decode::Poly) return refuse("polynomial decode", "decode");
    if (spec.scaleKind() != ScaleKind::Block) return refuse("scales but those of blocks", "scale and axis");
    const std::uint32_t block = spec.blockSize();
    if (blocks && block != traits.defaultBlock)
        return fail(fmt::format("dialect=ggml of {} has blocks of {} alone, not {}: use {}:dialect=ggml", spec.format,
                                traits.defaultBlock, block, spec.format));
    const std::uint32_t nearest = std::clamp(std::bit_floor(std::max(1u, block)), kLeastBnbBlock, kMostBnbBlock);
    if (!blocks && block != nearest)
        return fail(fmt::format("dialect=bnb has blocks of a power of two from {} to {}, not {}: use "
                                "{}:dialect=bnb:block={}",
                                kLeastBnbBlock, kMostBnbBlock, block, spec.format, nearest));
    return {};
}

} // namespace qs
