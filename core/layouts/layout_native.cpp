// SPDX-License-Identifier: GPL-3.0-or-later
// Codes in as few bits as they need (NAME.codes), scales in their type (NAME.scale), zero points as I8 (NAME.zero),
// biases in the type of the scales (NAME.bias), what the scales were multiplied by (NAME.tensor_scale), for every format that has codes.
#include "core/layouts/layouts.h"

#include "core/base/parallel.h"
#include "core/base/text.h"
#include "core/layouts/produce.h"
#include "core/layouts/stored.h"
#include "core/quant/codebook/user_formats.h"
#include "core/quant/encode/native_packing.h"
#include "core/quant/spec/code_set.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <fmt/format.h>

namespace qs {
namespace {

constexpr std::uint64_t kSlabBytes = std::uint64_t(8) << 20;

Result<void> accepts(const QuantSpec& spec, std::span<const std::int64_t> shape) {
    if (spec.traits().kind == FormatKind::Identity)
        return fail(fmt::format("the native layout holds codes, and {} has none: use layout plain", spec.format));
    if (auto grid = scaleGrid(spec, shape); !grid) return tl::unexpected(grid.error());
    return {};
}

/// Some MiB at a time. Ranges of one row may meet within a byte, so that neighbours add to it; what a slab begins of the
/// byte where the next one goes on is carried over.
Result<void> produceCodes(Source& source, const TensorToWrite::Sink& sink) {
    const auto prepared = source.prepared();
    if (!prepared) return tl::unexpected(prepared.error());
    const TensorPass& pass = **prepared;
    const NativePacking packing(source.spec);
    const auto features = std::uint64_t(source.grid.features), rowBytes = packing.rowBytes(features);
    const auto byteOf = [&](std::uint64_t element) {
        return element / features * rowBytes + (element % features ? packing.byteOf(element % features) : 0);
    };
    auto encoders = pass.encoders(source.spec, source.view.info->dtype);
    SlabParams params(source);
    std::vector<std::uint8_t> packed;
    std::uint8_t carried = 0;
    for (std::uint64_t from = 0, to = 0; from < pass.units(); from = to) {
        const std::uint64_t begin = byteOf(pass.unitBegin(from));
        do ++to;
        while (to < pass.units() && byteOf(pass.unitBegin(to)) - begin < kSlabBytes);
        const std::uint64_t whole = byteOf(pass.unitBegin(to)) - begin;
        packed.assign(whole + 2, 0);
        packed[0] = carried;
        params.begin(from, to);
        const auto done = pass.run(from, to, source.job, [&](const PassRange& range) {
            thread_local std::vector<std::uint8_t> codes, bytes;
            codes.resize(range.n);
            RunOut out;
            out.codes = codes.data();
            encoders[range.worker](params.measured(range, encoders[range.worker]).run, out);
            for (std::size_t at = 0, n = 0; at < range.n; at += n) {
                const std::uint64_t row = (range.begin + at) / features, column = (range.begin + at) % features;
                n = std::min<std::size_t>(range.n - at, features - column);
                const std::uint64_t first = packing.byteOf(column), last = packing.byteOf(column + n - 1);
                bytes.assign(last - first + 2, 0);
                packing.add(codes.data() + at, n, column, bytes.data());
                std::uint8_t* into = packed.data() + (row * rowBytes + first - begin);
                const std::uint64_t there = std::min<std::uint64_t>(bytes.size(), rowBytes - first);
                // The first and the last two are perhaps a neighbour's bytes too.
                const std::uint64_t own = bytes.size() < 3 ? 1 : std::min<std::uint64_t>(there, bytes.size() - 2);
                if (own > 1) std::memcpy(into + 1, bytes.data() + 1, own - 1);
                for (std::uint64_t i = 0; i < there; i = i == 0 ? std::max<std::uint64_t>(1, own) : i + 1)
                    if (bytes[i] != 0) // no bit of ours is there: it may be the neighbour's alone
                        std::atomic_ref(into[i]).fetch_add(bytes[i], std::memory_order_relaxed);
            }
        });
        if (!done) return done;
        carried = packed[whole];
        if (whole > 0)
            if (auto written = sink(std::as_bytes(std::span(packed).first(whole))); !written) return written;
        if (auto taken = params.handOn(); !taken) return taken;
    }
    return {};
}

/// The blocks of a format that has its scales in them.
Result<void> produceBlocks(Source& source, const TensorToWrite::Sink& sink) {
    const BlockCodec& codec = *codecOf(source.spec);
    return streamSlabs(
        source, sink, [&](std::uint64_t element) { return blockBytes(codec, element); },
        [](const PassRange& range, RunEncoder& encode, std::byte* at) {
            encode.blocks().pack(range.run, reinterpret_cast<std::uint8_t*>(at));
        });
}

Result<void> produceLevels(Source& source, const TensorToWrite::Sink& sink) {
    if (isUserFormat(source.spec)) return sinkFloats(sink, DType::F32, storedLevels(source.spec));
    const auto pass = source.prepared();
    if (!pass) return tl::unexpected(pass.error());
    return sinkFloats(sink, DType::F32, (*pass)->learned()->levels);
}

/// What 8-bit scales are scaled by and moved by.
void addNested(std::vector<TensorToWrite>& tensors, const std::shared_ptr<Source>& source) {
    const auto blocks = (source->grid.scales + std::int64_t(kNestedBlock) - 1) / std::int64_t(kNestedBlock);
    const auto nested = [source](const TensorToWrite::Sink& sink, bool offset) -> Result<void> {
        const auto pass = source->prepared();
        if (!pass) return tl::unexpected(pass.error());
        const NestedGrid grid = (*pass)->nested() ? *(*pass)->nested() : NestedGrid{};
        return sinkFloats(sink, DType::F32, offset ? std::vector{grid.offset} : grid.absMax);
    };
    const std::string& name = source->view.info->name;
    tensors.push_back({name + ".nested_scale", DType::F32, {blocks}, [nested](const TensorToWrite::Sink& sink) {
                           return nested(sink, false);
                       }});
    tensors.push_back({name + ".nested_offset", DType::F32, {1}, [nested](const TensorToWrite::Sink& sink) {
                           return nested(sink, true);
                       }});
}

Result<std::vector<TensorToWrite>> writeFrom(const std::shared_ptr<Source>& source) {
    const TensorView& view = source->view;
    const QuantSpec& spec = source->spec;
    if (auto ok = accepts(spec, view.info->shape); !ok)
        return fail(fmt::format("tensor '{}': {}", escapeForPeople(view.info->name), ok.error().message));
    std::vector<TensorToWrite> tensors{{view.info->name + ".codes", DType::U8, nativeShape(spec, view.info->shape),
                                        [source](const TensorToWrite::Sink& sink) {
                                            return codecOf(source->spec) ? produceBlocks(*source, sink)
                                                                         : produceCodes(*source, sink);
                                        }}};
    if (source->grid.kind != ScaleKind::None && !codecOf(spec)) tensors.push_back(scaleTensor(source, ".scale"));
    if (hasZeroPoints(spec)) tensors.push_back(zeroTensor(source, ".zero"));
    if (hasBiases(spec)) tensors.push_back(biasTensor(source, ".bias"));
    if (isDoubleQuantized(spec)) addNested(tensors, source);
    if (source->grid.kind != ScaleKind::None && hasTensorScale(spec) && !codecOf(spec))
        tensors.push_back(tensorScaleTensor(source, ".tensor_scale"));
    if (isLearned(spec) || isUserFormat(spec))
        tensors.push_back({view.info->name + ".codebook",
                           DType::F32,
                           {std::int64_t(1) << spec.codeBits()},
                           [source](const TensorToWrite::Sink& sink) { return produceLevels(*source, sink); }});
    if (source->solved && !source->solved->columnScales.empty())
        tensors.push_back({view.info->name + ".column_scale",
                           DType::F32,
                           {source->grid.features},
                           [source](const TensorToWrite::Sink& sink) {
                               return sinkFloats(sink, DType::F32, source->solved->columnScales);
                           }});
    return tensors;
}

Result<std::vector<TensorToWrite>> write(const TensorView& view, const QuantSpec& spec, const Job& job) {
    const auto source = makeSource(view, spec, job);
    if (!source) return tl::unexpected(source.error());
    return writeFrom(*source);
}

} // namespace

std::vector<std::int64_t> nativeShape(const QuantSpec& spec, std::span<const std::int64_t> shape) {
    std::vector<std::int64_t> out = blockedShape(spec, shape);
    if (out.empty()) out.push_back(1);
    if (const BlockCodec* codec = codecOf(spec)) {
        out.back() = std::int64_t(blockBytes(*codec, std::uint64_t(out.back())));
        return out;
    }
    out.back() = std::int64_t(NativePacking(spec).rowBytes(std::uint64_t(out.back())));
    return out;
}

Layout nativeLayout() {
    return {
        "native",
        "Native",
        "NAME.codes, NAME.scale and, where there are, NAME.zero, NAME.bias, NAME.tensor_scale, NAME.nested_scale, "
        "NAME.nested_offset and NAME.column_scale: each row packed in as few bits as its codes need, ternary five to "
        "a byte; ggml's formats as their blocks, NAME.codes alone.",
        "every spec with codes",
        accepts,
        write,
        writeFrom,
        true};
}

} // namespace qs
