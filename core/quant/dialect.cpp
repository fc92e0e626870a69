// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/quant/dialect.h"

#include <algorithm>
#include <bit>
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

} // namespace

Result<void> checkDialect(const QuantSpec& spec) {
    const FormatTraits& traits = spec.traits();
    const std::string dialect = spec.effectiveDialect();
    const bool blocks = dialect == "ggml" && traits.kind != FormatKind::Superblock;
    if (dialect == "maxtext") return checkManualQuantize(spec);
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
    const std::uint32_t nearest = std::clamp(std::bit_floor(std::max(1u, block)), 32u, 4096u);
    if (!blocks && block != nearest)
        return fail(fmt::format("dialect=bnb has blocks of a power of two from 32 to 4096, not {}: use "
                                "{}:dialect=bnb:block={}",
                                block, spec.format, nearest));
    return {};
}

} // namespace qs
