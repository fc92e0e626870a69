// SPDX-License-Identifier: GPL-3.0-or-later
// The fields of eformer's arrays: ArrayNF4 (packed, absmax), Array8B (weight, scale), Array1B (weight).
#include "core/layouts/layouts.h"

#include "core/base/text.h"
#include "core/layouts/fields.h"
#include "core/layouts/stored.h"
#include "core/quant/encode/nibbles.h"
#include "core/quant/encode/unit_of.h"
#include "core/quant/spec/code_set.h"
#include "core/quant/spec/dialect.h"

#include <algorithm>
#include <fmt/format.h>

namespace qs {
namespace {

constexpr std::uint64_t kSlabBytes = std::uint64_t(4) << 20; ///< of four values each

/// Packs the codes of one group, filling up the block with the code of 0.
void packBlock(const std::uint8_t* codes, std::size_t n, std::size_t block, std::uint8_t zero, std::byte* at) {
    if (n == block) return packNibbles<FirstNibble::High>(codes, n, reinterpret_cast<std::uint8_t*>(at));
    for (std::size_t i = 0; i < block; i += 2) {
        const std::uint8_t high = i < n ? codes[i] : zero, low = i + 1 < n ? codes[i + 1] : zero;
        at[i / 2] = std::byte(high << 4 | low);
    }
}

SlabCoder nf4Coder(const MeasuredTensor& tensor) {
    const QuantSpec& spec = tensor.spec();
    const auto features = std::uint64_t(std::max<std::int64_t>(1, tensor.grid().features));
    const auto group = std::uint64_t(tensor.grid().group), block = std::uint64_t(spec.blockSize());
    const std::uint64_t perRow = (features + group - 1) / group;
    SlabCoder coder{[=](std::uint64_t element) {
        return (element / features * perRow + element % features / group) * (block / 2);
    }};
    // Unclipped f32 arithmetic over whole blocks of finite values is what the packing kernel knows.
    if (group == block && tensor.plan()->isPlain() && !spec.sparsity && features % block == 0 &&
        tensor.plan()->run().clip == 1 && spec.effectiveNan() == NanPolicy::Refuse &&
        !tensor.plan()->inputType(tensor.info().dtype) && !tensor.solved()) {
        coder.encodeAndScale = [=](const PassRange& range, RunEncoder&, GroupParams* scales, std::byte* at) {
            thread_local std::vector<float> absmax;
            absmax.resize(range.n / block);
            bestKernels().quantizeNf4Packed(range.x, range.n, block, reinterpret_cast<std::uint8_t*>(at), absmax.data(),
                                            nullptr);
            for (std::size_t i = 0; scales && i < absmax.size(); ++i) scales[i].scale = absmax[i];
        };
        return coder;
    }
    coder.encode = [=, zero = std::uint8_t(spec.traits().zeroCode)](const PassRange& range, RunEncoder& encode,
                                                                    std::byte* at) {
        const auto codes = codesOf(range, encode);
        for (std::size_t begin = 0; begin < range.n; begin += group, at += block / 2)
            packBlock(codes.data() + begin, std::min<std::size_t>(group, range.n - begin), block, zero, at);
    };
    return coder;
}

/// Codes of elements [begin, end) go to bits 2 * quarter of `packed`. Units may begin before them and end behind them;
/// no two units have an element in common.
Result<void> packQuarter(MeasuredTensor& tensor, const TensorPass& pass, std::vector<RunEncoder>& encoders,
                         std::uint64_t begin, std::uint64_t end, unsigned quarter, std::vector<std::uint8_t>& packed) {
    const unsigned step = tensor.spec().traits().levels.size() == 2 ? 2 : 1; // binary: codes 0, 1 are q = -1, +1
    return pass.run(unitOf(pass, begin), unitOf(pass, end - 1) + 1, tensor.job(), [&](const PassRange& range) {
        const auto codes = codesOf(range, encoders[range.worker]);
        const std::uint64_t from = std::max(range.begin, begin), to = std::min(range.begin + range.n, end);
        for (std::uint64_t element = from; element < to; ++element) {
            std::uint8_t& at = packed[std::size_t(element - begin)];
            at = std::uint8_t(at | unsigned(codes[std::size_t(element - range.begin)]) * step << (2 * quarter));
        }
    });
}

// Byte i holds elements i, i + E/4, i + E/2 and i + 3E/4 at bits 0, 2, 4 and 6, each as q + 1: a slab of bytes takes
// the units of four places.
Result<void> writeTwoBit(MeasuredTensor& tensor, SlabScales&, const PutBytes& put) {
    const auto pass = tensor.pass();
    if (!pass) return tl::unexpected(pass.error());
    const std::uint64_t quarter = tensor.info().elements / 4;
    auto encoders = tensor.encoders();
    std::vector<std::uint8_t> packed;
    for (std::uint64_t first = 0, last = 0; first < quarter; first = last) {
        last = std::min(quarter, first + kSlabBytes);
        packed.assign(std::size_t(last - first), 0);
        for (unsigned q = 0; q < 4; ++q)
            if (auto done = packQuarter(tensor, **pass, encoders, q * quarter + first, q * quarter + last, q, packed);
                !done)
                return done;
        if (auto written = put(first, std::as_bytes(std::span(packed))); !written) return written;
    }
    return {};
}

} // namespace

bool hasEformerFields(const FormatTraits& format) {
    switch (format.kind) {
    case FormatKind::Codebook: return format.bits == 4 && format.padsLastBlock;
    case FormatKind::Integer: return format.bits == 8;
    case FormatKind::Sign: return true;
    case FormatKind::Identity:
    case FormatKind::Float:
    case FormatKind::Superblock: break;
    }
    return false;
}

namespace {

Result<void> accepts(const QuantSpec& spec, std::span<const std::int64_t> shape) {
    const FormatKind kind = spec.traits().kind;
    if (!hasEformerFields(spec.traits()))
        return fail(fmt::format("the eformer layout does not hold {}: use layout {}", spec.format,
                                (kind == FormatKind::Identity ? plainLayout() : nativeLayout()).id));
    if (auto grid = scaleGrid(spec, shape); !grid) return tl::unexpected(grid.error());
    if (hasZeroPoints(spec) || hasBiases(spec) || spec.tiles || !holdsZero(spec) ||
        scaleTypeOf(spec) != ScaleType::F32 || blocksCrossRows(spec) || spec.isFlat())
        return fail(fmt::format(
            "the eformer layout holds f32 scales along one axis, no zero points, no biases and no blocks across rows, "
            "not {}: use layout native",
            specText(spec)));
    if (kind == FormatKind::Sign && (shape.empty() || shape.front() % 4 != 0))
        return fail(fmt::format(
            "the eformer layout packs {} four rows to a byte, and the first dimension of {} is not a multiple "
            "of 4: use layout plain",
            spec.format, shapeText(shape)));
    return {};
}

Result<OutputFields> fields(MeasuredTensor& tensor) {
    const QuantSpec& spec = tensor.spec();
    const std::string& name = tensor.info().name;
    std::vector<std::int64_t> shape = tensor.info().shape;
    switch (spec.traits().kind) {
    case FormatKind::Codebook:
        shape = tensor.grid().scaleShape;
        shape.push_back(spec.blockSize() / 2);
        return OutputFields{{codeField(name + ".packed", DType::U8, std::move(shape), nf4Coder(tensor)),
                             scaleField(tensor, name + ".absmax")}};
    case FormatKind::Integer:
        return OutputFields{{codeField(name + ".weight", DType::I8, std::move(shape), byteCoder(spec)),
                             scaleField(tensor, name + ".scale")}};
    default: break;
    }
    shape.front() /= 4;
    OutputFields out{{OutputField{name + ".weight", DType::U8, std::move(shape), writeTwoBit}}};
    if (tensor.grid().kind != ScaleKind::None) out.list.push_back(scaleField(tensor, name + ".scale"));
    return out;
}

} // namespace

Layout eformerLayout() {
    return {
        .id = "eformer",
        .title = "eformer",
        .summary =
            "Fields of eformer's arrays: NAME.packed and NAME.absmax (nf4), NAME.weight and NAME.scale (int8, 1-bit).",
        .takes = "nf4, int8, binary, ternary and their scaled members",
        .accepts = accepts,
        .fields = fields,
        .ownFields = OwnFields::Eformer};
}

} // namespace qs
