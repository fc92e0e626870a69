// SPDX-License-Identifier: GPL-3.0-or-later
// ggml encodes whole blocks, scales and all.
#include "core/quant/encode/block_encoder.h"
#include "core/quant/spec/dialects/rows.h"

#include <fmt/format.h>

namespace qs {
namespace {

/// Formats of blocks alone have nothing to choose; of others the keys of the blocks are refused.
Result<void> checkItsBlockSize(const QuantSpec& spec) {
    const FormatTraits& traits = spec.traits();
    if (traits.kind == FormatKind::Superblock) return {};
    if (auto plain = checkPlainBlocks(spec); !plain) return plain;
    if (spec.blockSize() == traits.defaultBlock) return {};
    return advise(fmt::format("dialect={} of {} has blocks of {} alone, not {}", kGgmlDialect.id, spec.format,
                              traits.defaultBlock, spec.blockSize()),
                  {fmt::format("{}:dialect={}", spec.format, kGgmlDialect.id)});
}

std::vector<const ScaleType*> typesInBlocks(const FormatTraits& format) {
    // Blocks have no scale for a tensor beside them: unsigned E4M3 where compressed-tensors has one.
    return {format.ownScale == OwnScale::E4m3 ? &ScaleType::Ue4m3 : commonScaleTypes(format).front()};
}

} // namespace

constinit const Dialect kGgmlDialect = {
    .id = "ggml",
    .title = "ggml",
    .source = "ggml src/ggml-quants.c",
    .takes = [](const FormatTraits& f) { return f.codec != nullptr; },
    .defines = [](const FormatTraits& f) { return f.kind == FormatKind::Superblock; },
    .lastAxisOnly = true,
    .packsBlocks = true,
    .calibrations = std::span<const CalibrationTraits* const>(), // encoders and all
    .scaleTypes = typesInBlocks,
    .check = checkItsBlockSize,
    .checkRows = checkBlocks,
};

} // namespace qs
