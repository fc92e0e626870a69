// SPDX-License-Identifier: GPL-3.0-or-later
// Decodes the fields of the eformer and native layouts to values, chunk by chunk.
#include "core/base/lists.h"
#include "core/base/text.h"
#include "core/layouts/slabs.h"
#include "core/layouts/stored.h"
#include "core/quant/encode/block_encoder.h"
#include "core/quant/encode/native_packing.h"
#include "core/quant/spec/code_set.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <fmt/format.h>

namespace qs {
namespace {

constexpr std::uint64_t kDecodeChunk = 65536;

struct StoredFields final : StoredValues {
    StoredTensor stored;
    ScaleGrid grid;
    TensorView codes, scales, zeros, biases, tensorScale, nestedScale, nestedOffset;
    std::vector<float> columnScales; ///< empty: none
    std::vector<float> learned;      ///< the codebook of the tensor; empty: the format's levels
    std::span<const float> levels;   ///< what codes are decoded with

    DType dtype() const override { return stored.dtype; }
    const std::vector<std::int64_t>& shape() const override { return stored.shape; }
    std::uint64_t elements() const override { return stored.elements; }
    void read(std::uint64_t begin, std::size_t n, std::byte* into) const override;
    std::uint64_t beyond() const override { return beyond_; }
    /// Finds the fields of `stored` in the model and checks their dtypes and shapes.
    Result<void> open(const Model& model, std::optional<Decode> decode);

private:
    Result<void> open(TensorView& into, const Model& model, const std::string& name, std::span<const DType> types,
                      const std::vector<std::int64_t>& shape) const;
    Result<void> openFloats(std::vector<float>& into, const Model& model, const std::string& name,
                            std::int64_t count) const;
    Result<void> openCodes(const Model& model, const std::string& name);
    Result<void> openOther(const Model& model, const std::string& name);
    void values(std::uint64_t begin, std::size_t n, float* out) const;
    bool packedNf4(std::uint64_t begin, std::size_t n, float* out) const;
    /// Codes become stored integers as floats, or levels; n elements from `begin`, one row at most for nf4.
    void load(std::uint64_t begin, std::size_t n, float* out) const;
    void loadScales(std::uint64_t first, std::size_t n, float* out) const;
    void loadZeros(std::uint64_t first, std::size_t n, float* out) const;
    mutable std::atomic<std::uint64_t> beyond_{0};
};

/// What the fields are read into where files are not mapped.
std::vector<std::byte>& scratch() {
    thread_local std::vector<std::byte> bytes;
    return bytes;
}

/// The field of a stored tensor, with the dtype and shape that its spec asks for.
Result<TensorView> field(const Model& model, const StoredTensor& stored, const std::string& name,
                         std::span<const DType> dtypes, const std::vector<std::int64_t>& shape) {
    const TensorInfo* found = model.find(name);
    if (!found)
        return fail(fmt::format("tensor '{}' is missing, which the metadata of '{}' promises",
                                escapeForPeople(name, 80), escapeForPeople(stored.name, 80)));
    if (!contains(dtypes, found->dtype) || found->packed || found->shape != shape)
        return fail(fmt::format("tensor '{}' is {} {}, but {} of {} needs {} {}", escapeForPeople(name, 80),
                                found->typeId(), shapeText(found->shape), specText(stored.spec),
                                shapeText(stored.shape), info(dtypes.front()).id, shapeText(shape)));
    return model.view(*found);
}

void StoredFields::load(std::uint64_t begin, std::size_t n, float* out) const {
    const auto bytesOf = [&](std::uint64_t from, std::uint64_t count) {
        return reinterpret_cast<const std::uint8_t*>(codes.read(from, count, scratch()).data());
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
        std::size_t i = 0;
        if (from % 2) out[i++] = levels[*bytes++ & 15];
        for (; i + 1 < n; i += 2, ++bytes) out[i] = levels[*bytes >> 4], out[i + 1] = levels[*bytes & 15];
        if (i < n) out[i] = levels[*bytes >> 4];
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

void StoredFields::loadScales(std::uint64_t first, std::size_t n, float* out) const {
    const DType type = scales.info->dtype;
    if (nestedScale.info) { // of 8 bits: map times maximum plus offset
        const std::uint64_t block = first / kNestedBlock, last = (first + n - 1) / kNestedBlock;
        const auto before = std::size_t(first - block * kNestedBlock);
        NestedScales nested;
        nested.grid.absMax.resize(std::size_t(last - block + 1));
        loadF32(nestedScale, block, nested.grid.absMax.size(), nested.grid.absMax.data());
        loadF32(nestedOffset, 0, 1, &nested.grid.offset);
        for (const std::byte code : scales.read(first - before, before + n, scratch()))
            nested.codes.push_back(std::uint8_t(code));
        const auto all = unnestScales(nested);
        std::copy(all.begin() + std::ptrdiff_t(before), all.end(), out);
    } else if (info(type).bits > 8) {
        loadF32(scales, first, n, out);
    } else {
        float unit = 1;
        if (tensorScale.info) loadF32(tensorScale, 0, 1, &unit);
        const auto bytes = scales.read(first, n, scratch());
        std::transform(bytes.begin(), bytes.end(), out,
                       [&](std::byte byte) { return scaleOfByte(type, std::uint8_t(byte)) / unit; });
    }
}

void StoredFields::loadZeros(std::uint64_t first, std::size_t n, float* out) const {
    if (zeros.info->dtype != DType::I8) return loadF32(zeros, first, n, out);
    const auto bytes = zeros.read(first, n, scratch());
    std::transform(bytes.begin(), bytes.end(), out, [](std::byte byte) { return float(std::int8_t(byte)); });
}

/// Whole blocks of nf4 whose rows end with them, the usual case.
bool StoredFields::packedNf4(std::uint64_t begin, std::size_t n, float* out) const {
    const std::uint64_t block = stored.spec.blockSize();
    if (stored.native || stored.spec.traits().kind != FormatKind::Codebook || !scales.info ||
        std::uint64_t(grid.group) != block || grid.paddedFeatures != grid.features || begin % block || n % block)
        return false;
    thread_local std::vector<float> maxima;
    maxima.resize(n / block);
    loadScales(begin / block, maxima.size(), maxima.data());
    const auto bytes = codes.read(begin / 2, n / 2, scratch());
    bestKernels().dequantizeNf4Packed(reinterpret_cast<const std::uint8_t*>(bytes.data()), n, block, maxima.data(),
                                      levels.data(), out);
    return true;
}

void StoredFields::values(std::uint64_t begin, std::size_t n, float* out) const {
    if (packedNf4(begin, n, out)) return applyColumnScales(columnScales, begin, out, n);
    // nf4 rows are padded: what is loaded never crosses one unless rows end with blocks.
    const bool rows = grid.paddedFeatures != grid.features && !stored.native;
    const auto features = std::uint64_t(grid.features);
    for (std::size_t done = 0, part = 0; done < n; done += part) {
        part = n - done;
        if (rows) part = std::size_t(std::min<std::uint64_t>(part, features - (begin + done) % features));
        load(begin + done, part, out + done);
    }
    if (scales.info) {
        std::uint64_t first = ~std::uint64_t(0), last = 0; // of the scales that the range has
        const auto meet = [&](const ScaleRun& run) {
            first = std::min<std::uint64_t>(first, run.scale);
            last = std::max<std::uint64_t>(last, run.scale + (run.along ? run.count - 1 : 0));
        };
        if (grid.contiguous) { // they ascend
            forEachScaleRun(grid, stored.shape, begin, 1, meet);
            forEachScaleRun(grid, stored.shape, begin + n - 1, 1, meet);
        } else {
            forEachScaleRun(grid, stored.shape, begin, n, meet);
        }
        thread_local std::vector<float> own, zeroPoints, added;
        own.resize(std::size_t(last - first + 1));
        loadScales(first, own.size(), own.data());
        if (zeros.info) zeroPoints.resize(own.size()), loadZeros(first, own.size(), zeroPoints.data());
        if (biases.info) added.resize(own.size()), loadF32(biases, first, own.size(), added.data());
        const bool shifts = zeros.info != nullptr;
        const float *scaleOf = own.data(), *zeroOf = zeroPoints.data();
        const float* biasOf = biases.info ? added.data() : nullptr;
        forEachScaleRun(grid, stored.shape, begin, n, [&](const ScaleRun& run) {
            const float *scale = scaleOf + (run.scale - first), *zero = shifts ? zeroOf + (run.scale - first) : nullptr;
            float* at = out + run.offset;
            for (std::size_t i = 0; shifts && i < run.count; ++i) at[i] -= zero[run.along ? i : 0];
            if (run.along)
                for (std::size_t i = 0; i < run.count; ++i) at[i] *= scale[i];
            else
                for (std::size_t i = 0; i < run.count; ++i) at[i] *= *scale;
            for (std::size_t i = 0; biasOf && i < run.count; ++i) // of blocks, that no scale runs along
                at[i] += biasOf[run.scale - first];
        });
    }
    applyColumnScales(columnScales, begin, out, n);
}

void StoredFields::read(std::uint64_t begin, std::size_t n, std::byte* into) const {
    if (n == 0) return;
    const bool aligned = reinterpret_cast<std::uintptr_t>(into) % alignof(float) == 0;
    if (stored.dtype == DType::F32 && aligned) return values(begin, n, reinterpret_cast<float*>(into));
    thread_local std::vector<float> wide;
    wide.resize(n);
    values(begin, n, wide.data());
    if (const std::size_t beyond = appendFinite(stored.dtype, wide.data(), n, into)) beyond_ += beyond;
}

Result<void> StoredFields::open(TensorView& into, const Model& model, const std::string& name,
                                std::span<const DType> types, const std::vector<std::int64_t>& shape) const {
    auto view = field(model, stored, name, types, shape);
    if (!view) return tl::unexpected(view.error());
    into = std::move(*view);
    return {};
}

Result<void> StoredFields::openFloats(std::vector<float>& into, const Model& model, const std::string& name,
                                      std::int64_t count) const {
    TensorView view;
    if (auto ok = open(view, model, name, std::array{DType::F32}, {count}); !ok) return ok;
    into.resize(std::size_t(count));
    loadF32(view, 0, into.size(), into.data());
    return {};
}

Result<void> StoredFields::openCodes(const Model& model, const std::string& name) {
    const FormatTraits& traits = stored.spec.traits();
    std::vector<std::int64_t> shape = stored.shape;
    const bool quarters = traits.kind == FormatKind::Sign;
    const bool held = stored.native ? traits.kind != FormatKind::Identity
                                    : hasEformerFields(traits) && !stored.spec.isFlat() &&
                                          !(quarters && (shape.empty() || shape.front() % 4));
    if (!held)
        return fail(fmt::format("tensor '{}': no layout stores {} of {} in fields", escapeForPeople(stored.name, 80),
                                specText(stored.spec), shapeText(stored.shape)));
    DType type = DType::U8;
    if (stored.native) {
        shape = nativeShape(stored.spec, shape);
    } else if (traits.kind == FormatKind::Codebook) {
        shape = grid.scaleShape;
        shape.push_back(stored.spec.blockSize() / 2);
    } else if (traits.kind == FormatKind::Integer) {
        type = DType::I8;
    } else {
        shape.front() /= 4;
    }
    return open(codes, model, name, std::array{type}, shape);
}

/// Any field but the codes, by the end of its name. The scales come before what has their type.
Result<void> StoredFields::openOther(const Model& model, const std::string& name) {
    static constexpr std::array kF32 = {DType::F32};
    const auto ends = [&](std::string_view end) { return name.ends_with(end); };
    if (ends(".scale") || ends(".absmax")) {
        const DType type = storedScaleType(stored.spec, DType::F32);
        const auto types = type == DType::F32 ? std::vector{DType::F32, DType::F16, DType::BF16} : std::vector{type};
        return open(scales, model, name, types, grid.scaleShape);
    }
    if (ends(".zero")) return open(zeros, model, name, std::array{storedZeroType(stored.spec)}, grid.scaleShape);
    if (ends(".bias")) return open(biases, model, name, std::array{scales.info->dtype}, grid.scaleShape);
    if (ends(".nested_scale")) {
        const std::int64_t blocks = (grid.scales + std::int64_t(kNestedBlock) - 1) / std::int64_t(kNestedBlock);
        return open(nestedScale, model, name, kF32, {blocks});
    }
    if (ends(".nested_offset")) return open(nestedOffset, model, name, kF32, {1});
    if (ends(".tensor_scale")) return open(tensorScale, model, name, kF32, {1});
    if (ends(".codebook")) return openFloats(learned, model, name, std::int64_t(1) << stored.spec.codeBits());
    return openFloats(columnScales, model, name, grid.features);
}

Result<void> StoredFields::open(const Model& model, std::optional<Decode> decode) {
    auto cut = scaleGrid(stored.spec, stored.shape);
    if (!cut) return failAt(fmt::format("tensor '{}'", escapeForPeople(stored.name, 80)), cut.error());
    grid = std::move(*cut);
    const std::vector<std::string> names = stored.fields();
    if (auto ok = openCodes(model, names.front()); !ok) return ok;
    for (std::size_t i = 1; i < names.size(); ++i)
        if (auto ok = openOther(model, names[i]); !ok) return ok;
    const FormatTraits& traits = stored.spec.traits();
    const Decode how = decode.value_or(stored.spec.effectiveDecode());
    const bool polynomial = how == Decode::Poly && !traits.polyLevels.empty();
    levels = !learned.empty() ? std::span<const float>(learned)
             : polynomial     ? traits.polyLevels
                              : codeSetOf(stored.spec).levels;
    return {};
}

Result<void> produce(const StoredValues& values, const TensorToWrite::Sink& sink) {
    const std::size_t size = std::size_t(info(values.dtype()).bits) / 8;
    std::vector<std::byte> bytes(kDecodeChunk * size);
    for (std::uint64_t begin = 0; begin < values.elements(); begin += kDecodeChunk) {
        const auto n = std::size_t(std::min(kDecodeChunk, values.elements() - begin));
        values.read(begin, n, bytes.data());
        if (auto written = sink(std::span(bytes).first(n * size)); !written) return written;
    }
    return {};
}

} // namespace

Result<std::shared_ptr<const StoredValues>> storedValues(const Model& model, StoredTensor stored,
                                                         std::optional<Decode> decode) {
    const auto fields = std::make_shared<StoredFields>();
    fields->stored = std::move(stored);
    if (auto ok = fields->open(model, decode); !ok) return tl::unexpected(ok.error());
    return fields;
}

Result<TensorToWrite> decodeStored(const Model& model, StoredTensor stored, std::optional<Decode> decode,
                                   std::uint64_t* beyond) {
    std::string name = stored.name;
    auto values = storedValues(model, std::move(stored), decode);
    if (!values) return tl::unexpected(values.error());
    TensorToWrite out{std::move(name), (*values)->dtype(), (*values)->shape(),
                      [values = *values, beyond](const TensorToWrite::Sink& sink) {
                          auto done = produce(*values, sink);
                          if (beyond) *beyond = values->beyond();
                          return done;
                      }};
    return out;
}

} // namespace qs
