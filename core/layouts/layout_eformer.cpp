// SPDX-License-Identifier: GPL-3.0-or-later
// The fields of eformer's arrays: ArrayNF4 (packed, absmax), Array8B (weight, scale), Array1B (weight).
#include "core/layouts/layouts.h"

#include "core/base/text.h"
#include "core/layouts/produce.h"
#include "core/layouts/stored.h"
#include "core/quant/encode/nibbles.h"
#include "core/quant/encode/unit_of.h"
#include "core/quant/spec/code_set.h"
#include "core/quant/spec/dialect.h"

#include <algorithm>
#include <fmt/format.h>

namespace qs {
namespace {

using Sink = TensorToWrite::Sink;
using SharedSource = std::shared_ptr<Source>;
constexpr std::uint64_t kSlabBytes = std::uint64_t(4) << 20; ///< of four values each

/// Packs the codes of one group, filling up the block with the code of 0.
void packBlock(const std::uint8_t* codes, std::size_t n, std::size_t block, std::uint8_t zero, std::byte* at) {
    if (n == block) return packNibbles<FirstNibble::High>(codes, n, reinterpret_cast<std::uint8_t*>(at));
    for (std::size_t i = 0; i < block; i += 2) {
        const std::uint8_t high = i < n ? codes[i] : zero, low = i + 1 < n ? codes[i + 1] : zero;
        at[i / 2] = std::byte(high << 4 | low);
    }
}

Result<void> produceNf4(Source& source, const Sink& sink) {
    const auto features = std::uint64_t(std::max<std::int64_t>(1, source.grid.features));
    const auto group = std::uint64_t(source.grid.group), block = std::uint64_t(source.spec.blockSize());
    const std::uint64_t perRow = (features + group - 1) / group;
    const auto place = [=](std::uint64_t element) {
        return (element / features * perRow + element % features / group) * (block / 2);
    };
    // Unclipped f32 arithmetic over whole blocks of finite values is what the packing kernel knows.
    const bool packedKernel = group == block && EncodePlan(source.spec).isPlain() && !source.spec.sparsity &&
                              features % block == 0 && runOf(source.spec).clip == 1 &&
                              source.spec.effectiveNan() == NanPolicy::Refuse &&
                              !inputTypeOf(source.spec, source.view.info->dtype) && !source.solved;
    const auto zero = std::uint8_t(source.spec.traits().zeroCode);
    if (packedKernel)
        return streamSlabs(
            source, sink, place, [=](const PassRange& range, RunEncoder&, GroupParams* params, std::byte* at) {
                thread_local std::vector<float> absmax;
                absmax.resize(range.n / block);
                bestKernels().quantizeNf4Packed(range.x, range.n, block, reinterpret_cast<std::uint8_t*>(at),
                                                absmax.data(), nullptr);
                for (std::size_t i = 0; params && i < absmax.size(); ++i) params[i].scale = absmax[i];
            });
    return streamSlabs(source, sink, place, [=](const PassRange& range, RunEncoder& encode, std::byte* at) {
        thread_local std::vector<std::uint8_t> codes;
        codes.resize(range.n);
        RunOut out;
        out.codes = codes.data();
        encode(range.run, out);
        for (std::size_t begin = 0; begin < range.n; begin += group, at += block / 2)
            packBlock(codes.data() + begin, std::min<std::size_t>(group, range.n - begin), block, zero, at);
    });
}

Result<void> produceInt8(Source& source, const Sink& sink) {
    const int offset = codeSetOf(source.spec).valueOffset;
    return streamSlabs(
        source, sink, [](std::uint64_t element) { return element; },
        [=](const PassRange& range, RunEncoder& encode, std::byte* at) {
            RunOut out;
            out.codes = reinterpret_cast<std::uint8_t*>(at);
            encode(range.run, out);
            moveCodes(out.codes, range.n, offset);
        });
}

// Byte i holds elements i, i + E/4, i + E/2 and i + 3E/4 at bits 0, 2, 4 and 6, each as q + 1: a slab of bytes takes the
// units of four places.
Result<void> produceTwoBit(Source& source, const Sink& sink) {
    const auto prepared = source.prepared();
    if (!prepared) return tl::unexpected(prepared.error());
    const TensorPass& pass = **prepared;
    const std::uint64_t quarter = source.view.info->elements / 4;
    const unsigned step = source.spec.traits().levels.size() == 2 ? 2 : 1; // binary: codes 0, 1 are q = -1, +1
    auto encoders = pass.encoders(source.spec, source.view.info->dtype);
    std::vector<std::uint8_t> packed;
    for (std::uint64_t first = 0, last = 0; first < quarter; first = last) {
        last = std::min(quarter, first + kSlabBytes);
        packed.assign(std::size_t(last - first), 0);
        for (std::uint64_t q = 0; q < 4; ++q) {
            const std::uint64_t begin = q * quarter + first, end = q * quarter + last;
            const auto done =
                pass.run(unitOf(pass, begin), unitOf(pass, end - 1) + 1, source.job, [&](const PassRange& range) {
                    thread_local std::vector<std::uint8_t> codes;
                    codes.resize(range.n);
                    RunOut out;
                    out.codes = codes.data();
                    encoders[range.worker](range.run, out);
                    // Units may begin before the slab and end behind it; no two have an element in common.
                    const std::uint64_t from = std::max(range.begin, begin), to = std::min(range.begin + range.n, end);
                    for (std::uint64_t element = from; element < to; ++element) {
                        std::uint8_t& at = packed[std::size_t(element - begin)];
                        at = std::uint8_t(at | unsigned(codes[std::size_t(element - range.begin)]) * step << (2 * q));
                    }
                });
            if (!done) return done;
        }
        if (auto written = sink(std::as_bytes(std::span(packed))); !written) return written;
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
                                kind == FormatKind::Identity ? "plain" : "native"));
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

Result<std::vector<TensorToWrite>> writeFrom(const SharedSource& source) {
    const TensorView& view = source->view;
    const QuantSpec& spec = source->spec;
    if (auto ok = accepts(spec, view.info->shape); !ok)
        return fail(fmt::format("tensor '{}': {}", escapeForPeople(view.info->name), ok.error().message));
    const auto producing = [&](const char* field, DType dtype, std::vector<std::int64_t> shape,
                               Result<void> (*produce)(Source&, const Sink&)) {
        return TensorToWrite{view.info->name + field, dtype, std::move(shape),
                             [source, produce](const Sink& sink) { return produce(*source, sink); }};
    };
    switch (spec.traits().kind) {
    case FormatKind::Codebook: {
        std::vector<std::int64_t> shape = source->grid.scaleShape;
        shape.push_back(spec.blockSize() / 2);
        return std::vector{producing(".packed", DType::U8, std::move(shape), produceNf4),
                           scaleTensor(source, ".absmax")};
    }
    case FormatKind::Integer:
        return std::vector{producing(".weight", DType::I8, view.info->shape, produceInt8),
                           scaleTensor(source, ".scale")};
    default: break;
    }
    std::vector<std::int64_t> shape = view.info->shape;
    shape.front() /= 4;
    std::vector<TensorToWrite> tensors{producing(".weight", DType::U8, std::move(shape), produceTwoBit)};
    if (source->grid.kind != ScaleKind::None) tensors.push_back(scaleTensor(source, ".scale"));
    return tensors;
}

Result<std::vector<TensorToWrite>> write(const TensorView& view, const QuantSpec& spec, const Job& job) {
    const auto source = makeSource(view, spec, job);
    if (!source) return tl::unexpected(source.error());
    return writeFrom(*source);
}

} // namespace

Layout eformerLayout() {
    return {"eformer",
            "eformer",
            "The seeds' fields: NAME.packed and NAME.absmax (nf4), NAME.weight and NAME.scale (int8, 1-bit).",
            "nf4, int8, binary, ternary and their scaled members",
            accepts,
            write,
            writeFrom};
}

} // namespace qs
