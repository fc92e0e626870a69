// SPDX-License-Identifier: GPL-3.0-or-later
// Packs weights for the backend interface: chooses the packing of a format and packs the codes.
#include "core/base/parallel.h"
#include "core/bench/run/operands.h"
#include "core/layouts/slabs.h"
#include "core/quant/codebook/learn.h"
#include "core/quant/encode/double_quant.h"
#include "core/quant/encode/encode.h"
#include "core/quant/spec/code_set.h"
#include "core/quant/spec/dialect.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <fmt/format.h>

namespace qs {
namespace {

/// What a code means for a backend.
enum class Meaning {
    Table,  ///< an index into the values that are passed with the format
    Biased, ///< value = code + code_bias
    Signed, ///< the integer itself
    Bits,   ///< the bits of the float type that the format's id names
};

/// THE table of packings: the first row that fits a format applies.
struct Packing {
    FormatKind kind;
    std::size_t levels; ///< at most so many
    std::uint32_t bits;
    const char* packing;
    const char* dtype; ///< nullptr: the id of the format
    Meaning meaning;
    bool highFirst = false;
};
constexpr std::array<Packing, 8> kPackings = {{
    {FormatKind::Sign, 2, 1, "octet_lo_first", "u8", Meaning::Table},
    {FormatKind::Sign, 3, 2, "quad_lo_first", "u8", Meaning::Biased},
    {FormatKind::Codebook, 16, 4, "pair_hi_first", "u8", Meaning::Table, true},
    {FormatKind::Integer, 4, 2, "quad_lo_first", "u8", Meaning::Biased},
    {FormatKind::Integer, 16, 4, "pair_lo_first", "u8", Meaning::Biased},
    {FormatKind::Integer, 256, 8, "none", "i8", Meaning::Signed},
    {FormatKind::Float, 16, 4, "pair_lo_first", "u8", Meaning::Table},
    {FormatKind::Float, 256, 8, "none", nullptr, Meaning::Bits},
}};

const Packing* packingOf(const FormatTraits& traits) {
    const auto at = std::ranges::find_if(
        kPackings, [&](const Packing& row) { return row.kind == traits.kind && traits.levels.size() <= row.levels; });
    return at == kPackings.end() ? nullptr : &*at;
}

/// The axis along which each index has a scale, or -1.
int keptAxis(const ScaleGrid& grid) {
    if (grid.kind != ScaleKind::Axes || grid.reduced.size() != 2 || grid.reduced[0] == grid.reduced[1]) return -1;
    return grid.reduced[0] ? 1 : 0;
}

std::vector<std::int64_t> scaleDims(const ScaleGrid& grid) {
    if (grid.kind == ScaleKind::Block) return grid.scaleShape;
    return {grid.scales};
}

/// Packs one row of codes into whole bytes; the padding decodes to 0.
void packRow(const Packing& packing, const FormatTraits& traits, const CodeSet& set, const std::uint8_t* codes,
             std::size_t n, std::size_t stored, std::byte* out) {
    if (packing.meaning == Meaning::Bits) {
        for (std::size_t i = 0; i < stored; ++i)
            out[i] = std::byte(traits.bytes[i < n ? codes[i] : std::size_t(set.zeroCode)]);
        return;
    }
    if (packing.bits == 8) {
        const int offset = packing.meaning == Meaning::Signed ? set.valueOffset : 0;
        for (std::size_t i = 0; i < stored; ++i) out[i] = std::byte((i < n ? int(codes[i]) : set.zeroCode) + offset);
        return;
    }
    const std::size_t perByte = 8 / packing.bits;
    for (std::size_t i = 0; i < (stored + perByte - 1) / perByte; ++i) {
        unsigned byte = 0;
        for (std::size_t j = 0; j < perByte; ++j) {
            const std::size_t at = i * perByte + j;
            const unsigned code = at < n ? codes[at] : unsigned(std::max(0, set.zeroCode));
            byte |= code << (packing.bits * unsigned(packing.highFirst ? perByte - 1 - j : j));
        }
        out[i] = std::byte(byte);
    }
}

/// f32, f16, bf16: the values themselves; their ids are dtypes of the interface.
Result<void> addFloats(BenchWeights& weights, const std::vector<std::int64_t>& dims) {
    std::string name = weights.quantized.spec.format;
    auto tensor = makeHostTensor("weight", name, dims);
    if (!tensor) return tl::unexpected(tensor.error());
    for (auto& c : name)
        if (c >= 'a' && c <= 'z') c = char(c - 'a' + 'A');
    const auto dtype = dtypeFromId(name);
    if (!dtype) return fail(fmt::format("The format {} has no element type.", weights.quantized.spec.format));
    const auto& values = weights.quantized.values;
    const std::size_t size = dtypeBytes(tensor->dtype);
    parallelFor(values.size(), std::size_t(1) << 16, [&](std::size_t begin, std::size_t end, unsigned) {
        appendAs(*dtype, values.data() + begin, end - begin, tensor->data() + begin * size);
    });
    weights.bytes = tensor->bytes;
    weights.inputs.push_back(std::move(*tensor));
    return {};
}

Result<void> addCodes(BenchWeights& weights, const Packing& packing) {
    const auto& quantized = weights.quantized;
    const auto& traits = quantized.spec.traits();
    const CodeSet set = codeSetOf(quantized.spec);
    const std::size_t rows = std::size_t(quantized.grid.rows), columns = std::size_t(quantized.grid.features);
    const std::size_t stored = std::size_t(traits.padsLastBlock ? quantized.grid.paddedFeatures
                                                                // the same in bitsandbytes
                                                                : quantized.grid.features);
    const std::size_t rowBytes = (stored * packing.bits + 7) / 8;
    auto tensor = makeHostTensor("weight", packing.dtype ? packing.dtype : traits.id,
                                 {std::int64_t(rows), std::int64_t(rowBytes)});
    if (!tensor) return tl::unexpected(tensor.error());
    parallelFor(rows, 16, [&](std::size_t begin, std::size_t end, unsigned) {
        for (std::size_t r = begin; r < end; ++r)
            packRow(packing, traits, set, quantized.codes.data() + r * columns, columns, stored,
                    tensor->data() + r * rowBytes);
    });
    weights.bytes = tensor->bytes;
    weights.inputs.push_back(std::move(*tensor));
    if (quantized.grid.kind == ScaleKind::None) return {};
    auto scales = makeHostTensor("scale", "f32", scaleDims(quantized.grid));
    if (!scales) return tl::unexpected(scales.error());
    std::memcpy(scales->data(), quantized.scales.data(), scales->bytes);
    weights.bytes += scales->bytes;
    weights.inputs.push_back(std::move(*scales));
    return {};
}

} // namespace

std::optional<std::string> whyNotCrossing(const QuantSpec& spec) {
    const auto& traits = spec.traits();
    if (traits.kind == FormatKind::Identity) return std::nullopt;
    const char* unsaid = hasBiases(spec)                       ? "biases of scales"
                         : !spec.isSymmetric()                 ? "zero points"
                         : spec.tiles                          ? "tiles"
                         : spec.isFlat()                       ? "blocks of a flattened kernel (flat=yes)"
                         : scaleTypeOf(spec) != ScaleType::F32 ? "scales of another type than f32"
                         : !holdsZero(spec)                    ? "levels without a zero"
                                                               : nullptr;
    if (unsaid) return fmt::format("{} do not cross the backend interface yet", unsaid);
    if (isLearned(spec) || !packingOf(traits)) // a backend must know the levels in advance
        return fmt::format("the format {} has no packing in the backend interface", spec.format);
    return std::nullopt;
}

Result<OperandFormat> weightFormat(const EncodePlan& plan, const ScaleGrid& grid) {
    const QuantSpec& spec = plan.spec();
    const auto& traits = spec.traits();
    OperandFormat format;
    format.format = traits.id;
    if (traits.kind == FormatKind::Identity) {
        format.bits = std::uint32_t(traits.bits);
        return format;
    }
    if (const auto why = whyNotCrossing(spec)) return fail(*why);
    if (grid.scaleShape.size() == 1 && blocksCrossRows(spec))
        return fail("blocks that cross rows do not cross the backend interface yet");
    const auto* packing = packingOf(traits);
    format.bits = packing->bits;
    format.packing = packing->packing;
    format.packAxis = packing->bits < 8 ? 1 : -1;
    format.scaleDtype = grid.kind == ScaleKind::None ? "none" : "f32";
    format.channelAxis = keptAxis(grid);
    if (grid.kind == ScaleKind::Block) {
        format.blockAxis = 1;
        format.block = spec.blockSize();
        if (traits.padsLastBlock) format.rowMultiple = format.block;
    }
    const Run& run = plan.run();
    if (packing->meaning == Meaning::Table)
        format.codebook.assign(run.levels, run.levels + run.levelCount);
    else if (packing->meaning == Meaning::Biased)
        format.codeBias = codeSetOf(spec).valueOffset;
    return format;
}

Result<std::shared_ptr<const BenchWeights>> makeWeights(const QuantSpec& spec, std::int64_t rows, std::int64_t columns,
                                                        std::shared_ptr<const std::vector<float>> values,
                                                        const Job& job, bool outputLast) {
    const std::vector<std::int64_t> dims = {rows, columns};
    TensorInfo info;
    info.name = "W";
    info.shape = dims;
    info.outputLast = outputLast;
    info.elements = values->size();
    info.bytes = 4 * values->size();
    const TensorView view{&info, std::as_bytes(std::span(*values)), nullptr};
    const SharedPlan plan = composedPlan(forTensor(spec, info));
    auto quantized = quantizeSolved(view, plan, {}, job);
    if (!quantized) return tl::unexpected(quantized.error());

    auto weights = std::make_shared<BenchWeights>();
    weights->original = std::move(values);
    weights->quantized = std::move(*quantized);
    const auto& grid = weights->quantized.grid;
    auto format = weightFormat(*plan, grid);
    if (!format) return tl::unexpected(format.error());
    weights->format = std::move(*format);
    if (grid.kind == ScaleKind::Block) {
        weights->block = spec.blockSize();
        weights->blockStep = 1;
        weights->rowStep = std::size_t((columns + weights->block - 1) / weights->block);
    } else if (const int kept = keptAxis(grid); kept >= 0) {
        weights->rowStep = kept == 0;
        weights->blockStep = kept == 1;
    }
    const Run& run = plan->run();
    const auto* packing = packingOf(spec.traits());
    if (spec.traits().kind != FormatKind::Identity) weights->levels.assign(run.levels, run.levels + run.levelCount);
    if (auto done = weights->levels.empty() ? addFloats(*weights, dims) : addCodes(*weights, *packing); !done)
        return tl::unexpected(done.error());
    return weights;
}

} // namespace qs
