// SPDX-License-Identifier: GPL-3.0-or-later
// From the fields of the eformer and native layouts back to values, chunk by chunk.
#include "core/base/text.h"
#include "core/quant/block_encoder.h"
#include "core/quant/code_set.h"
#include "core/quant/native_packing.h"
#include "core/quant/produce.h"
#include "core/quant/stored.h"

#include <algorithm>
#include <fmt/format.h>

namespace qs {
namespace {

constexpr std::uint64_t kDecodeChunk = 65536;

struct Fields {
    StoredTensor stored;
    ScaleGrid grid;
    TensorView codes, scales, zeros, tensorScale, nestedScale, nestedOffset;
    std::vector<float> scaleValues, zeroValues;
    std::vector<float> columnScales;        ///< empty: none
    std::vector<float> learned;             ///< the codebook of the tensor; empty: the format's levels
    mutable std::vector<std::byte> scratch; ///< of files that are read, not mapped; one thread decodes

    /// Codes become stored integers as floats, or levels; n elements from `begin`, one row at most for nf4.
    void load(std::uint64_t begin, std::size_t n, std::span<const float> levels, float* out) const;
    Result<void> loadScales();
};

/// The field of a stored tensor, with the dtype and shape that its spec asks for.
Result<TensorView> field(const Model& model, const StoredTensor& stored, const std::string& name,
                         std::span<const DType> dtypes, const std::vector<std::int64_t>& shape) {
    const TensorInfo* found = model.find(name);
    if (!found)
        return fail(fmt::format("tensor '{}' is missing, which the metadata of '{}' promises",
                                escapeForPeople(name, 80), escapeForPeople(stored.name, 80)));
    if (std::find(dtypes.begin(), dtypes.end(), found->dtype) == dtypes.end() || found->packed || found->shape != shape)
        return fail(fmt::format("tensor '{}' is {} {}, but {} of {} needs {} {}", escapeForPeople(name, 80),
                                found->typeId(), shapeText(found->shape), specText(stored.spec),
                                shapeText(stored.shape), info(dtypes.front()).id, shapeText(shape)));
    return model.view(*found);
}

void Fields::load(std::uint64_t begin, std::size_t n, std::span<const float> levels, float* out) const {
    const auto bytesOf = [&](std::uint64_t from, std::uint64_t count) {
        return reinterpret_cast<const std::uint8_t*>(codes.read(from, count, scratch).data());
    };
    if (const BlockCodec* codec = codecOf(stored.spec)) { // chunks are whole blocks
        const std::uint64_t from = blockBytes(*codec, begin), count = blockBytes(*codec, n);
        codec->decode(bytesOf(from, count), n / codec->elements, out);
        return;
    }
    if (stored.native) {
        const NativePacking packing(stored.spec);
        const auto features = std::uint64_t(grid.features), rowBytes = packing.rowBytes(features);
        for (std::size_t done = 0, part = 0; done < n; done += part) {
            const std::uint64_t row = (begin + done) / features, column = (begin + done) % features;
            part = std::min<std::size_t>(n - done, features - column);
            const std::uint64_t first = packing.byteOf(column);
            const std::uint64_t end = column + part == features ? rowBytes : packing.byteOf(column + part) + 1;
            packing.values(bytesOf(row * rowBytes + first, end - first), part, column, levels, out + done);
        }
        return;
    }
    switch (stored.spec.traits().kind) {
    case FormatKind::Codebook: {
        const auto features = std::uint64_t(grid.features), padded = std::uint64_t(grid.paddedFeatures);
        const std::uint64_t from = begin / features * padded + begin % features;
        const auto* bytes = bytesOf(from / 2, (from + n + 1) / 2 - from / 2);
        for (std::size_t i = 0; i < n; ++i) {
            const unsigned byte = bytes[(from + i) / 2 - from / 2];
            out[i] = levels[(from + i) % 2 ? byte & 15 : byte >> 4];
        }
        return;
    }
    case FormatKind::Integer: {
        const auto* bytes = bytesOf(begin, n);
        for (std::size_t i = 0; i < n; ++i) out[i] = float(static_cast<std::int8_t>(bytes[i]));
        return;
    }
    default: {
        const std::uint64_t quarter = stored.elements / 4;
        for (std::size_t done = 0; done < n;) { // up to the end of a quarter, where the next bits of the bytes begin
            const std::uint64_t at = (begin + done) % quarter, part = std::min<std::uint64_t>(n - done, quarter - at);
            const auto shift = 2 * ((begin + done) / quarter);
            const auto* bytes = bytesOf(at, part);
            for (std::size_t i = 0; i < part; ++i) out[done + i] = float(int(bytes[i] >> shift & 3) - 1);
            done += part;
        }
    }
    }
}

Result<void> Fields::loadScales() {
    if (!scaleValues.empty() || !scales.info) return {};
    const DType type = scales.info->dtype;
    scaleValues.resize(scales.info->elements);
    if (nestedScale.info) {
        const auto bytes = scales.read(0, scaleValues.size(), scratch);
        NestedScales nested;
        for (const std::byte byte : bytes) nested.codes.push_back(std::uint8_t(byte));
        nested.absMax.resize(nestedScale.info->elements);
        loadF32(nestedScale, 0, nested.absMax.size(), nested.absMax.data());
        loadF32(nestedOffset, 0, 1, &nested.offset);
        scaleValues = unnestScales(nested);
    } else if (info(type).bits > 8) {
        loadF32(scales, 0, scaleValues.size(), scaleValues.data());
    } else {
        float unit = 1;
        if (tensorScale.info) loadF32(tensorScale, 0, 1, &unit);
        const auto bytes = scales.read(0, scaleValues.size(), scratch);
        std::transform(bytes.begin(), bytes.end(), scaleValues.begin(),
                       [&](std::byte byte) { return scaleOfByte(type, std::uint8_t(byte)) / unit; });
    }
    if (!zeros.info) return {};
    zeroValues.resize(scaleValues.size());
    if (zeros.info->dtype != DType::I8) {
        loadF32(zeros, 0, zeroValues.size(), zeroValues.data());
        return {};
    }
    const auto bytes = zeros.read(0, zeroValues.size(), scratch);
    std::transform(bytes.begin(), bytes.end(), zeroValues.begin(),
                   [](std::byte byte) { return float(std::int8_t(byte)); });
    return {};
}

Result<void> produce(Fields& fields, Decode decode, const TensorToWrite::Sink& sink) {
    const FormatTraits& traits = fields.stored.spec.traits();
    const auto known =
        decode == Decode::Poly && !traits.polyLevels.empty() ? traits.polyLevels : codeSetOf(fields.stored.spec).levels;
    const std::span<const float> levels = fields.learned.empty() ? known : std::span<const float>(fields.learned);
    if (auto loaded = fields.loadScales(); !loaded) return loaded;
    std::vector<float> values(kDecodeChunk);
    std::vector<std::byte> bytes;
    // nf4 rows are padded: a chunk never crosses one unless rows end with blocks.
    const bool rows = fields.grid.paddedFeatures != fields.grid.features && !fields.stored.native;
    const auto features = std::uint64_t(fields.grid.features);
    for (std::uint64_t begin = 0; begin < fields.stored.elements;) {
        std::uint64_t n = std::min(kDecodeChunk, fields.stored.elements - begin);
        if (rows) n = std::min(n, features - begin % features);
        fields.load(begin, n, levels, values.data());
        if (!fields.scaleValues.empty())
            forEachScaleRun(fields.grid, fields.stored.shape, begin, n, [&](const ScaleRun& run) {
                const float* scale = fields.scaleValues.data() + run.scale;
                for (std::size_t i = 0; !fields.zeroValues.empty() && i < run.count; ++i)
                    values[run.offset + i] -= fields.zeroValues[run.scale + (run.along ? i : 0)];
                for (std::size_t i = 0; i < run.count; ++i) values[run.offset + i] *= scale[run.along ? i : 0];
            });
        applyColumnScales(fields.columnScales, begin, values.data(), n);
        bytes.resize(n * std::size_t(info(fields.stored.dtype).bits) / 8);
        appendAs(fields.stored.dtype, values.data(), n, bytes.data());
        if (auto written = sink(bytes); !written) return written;
        begin += n;
    }
    return {};
}

} // namespace

Result<TensorToWrite> decodeStored(const Model& model, StoredTensor stored, std::optional<Decode> decode) {
    const auto fields = std::make_shared<Fields>();
    auto grid = scaleGrid(stored.spec, stored.shape);
    if (!grid) return fail(fmt::format("tensor '{}': {}", escapeForPeople(stored.name, 80), grid.error().message));
    fields->grid = std::move(*grid);
    const FormatTraits& traits = stored.spec.traits();
    std::vector<std::int64_t> shape = stored.shape;
    DType codesType = DType::U8;
    const bool quarters = traits.kind == FormatKind::Sign;
    const bool held = stored.native ? traits.kind != FormatKind::Identity
                                    : hasEformerFields(traits) && !(quarters && (shape.empty() || shape.front() % 4));
    if (!held)
        return fail(fmt::format("tensor '{}': no layout stores {} of {} in fields", escapeForPeople(stored.name, 80),
                                specText(stored.spec), shapeText(stored.shape)));
    if (stored.native) {
        shape = nativeShape(stored.spec, shape);
    } else if (traits.kind == FormatKind::Codebook) {
        shape = fields->grid.scaleShape;
        shape.push_back(stored.spec.blockSize() / 2);
    } else if (traits.kind == FormatKind::Integer) {
        codesType = DType::I8;
    } else {
        shape.front() /= 4;
    }
    const std::vector<std::string> names = stored.fields();
    auto codes = field(model, stored, names[0], std::array{codesType}, shape);
    if (!codes) return tl::unexpected(codes.error());
    fields->codes = std::move(*codes);
    if (fields->grid.kind != ScaleKind::None && !codecOf(stored.spec)) {
        const DType type = storedScaleType(stored.spec, DType::F32);
        const auto types = type == DType::F32 ? std::vector{DType::F32, DType::F16, DType::BF16} : std::vector{type};
        auto scales = field(model, stored, names[1], types, fields->grid.scaleShape);
        if (!scales) return tl::unexpected(scales.error());
        fields->scales = std::move(*scales);
    }
    if (stored.columnScales) {
        auto columns = field(model, stored, names.back(), std::array{DType::F32}, {fields->grid.features});
        if (!columns) return tl::unexpected(columns.error());
        fields->columnScales.resize(std::size_t(fields->grid.features));
        loadF32(*columns, 0, fields->columnScales.size(), fields->columnScales.data());
    }
    const auto learned =
        std::find_if(names.begin(), names.end(), [](const auto& n) { return n.ends_with(".codebook"); });
    if (learned != names.end()) {
        const std::int64_t levels = std::int64_t(1) << stored.spec.codeBits();
        auto codebook = field(model, stored, *learned, std::array{DType::F32}, {levels});
        if (!codebook) return tl::unexpected(codebook.error());
        fields->learned.resize(std::size_t(levels));
        loadF32(*codebook, 0, fields->learned.size(), fields->learned.data());
    }
    for (std::size_t i = 2; i < names.size(); ++i) { // zero points, what scales were multiplied by
        if (names[i].ends_with(".codebook") || names[i].ends_with(".column_scale")) continue;
        const bool zeros = names[i].ends_with(".zero"), nested = names[i].ends_with(".nested_scale");
        const std::int64_t blocks = (fields->grid.scales + std::int64_t(kNestedBlock) - 1) / std::int64_t(kNestedBlock);
        auto more =
            zeros ? field(model, stored, names[i], std::array{storedZeroType(stored.spec)}, fields->grid.scaleShape)
                  : field(model, stored, names[i], std::array{DType::F32}, {nested ? blocks : 1});
        if (!more) return tl::unexpected(more.error());
        (zeros                                  ? fields->zeros
         : nested                               ? fields->nestedScale
         : names[i].ends_with(".nested_offset") ? fields->nestedOffset
                                                : fields->tensorScale) = std::move(*more);
    }
    const Decode how = decode.value_or(stored.spec.effectiveDecode());
    TensorToWrite out{stored.name, stored.dtype, stored.shape,
                      [fields, how](const TensorToWrite::Sink& sink) { return produce(*fields, how, sink); }};
    fields->stored = std::move(stored);
    return out;
}

} // namespace qs
