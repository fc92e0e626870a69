// SPDX-License-Identifier: GPL-3.0-or-later
// Codes in as few bits as they need (NAME.codes), scales in their type (NAME.scale), zero points as I8 (NAME.zero),
// biases in the type of the scales (NAME.bias), what the scales were multiplied by (NAME.tensor_scale), for every
// format that has codes.
#include "core/layouts/layouts.h"

#include "core/layouts/fields.h"
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

Result<void> accepts(const QuantSpec& spec, std::span<const std::int64_t> shape) {
    if (spec.traits().kind == FormatKind::Identity)
        return fail(fmt::format("the native layout holds codes, and {} has none: use layout plain", spec.format));
    if (auto grid = scaleGrid(spec, shape); !grid) return tl::unexpected(grid.error());
    return {};
}

/// Ranges of one row may meet within a byte, so that neighbours add to it.
SlabCoder packedCoder(const MeasuredTensor& tensor) {
    const NativePacking packing(tensor.spec());
    const auto features = std::uint64_t(tensor.grid().features), rowBytes = packing.rowBytes(features);
    const auto place = [=](std::uint64_t element) {
        return element / features * rowBytes + (element % features ? packing.byteOf(element % features) : 0);
    };
    SlabCoder coder{place, {}, {}, true};
    coder.encode = [=](const PassRange& range, RunEncoder& encode, std::byte* at) {
        thread_local std::vector<std::uint8_t> bytes;
        const auto codes = codesOf(range, encode);
        auto* to = reinterpret_cast<std::uint8_t*>(at);
        const std::uint64_t begin = place(range.begin);
        for (std::size_t done = 0, n = 0; done < range.n; done += n) {
            const std::uint64_t row = (range.begin + done) / features, column = (range.begin + done) % features;
            n = std::min<std::size_t>(range.n - done, features - column);
            const std::uint64_t first = packing.byteOf(column), last = packing.byteOf(column + n - 1);
            bytes.assign(last - first + 2, 0);
            packing.add(codes.data() + done, n, column, bytes.data());
            std::uint8_t* into = to + (row * rowBytes + first - begin);
            const std::uint64_t there = std::min<std::uint64_t>(bytes.size(), rowBytes - first);
            // The first and the last two are perhaps a neighbour's bytes too.
            const std::uint64_t own = bytes.size() < 3 ? 1 : std::min<std::uint64_t>(there, bytes.size() - 2);
            if (own > 1) std::memcpy(into + 1, bytes.data() + 1, own - 1);
            for (std::uint64_t i = 0; i < there; i = i == 0 ? std::max<std::uint64_t>(1, own) : i + 1)
                if (bytes[i] != 0) // no bit of ours is there: it may be the neighbour's alone
                    std::atomic_ref(into[i]).fetch_add(bytes[i], std::memory_order_relaxed);
        }
    };
    return coder;
}

OutputField levelsField(const MeasuredTensor& tensor) {
    std::string name = tensor.info().name + ".codebook";
    if (isUserFormat(tensor.spec())) return constantFloats(std::move(name), storedLevels(tensor.spec()));
    return measuredField(std::move(name), std::int64_t(1) << tensor.spec().codeBits(),
                         [](const TensorPass& pass) { return pass.learned()->levels; });
}

Result<OutputFields> fields(MeasuredTensor& tensor) {
    const QuantSpec& spec = tensor.spec();
    const std::string& name = tensor.info().name;
    const BlockCodec* codec = codecOf(spec);
    const bool scaled = tensor.grid().kind != ScaleKind::None && !codec;
    OutputFields out{{codeField(name + ".codes", DType::U8, nativeShape(spec, tensor.info().shape),
                                codec ? blockCoder(*codec) : packedCoder(tensor))}};
    const auto add = [&](OutputField field) { out.list.push_back(std::move(field)); };
    if (scaled) add(scaleField(tensor, name + ".scale"));
    if (hasZeroPoints(spec)) add(zeroField(tensor, name + ".zero"));
    if (hasBiases(spec)) add(biasField(tensor, name + ".bias"));
    if (isDoubleQuantized(spec)) {
        add(nestedScaleField(tensor, name + ".nested_scale"));
        add(measuredField(name + ".nested_offset", 1, [](const TensorPass& pass) {
            return std::vector{pass.nested() ? pass.nested()->offset : NestedGrid{}.offset};
        }));
    }
    if (scaled && hasTensorScale(spec)) add(tensorScaleField(name + ".tensor_scale"));
    if (isLearned(spec) || isUserFormat(spec)) add(levelsField(tensor));
    if (tensor.solved() && !tensor.solved()->columnScales.empty())
        add(constantFloats(name + ".column_scale", tensor.solved()->columnScales));
    return out;
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
    return {.id = "native",
            .title = "Native",
            .summary =
                "NAME.codes, NAME.scale and, where there are, NAME.zero, NAME.bias, NAME.tensor_scale, "
                "NAME.nested_scale, NAME.nested_offset and NAME.column_scale: each row packed in as few bits as its "
                "codes need, ternary five to a byte; ggml's formats as their blocks, NAME.codes alone.",
            .takes = "every spec with codes",
            .accepts = accepts,
            .fields = fields,
            .columnScales = true,
            .ownFields = OwnFields::Native};
}

} // namespace qs
