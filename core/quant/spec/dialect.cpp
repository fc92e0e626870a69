// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/quant/spec/dialect.h"

#include "core/quant/encode/double_quant.h"
#include "core/quant/spec/code_set.h"
#include "core/quant/spec/scale_type.h"

#include <algorithm>
#include <bit>
#include <cfloat>
#include <fmt/format.h>

namespace qs {
namespace {

constexpr std::uint32_t kMlxGroups[] = {32, 64, 128};

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

/// A key that says what the one way of a program to quantize does not have; null: none.
const char* keyTooMany(const QuantSpec& spec, const char* calibration, bool symmetric) {
    const bool clips =
        spec.calibration && (spec.calibration->id != calibration || !spec.calibration->arguments.empty());
    return spec.sparsity                            ? "sparse"
           : spec.randomSeed()                      ? "round"
           : spec.isSymmetric() != symmetric        ? "sym"
           : clips                                  ? "calib"
           : spec.effectiveNan() == NanPolicy::Skip ? "nan"
                                                    : nullptr;
}

/// MLX's affine mode: groups of 32, 64 or 128, their minimum and maximum.
Result<void> checkMlx(const QuantSpec& spec) {
    const std::string works = fmt::format("{}:dialect=mlx", spec.format);
    const std::uint32_t block = spec.blockSize();
    if (std::find(std::begin(kMlxGroups), std::end(kMlxGroups), block) == std::end(kMlxGroups))
        return fail(fmt::format("dialect=mlx has a scale and a bias per group of 32, 64 or 128 of a row: use {} or "
                                "{}:block=32",
                                works, works));
    if (const char* more = keyTooMany(spec, "minmax", false))
        return fail(
            fmt::format("dialect=mlx is mlx.core.quantize, which does not know {}: leave it out, use {}", more, works));
    return {};
}

/// LLM.int8: the maximum of each row, and nothing else to choose.
Result<void> checkBnb8(const QuantSpec& spec) {
    const std::string works = fmt::format("{}:dialect=bnb", spec.format);
    if (spec.tiles || spec.scaleKind() != ScaleKind::Axes || spec.reducedAxes() != std::vector<int>{-1})
        return fail(fmt::format("dialect=bnb of {} has a scale per row: use {}", spec.format, works));
    const bool typed = spec.scaleType && *spec.scaleType != "f32";
    const char* more = typed ? "scaletype" : keyTooMany(spec, "absmax", true);
    if (!more) return {};
    return fail(fmt::format("dialect=bnb of {} is LLM.int8, which does not know {}: leave it out, use {}", spec.format,
                            more, works));
}

} // namespace

float largestTaken(const QuantSpec& spec) {
    const bool inF16 = isBnb8(spec) || (hasBiases(spec) && scaleTypeOf(spec) == ScaleType::F16);
    if (inF16) return 0x1.ffdffep15f; // below 65520, which is infinite in f16
    return hasBiases(spec) ? FLT_MAX / 2 : FLT_MAX;
}

Result<void> checkGroups(const QuantSpec& spec, std::int64_t features) {
    if (!hasBiases(spec) || features % std::int64_t(spec.blockSize()) == 0) return {};
    std::string works = fmt::format("{}:sym=no", spec.format);
    for (const std::uint32_t group : kMlxGroups)
        if (features % std::int64_t(group) == 0) works = fmt::format("{}:block={}:dialect=mlx", spec.format, group);
    return fail(fmt::format("rows of {} values are not whole groups of {}, as dialect=mlx needs: use {}", features,
                            spec.blockSize(), works));
}

Result<void> checkDialect(const QuantSpec& spec) {
    const FormatTraits& traits = spec.traits();
    const std::string dialect = spec.effectiveDialect();
    const bool blocks = dialect == "ggml" && traits.kind != FormatKind::Superblock;
    if (dialect == "maxtext") return checkManualQuantize(spec);
    if (isBnb8(spec)) return checkBnb8(spec);
    if (hasBiases(spec)) return checkMlx(spec);
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
