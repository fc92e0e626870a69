// SPDX-License-Identifier: GPL-3.0-or-later
// The layers of ComfyUI. `MODULE.comfy_quant` holds JSON that names the format; older files say it in their metadata,
// `_quantization_metadata`. Files before that (fp8_scaled) have `MODULE.scale_weight` and a tensor `scaled_fp8`.
// Values are computed as comfy-kitchen does without a GPU, in the dtype that it decodes to.
// Sources: comfy-kitchen 0.2.40:`tensor/*.py`, `backends/eager/*.py`; ComfyUI:`comfy/ops.py`, `comfy/quant_ops.py`.
#include "core/base/lists.h"
#include "core/model/conventions/checkpoint.h"
#include "core/model/conventions/convention.h"
#include "core/model/conventions/row_coded.h"

#include "core/base/tensor_name.h"
#include "core/base/text.h"
#include "kernels/small_float.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace qs {
namespace {

constexpr auto kFloats = {DType::F32, DType::F16, DType::BF16};

float roundedTo(DType dtype, float value) {
    if (dtype == DType::F16) return f16ToF32(f32ToF16(value));
    return dtype == DType::BF16 ? bf16ToF32(f32ToBf16(value)) : value;
}

/// x <- H x / sqrt(n), where H is the Kronecker power of a 4 x 4 matrix of signs, and n a power of 4. It is its own
/// inverse.
void rotate(float* x, std::size_t n) {
    for (std::size_t step = 1; step < n; step *= 4)
        for (std::size_t i = 0; i < n; ++i) {
            if (i / step % 4 != 0) continue;
            const float a = x[i], b = x[i + step], c = x[i + 2 * step], d = x[i + 3 * step];
            x[i] = a + b + c - d;
            x[i + step] = a + b - c + d;
            x[i + 2 * step] = a - b + c + d;
            x[i + 3 * step] = b + c + d - a;
        }
    const float scale = 1 / std::sqrt(float(n));
    for (std::size_t i = 0; i < n; ++i) x[i] *= scale;
}

bool isPowerOf4(std::uint64_t n) { return n >= 4 && (n & (n - 1)) == 0 && __builtin_ctzll(n) % 2 == 0; }

/// A code of 4 bits as a signed number.
int signedNibble(unsigned nibble) { return nibble < 8 ? int(nibble) : int(nibble) - 16; }

/// A layer that is decoded row by row, and then maybe rotated.
class ComfyLayer : public Layer {
public:
    struct Shape {
        const char* type;
        std::string description;
        DType dtype;
        std::int64_t rows, columns;
        std::vector<Field> fields;
        std::uint64_t rotation = 0; ///< columns that are rotated together; 0: none
    };
    explicit ComfyLayer(Shape shape)
        : Layer({shape.type, shape.description, shape.dtype, {shape.rows, shape.columns}, std::move(shape.fields)}),
          columns_(std::uint64_t(shape.columns)), rotation_(shape.rotation) {}

    void values(std::uint64_t begin, std::size_t n, float* out) const override {
        std::vector<float> whole;
        for (std::size_t done = 0, part = 0; done < n; done += part) {
            const std::uint64_t row = (begin + done) / columns_, first = (begin + done) % columns_;
            part = std::size_t(std::min<std::uint64_t>(n - done, columns_ - first));
            if (rotation_ == 0) {
                stored(row, first, part, out + done);
                continue;
            }
            const std::uint64_t from = first / rotation_ * rotation_;
            const std::uint64_t to = (first + part + rotation_ - 1) / rotation_ * rotation_;
            whole.resize(std::size_t(to - from));
            stored(row, from, whole.size(), whole.data());
            for (std::size_t at = 0; at < whole.size(); at += std::size_t(rotation_))
                rotate(whole.data() + at, std::size_t(rotation_));
            std::copy_n(whole.begin() + std::ptrdiff_t(first - from), part, out + done);
        }
    }

protected:
    /// Values of `n` columns of a row, from column `first` on, before they are rotated.
    virtual void stored(std::uint64_t row, std::uint64_t first, std::size_t n, float* out) const = 0;

    float rounded(float value) const { return roundedTo(dtype(), value); }
    std::uint64_t columns() const { return columns_; }
    std::uint64_t rows() const { return std::uint64_t(shape()[0]); }
    /// Bytes [begin, begin + n) of a field of bytes.
    const std::uint8_t* bytes(std::size_t i, std::uint64_t begin, std::size_t n) const {
        thread_local std::vector<std::byte> scratch[4];
        return reinterpret_cast<const std::uint8_t*>(field(i).read(begin, n, scratch[i % 4]).data());
    }

private:
    std::uint64_t columns_, rotation_;
};

/// 8-bit floats and bytes with a scale for the tensor or for each row.
class ByteLayer final : public ComfyLayer {
public:
    ByteLayer(Shape shape, const float* levels, bool roundsScale)
        : ComfyLayer(std::move(shape)), levels_(levels), roundsScale_(roundsScale) {}

    std::optional<LayerCoding> coding() const override {
        LayerCoding out;
        using Coded = LayerCoding::Levels;
        out.levels = levels_ == e4m3Levels() ? Coded::E4m3 : levels_ == e5m2Levels() ? Coded::E5m2 : Coded::Integers;
        out.bits = 8, out.columns = columns();
        if (field(1).info.elements == 1) out.rows = rows();
        return out;
    }

private:
    void stored(std::uint64_t row, std::uint64_t first, std::size_t n, float* out) const override {
        float scale = field(1).floats(field(1).info.elements == 1 ? 0 : row, 1)[0];
        if (roundsScale_) scale = rounded(scale);
        const auto* codes = bytes(0, row * columns() + first, n);
        for (std::size_t i = 0; i < n; ++i) out[i] = levels_[codes[i]] * scale;
    }
    const float* levels_;
    bool roundsScale_; ///< the scale is rounded to the dtype first
};

/// nvfp4: pairs of 4-bit floats, the first in the high bits; mxfp8. Scales are in tiles.
class TiledLayer final : public ComfyLayer {
public:
    TiledLayer(Shape shape, bool isPair)
        : ComfyLayer(std::move(shape)), isPair_(isPair), group_(isPair ? 16 : 32),
          wide_(std::uint64_t(field(1).info.shape[1])) {}

    std::optional<LayerCoding> coding() const override {
        LayerCoding out;
        out.levels = isPair_ ? LayerCoding::Levels::E2m1 : LayerCoding::Levels::E4m3;
        out.bits = isPair_ ? 4 : 8, out.columns = group_, out.hasTensorScale = isPair_;
        out.scales = isPair_ ? LayerCoding::Scales::E4m3 : LayerCoding::Scales::Exponents;
        return out;
    }

private:
    void stored(std::uint64_t row, std::uint64_t first, std::size_t n, float* out) const override {
        const std::uint64_t perByte = isPair_ ? 2 : 1, from = first / perByte, to = (first + n - 1) / perByte + 1;
        const auto* codes = bytes(0, row * (columns() / perByte) + from, std::size_t(to - from));
        const auto* tiles = bytes(1, row / 128 * 128 * wide_, std::size_t(128 * wide_));
        const float all = isPair_ ? rounded(field(2).floats(0, 1)[0]) : 1;
        float scale = 0;
        for (std::size_t i = 0; i < n; ++i) {
            const std::uint64_t column = first + i;
            if (i == 0 || column % group_ == 0) {
                const auto code = tiles[tiledIndex(row % 128, column / group_, wide_)];
                scale = isPair_ ? rounded(all * e4m3(code)) : e8m0(code);
            }
            const unsigned byte = codes[column / perByte - from];
            out[i] = (isPair_ ? kE2m1Values[column % 2 ? byte & 15 : byte >> 4] : e4m3(std::uint8_t(byte))) * scale;
        }
    }
    bool isPair_;
    std::uint64_t group_, wide_;
};

/// Signed 4-bit integers in pairs, the first in the low bits, with a scale for each row.
class NibbleLayer final : public ComfyLayer {
public:
    using ComfyLayer::ComfyLayer;

private:
    void stored(std::uint64_t row, std::uint64_t first, std::size_t n, float* out) const override {
        const std::uint64_t from = first / 2;
        const auto* codes = bytes(0, row * (columns() / 2) + from, std::size_t((first + n - 1) / 2 + 1 - from));
        const float scale = field(1).floats(row, 1)[0];
        for (std::size_t i = 0; i < n; ++i) {
            const unsigned byte = codes[(first + i) / 2 - from];
            out[i] = float(signedNibble((first + i) % 2 ? byte >> 4 : byte & 15)) * scale;
        }
    }
};

/// Codes of 4 bits (with a codebook, or offset by 8) or 6 bits (offset by 32) under a scale for each group, rounded to
/// whole numbers up to 127; then a scale for each row, and maybe a correction added to each group.
class GridLayer final : public ComfyLayer {
public:
    struct Grid {
        unsigned bits = 4;
        std::uint64_t group = 16;
        int codebook = -1, correction = -1; ///< indices of fields
    };
    GridLayer(Shape shape, Grid grid) : ComfyLayer(std::move(shape)), grid_(grid) {
        for (unsigned code = 0; code < 64; ++code) levels_[code] = float(int(code) - (1 << (grid_.bits - 1)));
        if (grid_.codebook >= 0) {
            const auto book = field(std::size_t(grid_.codebook)).floats(0, 16);
            std::copy(book.begin(), book.end(), levels_);
        }
    }

private:
    void stored(std::uint64_t row, std::uint64_t first, std::size_t n, float* out) const override {
        const std::uint64_t rowBytes = columns() * grid_.bits / 8, groups = columns() / grid_.group;
        const auto* codes = bytes(0, row * rowBytes, std::size_t(rowBytes));
        const auto scales = field(1).floats(row * groups, std::size_t(groups));
        const float channel = field(2).floats(row, 1)[0];
        for (std::size_t i = 0; i < n; ++i) {
            const std::uint64_t column = first + i, g = column / grid_.group;
            unsigned code = codes[column / 2] >> (column % 2 * 4) & 15;
            if (grid_.bits == 6) code |= (codes[columns() / 2 + column / 4] >> (column % 4 * 2) & 3u) << 4;
            const float whole = std::clamp(std::nearbyint(levels_[code] * scales[std::size_t(g)]), -127.0f, 127.0f);
            float value = whole * channel;
            if (grid_.correction >= 0) value += field(std::size_t(grid_.correction)).floats(g * rows() + row, 1)[0];
            out[i] = rounded(value);
        }
    }
    Grid grid_;
    float levels_[64];
};

/// Unsigned 4-bit integers in pairs: (code - 8) * scale + zero, of groups of inputs; scales are [groups, outputs].
class AffineLayer final : public ComfyLayer {
public:
    AffineLayer(Shape shape, std::uint64_t group) : ComfyLayer(std::move(shape)), group_(group) {}

private:
    void stored(std::uint64_t row, std::uint64_t first, std::size_t n, float* out) const override {
        const std::uint64_t from = first / 2;
        const auto* codes = bytes(0, row * (columns() / 2) + from, std::size_t((first + n - 1) / 2 + 1 - from));
        float scale = 0, zero = 0;
        for (std::size_t i = 0; i < n; ++i) {
            const std::uint64_t column = first + i;
            if (i == 0 || column % group_ == 0) {
                scale = field(1).floats(column / group_ * rows() + row, 1)[0];
                zero = field(2).floats(column / group_ * rows() + row, 1)[0];
            }
            const unsigned byte = codes[column / 2 - from];
            out[i] = rounded((float(column % 2 ? byte >> 4 : byte & 15) - 8) * scale) + zero;
        }
    }
    std::uint64_t group_;
};

/// SVDQuant: signed 4-bit integers under scales of 64 inputs, divided by a factor of each input, plus a product of two
/// thin matrices. The fields may be in tiles of 128 outputs (kitchen_tile_packed_w4a4).
class SvdLayer final : public ComfyLayer {
public:
    SvdLayer(Shape shape, bool isTiled)
        : ComfyLayer(std::move(shape)), isTiled_(isTiled), rank_(std::uint64_t(field(3).info.shape[1])) {}

private:
    static constexpr std::uint64_t kGroup = 64, kTile = 128;

    std::uint64_t byteIndex(std::uint64_t row, std::uint64_t column) const {
        if (!isTiled_) return row * (columns() / 2) + column / 2;
        const std::uint64_t groups = columns() / kGroup, group = column / kGroup;
        return (row / kTile * groups + group) * (kTile * kGroup / 2) + row % kTile * (kGroup / 2) + column % kGroup / 2;
    }
    std::uint64_t scaleIndex(std::uint64_t row, std::uint64_t group) const {
        if (!isTiled_) return group * rows() + row;
        return (row / kTile * (columns() / kGroup) + group) * kTile + row % kTile;
    }
    std::uint64_t upIndex(std::uint64_t row, std::uint64_t r) const {
        return isTiled_ ? (row / kTile * rank_ + r) * kTile + row % kTile : row * rank_ + r;
    }

    // The roundings are those of comfy-kitchen, which decodes by a product with the unit matrix: its input 1 / factor
    // becomes 7 times a scale.
    void stored(std::uint64_t row, std::uint64_t first, std::size_t n, float* out) const override {
        std::vector<float> up(rank_);
        for (std::uint64_t r = 0; r < rank_; ++r) up[r] = field(4).floats(upIndex(row, r), 1)[0];
        const auto down = field(3).floats(first * rank_, n * std::size_t(rank_));
        const auto factors = field(2).floats(first, n);
        float scale = 0;
        for (std::size_t i = 0; i < n; ++i) {
            const std::uint64_t column = first + i;
            if (i == 0 || column % kGroup == 0) scale = field(1).floats(scaleIndex(row, column / kGroup), 1)[0];
            const unsigned byte = bytes(0, byteIndex(row, column), 1)[0];
            const float weight = rounded(float(signedNibble(column % 2 ? byte >> 4 : byte & 15)) * scale);
            const float input = rounded(7 * rounded(rounded(1 / factors[i]) / 7));
            float thin = 0;
            for (std::uint64_t r = 0; r < rank_; ++r) thin += down[i * rank_ + r] * up[r];
            out[i] = rounded(input * weight) + rounded(thin);
        }
    }
    bool isTiled_;
    std::uint64_t rank_;
};

/// What `comfy_quant` says, or the user.
struct Settings {
    std::string format;
    bool isRotated = false;
    std::uint64_t rotation = 256, group = 0;
    DType dtype = DType::BF16; ///< of the decoded values: orig_dtype, where a writer gives it
};

std::uint64_t sizeOr(const nlohmann::json& own, const char* key, std::uint64_t otherwise) {
    auto said = countAt(own, key);
    if (!said) said = countAt(valueAt(own, "params"), key);
    return said.value_or(otherwise);
}

Settings settingsFrom(const nlohmann::json& own) {
    Settings out;
    out.format = textAt(own, "format");
    out.isRotated = flagAt(own, "convrot", flagAt(valueAt(own, "params"), "convrot", false));
    out.rotation = sizeOr(own, "convrot_groupsize", 256);
    out.group = sizeOr(own, "group_size", 0);
    const std::string dtype = textAt(own, "orig_dtype");
    if (dtype.ends_with("float32")) out.dtype = DType::F32;
    if (dtype.ends_with("float16") && !dtype.ends_with("bfloat16")) out.dtype = DType::F16;
    return out;
}

/// Nullopt: nothing says how the module is stored. Fails if its `comfy_quant` is no JSON.
Result<std::optional<Settings>> settingsOf(const Checkpoint& checkpoint, const std::string& module) {
    if (const TensorInfo* marker = checkpoint.find(module + ".comfy_quant")) {
        if (marker->dtype != DType::U8 || marker->bytes > 65'536) return fail("its comfy_quant is no text");
        const auto text = checkpoint.field(*marker).octets(0, std::size_t(marker->bytes));
        const auto tree = readJsonTree({reinterpret_cast<const char*>(text.data()), text.size()});
        if (!tree || !tree->is_object()) return fail("its comfy_quant is no JSON object");
        return std::optional(settingsFrom(*tree));
    }
    const auto& layers = checkpoint.config().comfyLayers;
    if (const auto& own = valueAt(layers, module.c_str()); own.is_object()) return std::optional(settingsFrom(own));
    return std::optional<Settings>();
}

/// Collects the fields of a layer and the first problem with them.
class Parts {
public:
    Parts(const Checkpoint& checkpoint, const std::string& module) : checkpoint_(checkpoint), module_(module) {}

    /// Adds `module` + `end`. `shape`: null for any.
    const TensorInfo* take(const std::string& end, std::initializer_list<DType> dtypes,
                           const std::vector<std::int64_t>* shape = nullptr) {
        const TensorInfo* found = checkpoint_.find(module_ + end);
        const auto wanted = shape ? *shape : found ? found->shape.sizes() : std::vector<std::int64_t>();
        auto field = checkpoint_.field(module_ + end, dtypes, wanted);
        if (!field) {
            if (problem_.empty()) problem_ = field.error().message;
            return nullptr;
        }
        fields_.push_back(std::move(*field));
        return found;
    }
    void takeIfThere(const std::string& end) {
        if (const TensorInfo* found = checkpoint_.find(module_ + end)) fields_.push_back(checkpoint_.field(*found));
    }
    bool has(const std::string& end) const { return checkpoint_.find(module_ + end); }
    void refuse(std::string why) {
        if (problem_.empty()) problem_ = std::move(why);
    }
    const std::string& problem() const { return problem_; }
    std::vector<Field>& fields() { return fields_; }

private:
    const Checkpoint& checkpoint_;
    std::string module_, problem_;
    std::vector<Field> fields_;
};

using Read = Result<std::shared_ptr<const Layer>> (*)(Parts& parts, const Settings& settings);

template<class Kind, class... More>
std::shared_ptr<const Layer> made(Parts& parts, const char* type, std::string description, DType dtype,
                                  std::int64_t rows, std::int64_t columns, std::uint64_t rotation, More... more) {
    parts.takeIfThere(".input_scale");
    parts.takeIfThere(".comfy_quant");
    return std::make_shared<const Kind>(
        ComfyLayer::Shape{type, std::move(description), dtype, rows, columns, std::move(parts.fields()), rotation},
        more...);
}

bool isMatrix(const TensorInfo* tensor) { return tensor && tensor->shape.size() == 2 && tensor->elements > 0; }

tl::unexpected<Error> refusal(const Parts& parts) {
    return fail(parts.problem().empty() ? "its weight is no matrix" : parts.problem());
}

constexpr const char *kFp8Types[] = {"Comfy-fp8"}, *kNvfp4Types[] = {"Comfy-nvfp4"}, *kMxfp8Types[] = {"Comfy-mxfp8"},
                     *kInt8Types[] = {"Comfy-int8"}, *kInt8RotatedTypes[] = {"Comfy-int8-rotated"},
                     *kInt4RotatedTypes[] = {"Comfy-int4-rotated"}, *kGridTypes[] = {"Comfy-w4a8", "Comfy-w6a8"},
                     *kSvdTypes[] = {"Comfy-svdquant"}, *kAwqTypes[] = {"Comfy-awq"},
                     *kScaledTypes[] = {"Comfy-fp8-scaled"};

/// True if there is one scale, or one for each row: [rows] or [rows, 1].
bool coversRows(const TensorInfo& scales, std::int64_t rows) {
    if (scales.elements == 1) return true;
    return scales.elements == std::uint64_t(rows) && scales.shape[0] == rows && scales.shape.size() <= 2;
}

const char* scaleText(const TensorInfo& scales) {
    return scales.elements == 1 ? "a scale for the tensor" : "a scale per row";
}

Result<std::shared_ptr<const Layer>> readFp8(Parts& parts, const Settings& settings) {
    const TensorInfo* codes = parts.take(".weight", {DType::F8_E4M3, DType::F8_E5M2});
    const TensorInfo* scales = parts.take(".weight_scale", kFloats);
    if (!isMatrix(codes) || !scales) return refusal(parts);
    if (!coversRows(*scales, codes->shape[0])) return fail(fmt::format("its scales are {}", shapeText(scales->shape)));
    const bool isE5m2 = codes->dtype == DType::F8_E5M2;
    return made<ByteLayer>(
        parts, kFp8Types[0], fmt::format("ComfyUI, {}, {}", isE5m2 ? "fp8 e5m2" : "fp8 e4m3", scaleText(*scales)),
        settings.dtype, codes->shape[0], codes->shape[1], 0, isE5m2 ? e5m2Levels() : e4m3Levels(), true);
}

std::vector<std::int64_t> tiles(std::int64_t rows, std::int64_t groups) {
    return {(rows + 127) / 128 * 128, (groups + 3) / 4 * 4};
}

Result<std::shared_ptr<const Layer>> readNvfp4(Parts& parts, const Settings& settings) {
    const TensorInfo* codes = parts.take(".weight", {DType::U8});
    if (!isMatrix(codes) || codes->shape[1] % 8 != 0) return refusal(parts);
    const std::int64_t rows = codes->shape[0], columns = codes->shape[1] * 2;
    const auto wanted = tiles(rows, columns / 16);
    const TensorInfo* scales = parts.take(".weight_scale", {DType::F8_E4M3, DType::U8}, &wanted);
    const TensorInfo* global = parts.take(".weight_scale_2", {DType::F32});
    if (!scales || !global || global->elements != 1) return refusal(parts);
    return made<TiledLayer>(parts, kNvfp4Types[0],
                            "ComfyUI, nvfp4, blocks of 16, scales in tiles, one scale of the tensor", settings.dtype,
                            rows, columns, 0, true);
}

Result<std::shared_ptr<const Layer>> readMxfp8(Parts& parts, const Settings& settings) {
    const TensorInfo* codes = parts.take(".weight", {DType::F8_E4M3});
    if (!isMatrix(codes) || codes->shape[1] % 32 != 0) return refusal(parts);
    const auto wanted = tiles(codes->shape[0], codes->shape[1] / 32);
    if (!parts.take(".weight_scale", {DType::F8_E8M0, DType::U8}, &wanted)) return refusal(parts);
    return made<TiledLayer>(parts, kMxfp8Types[0], "ComfyUI, mxfp8, blocks of 32, scales in tiles", settings.dtype,
                            codes->shape[0], codes->shape[1], 0, false);
}

Result<std::shared_ptr<const Layer>> readBytes(Parts& parts, const Settings& settings, std::uint64_t rotation) {
    const TensorInfo* codes = parts.take(".weight", {DType::I8});
    const TensorInfo* scales = parts.take(".weight_scale", kFloats);
    if (!isMatrix(codes) || !scales) return refusal(parts);
    if (!coversRows(*scales, codes->shape[0])) return fail(fmt::format("its scales are {}", shapeText(scales->shape)));
    if (rotation && (!isPowerOf4(rotation) || std::uint64_t(codes->shape[1]) % rotation != 0))
        return fail(fmt::format("{} columns are not rotated in groups of {}", codes->shape[1], rotation));
    std::string text = fmt::format("ComfyUI, int8, {}", scaleText(*scales));
    if (rotation) text += fmt::format(", columns rotated in groups of {}", rotation);
    return made<ByteLayer>(parts, rotation ? kInt8RotatedTypes[0] : kInt8Types[0], std::move(text), settings.dtype,
                           codes->shape[0], codes->shape[1], rotation, signedByteLevels(), false);
}
Result<std::shared_ptr<const Layer>> readInt8(Parts& parts, const Settings& settings) {
    return readBytes(parts, settings, 0);
}
Result<std::shared_ptr<const Layer>> readInt8Rotated(Parts& parts, const Settings& settings) {
    return readBytes(parts, settings, settings.rotation);
}

Result<std::shared_ptr<const Layer>> readInt4Rotated(Parts& parts, const Settings& settings) {
    const TensorInfo* codes = parts.take(".weight", {DType::I8, DType::U8});
    const TensorInfo* scales = parts.take(".weight_scale", kFloats);
    if (!isMatrix(codes) || !scales) return refusal(parts);
    const std::int64_t rows = codes->shape[0], columns = codes->shape[1] * 2;
    if (scales->elements != std::uint64_t(rows) || !coversRows(*scales, rows))
        return fail(fmt::format("its scales are {}", shapeText(scales->shape)));
    if (!isPowerOf4(settings.rotation) || std::uint64_t(columns) % settings.rotation != 0)
        return fail(fmt::format("{} columns are not rotated in groups of {}", columns, settings.rotation));
    return made<NibbleLayer>(
        parts, kInt4RotatedTypes[0],
        fmt::format("ComfyUI, int4, a scale per row, columns rotated in groups of {}", settings.rotation),
        settings.dtype, rows, columns, settings.rotation);
}

Result<std::shared_ptr<const Layer>> readGrid(Parts& parts, const Settings& settings) {
    const TensorInfo* codes = parts.take(".weight", {DType::I8, DType::U8});
    const TensorInfo* scales = parts.take(".weight_s_rel", {DType::F8_E4M3, DType::F32});
    const TensorInfo* channel = parts.take(".weight_s_channel", kFloats);
    if (!isMatrix(codes) || !isMatrix(scales) || !channel) return refusal(parts);
    GridLayer::Grid grid;
    grid.group = settings.group ? settings.group : 16;
    const std::int64_t rows = codes->shape[0];
    if (grid.group > 65'536 || scales->shape[0] != rows || channel->elements != std::uint64_t(rows) ||
        scales->shape[1] > std::int64_t(1) << 40)
        return fail(
            fmt::format("scales {} in groups of {} are not for {} rows", shapeText(scales->shape), grid.group, rows));
    const std::int64_t columns = scales->shape[1] * std::int64_t(grid.group);
    grid.bits = unsigned(codes->shape[1] * 8 / columns);
    if ((grid.bits != 4 && grid.bits != 6) || codes->shape[1] * 8 != columns * std::int64_t(grid.bits))
        return fail(fmt::format("rows of {} bytes are not {} codes of 4 or 6 bits", codes->shape[1], columns));
    if (!isPowerOf4(settings.rotation) || std::uint64_t(columns) % settings.rotation != 0)
        return fail(fmt::format("{} columns are not rotated in groups of {}", columns, settings.rotation));
    if (parts.has(".weight_codebook")) {
        const std::vector<std::int64_t> sixteen = {16};
        grid.codebook = int(parts.fields().size());
        if (!parts.take(".weight_codebook", kFloats, &sixteen)) return refusal(parts);
    }
    if (parts.has(".weight_correction")) {
        const std::vector<std::int64_t> wanted = {scales->shape[1], rows};
        grid.correction = int(parts.fields().size());
        if (!parts.take(".weight_correction", kFloats, &wanted)) return refusal(parts);
    }
    return made<GridLayer>(
        parts, kGridTypes[grid.bits == 6],
        fmt::format("ComfyUI, {} bits on an int8 grid, groups of {}, columns rotated in groups of {}", grid.bits,
                    grid.group, settings.rotation),
        settings.dtype, rows, columns, settings.rotation, grid);
}

Result<std::shared_ptr<const Layer>> readSvd(Parts& parts, const Settings&) {
    const TensorInfo* codes = parts.take(".weight", {DType::I8, DType::U8});
    if (!codes || codes->elements == 0) return refusal(parts);
    const bool isTiled = codes->shape.size() == 4;
    if (isTiled ? codes->shape[2] != 32 || codes->shape[3] != 128 : codes->shape.size() != 2)
        return fail(fmt::format("its weight is {}", shapeText(codes->shape)));
    const std::int64_t rows = isTiled ? codes->shape[0] * 128 : codes->shape[0];
    const std::int64_t columns = isTiled ? codes->shape[1] * 64 : codes->shape[1] * 2;
    if (columns % 64 != 0) return fail(fmt::format("{} columns are not whole groups of 64", columns));
    const std::vector<std::int64_t> factorShape = {columns};
    const auto scaleShape = isTiled ? std::vector<std::int64_t>{rows / 128, columns / 64, 128}
                                    : std::vector<std::int64_t>{columns / 64, rows};
    const char* before = parts.has(".weight_smooth_factor") ? ".weight_" : ".";
    const TensorInfo* scales = parts.take(".weight_scale", kFloats, &scaleShape);
    if (!scales || !parts.take(before + std::string("smooth_factor"), kFloats, &factorShape)) return refusal(parts);
    const TensorInfo* down = parts.take(before + std::string("proj_down"), kFloats);
    if (!isMatrix(down) || down->shape[0] != columns || down->shape[1] > 65'536) return refusal(parts);
    const auto upShape = isTiled ? std::vector<std::int64_t>{rows / 128, down->shape[1], 128}
                                 : std::vector<std::int64_t>{rows, down->shape[1]};
    if (!parts.take(before + std::string("proj_up"), kFloats, &upShape)) return refusal(parts);
    return made<SvdLayer>(
        parts, kSvdTypes[0],
        fmt::format("ComfyUI, SVDQuant, 4 bits in groups of 64 and a product of rank {}", down->shape[1]),
        scales->dtype, rows, columns, 0, isTiled);
}

Result<std::shared_ptr<const Layer>> readAwq(Parts& parts, const Settings& settings) {
    const TensorInfo* codes = parts.take(".weight", {DType::I8, DType::U8});
    if (!isMatrix(codes)) return refusal(parts);
    const std::uint64_t group = settings.group ? settings.group : 64;
    const std::int64_t rows = codes->shape[0], columns = codes->shape[1] * 2;
    if (group > std::uint64_t(columns) || std::uint64_t(columns) % group != 0)
        return fail(fmt::format("{} columns are not whole groups of {}", columns, group));
    const std::vector<std::int64_t> wanted = {columns / std::int64_t(group), rows};
    const TensorInfo* scales = parts.take(".weight_scale", kFloats, &wanted);
    if (!scales || !parts.take(".weight_zeros", kFloats, &wanted)) return refusal(parts);
    return made<AffineLayer>(parts, kAwqTypes[0],
                             fmt::format("ComfyUI, AWQ, 4 bits with zero points, groups of {}", group), scales->dtype,
                             rows, columns, 0, group);
}

/// What `comfy_quant` calls the formats, and how they are read.
struct Kind {
    const Convention* convention;
    std::string_view format, otherFormat;
    bool isRotated; ///< of int8: true only for rotated layers
    Read read;
};
constexpr Kind kKinds[] = {
    {&kComfyFp8, "float8_e4m3fn", "float8_e5m2", false, readFp8},
    {&kComfyNvfp4, "nvfp4", "", false, readNvfp4},
    {&kComfyMxfp8, "mxfp8", "", false, readMxfp8},
    {&kComfyInt8, "int8_tensorwise", "", false, readInt8},
    {&kComfyInt8Rotated, "int8_tensorwise", "", true, readInt8Rotated},
    {&kComfyInt4Rotated, "convrot_w4a4", "", false, readInt4Rotated},
    {&kComfyW4A8, "asym_w4a8_int8", "", false, readGrid},
    {&kComfySvdQuant, "svdquant_w4a4", "", false, readSvd},
    {&kComfyAwq, "awq_w4a16", "", false, readAwq},
};

bool isOfKind(const Settings& settings, const Kind& kind) {
    if (settings.format != kind.format && (kind.otherFormat.empty() || settings.format != kind.otherFormat))
        return false;
    return settings.format != "int8_tensorwise" || settings.isRotated == kind.isRotated;
}

/// The first kind also says what is wrong with a layer of no kind.
template<std::size_t I> void takeKind(Checkpoint& checkpoint, const TensorInfo& field, std::string_view end) {
    const Kind& kind = kKinds[I];
    const std::string module = field.name.substr(0, field.name.size() - end.size()), name = module + ".weight";
    const bool isAsked = checkpoint.isAsked(*kind.convention);
    const auto settings = settingsOf(checkpoint, module);
    const auto refuse = [&](const std::string& why, Evidence evidence) {
        if (I == 0) checkpoint.take(*kind.convention, name, evidence, fail(why));
    };
    if (!settings && !isAsked) return refuse(settings.error().message, Evidence::Said);
    const Settings own = settings && *settings ? **settings : Settings();
    const bool isSaid = settings && *settings && isOfKind(own, kind);
    if (!isSaid && !isAsked && settings && *settings) {
        const bool isKnown = std::ranges::any_of(kKinds, [&](const Kind& other) { return isOfKind(own, other); });
        return isKnown ? void()
                       : refuse(fmt::format("its comfy_quant says format '{}', which this version does not know",
                                            escapeForPeople(own.format, 40)),
                                Evidence::Alike);
    }
    Parts parts(checkpoint, module);
    auto layer = kind.read(parts, own);
    if (!layer && !isSaid && !isAsked) return; // it does not even look like it
    checkpoint.take(*kind.convention, name, isSaid ? Evidence::Said : Evidence::Alike, std::move(layer));
}

/// fp8_scaled: value = code * scale.
void takeScaled(Checkpoint& checkpoint, const TensorInfo& field, std::string_view end) {
    const std::string module = field.name.substr(0, field.name.size() - end.size());
    Parts parts(checkpoint, module);
    const TensorInfo* codes = parts.take(".weight", {DType::F8_E4M3, DType::F8_E5M2});
    const TensorInfo* scales = parts.take(".scale_weight", kFloats);
    parts.takeIfThere(".scale_input");
    Result<std::shared_ptr<const Layer>> layer = refusal(parts);
    if (isMatrix(codes) && scales && coversRows(*scales, codes->shape[0]))
        layer = made<ByteLayer>(parts, kScaledTypes[0], fmt::format("ComfyUI fp8_scaled, {}", scaleText(*scales)),
                                scales->dtype, codes->shape[0], codes->shape[1], 0,
                                codes->dtype == DType::F8_E5M2 ? e5m2Levels() : e4m3Levels(), false);
    checkpoint.take(kComfyScaledFp8, module + ".weight",
                    checkpoint.hasMarker("scaled_fp8") ? Evidence::Said : Evidence::Shaped, std::move(layer));
}

constexpr std::string_view kEnds[] = {".comfy_quant", ".weight_scale"}, kGridEnds[] = {".comfy_quant", ".weight_s_rel"},
                           kScaledEnds[] = {".scale_weight"};
constexpr const char* kProof = "format in its tensor comfy_quant, or in the metadata _quantization_metadata";

} // namespace

const Convention kComfyFp8 = {"comfyui-fp8", "ComfyUI fp8", kProof, kFp8Types, kEnds, takeKind<0>};
const Convention kComfyNvfp4 = {"comfyui-nvfp4", "ComfyUI NVFP4", kProof, kNvfp4Types, kEnds, takeKind<1>};
const Convention kComfyMxfp8 = {"comfyui-mxfp8", "ComfyUI MXFP8", kProof, kMxfp8Types, kEnds, takeKind<2>};
const Convention kComfyInt8 = {"comfyui-int8", "ComfyUI int8", kProof, kInt8Types, kEnds, takeKind<3>};
const Convention kComfyInt8Rotated = {
    "comfyui-int8-rotated", "ComfyUI int8, rotated", kProof, kInt8RotatedTypes, kEnds, takeKind<4>};
const Convention kComfyInt4Rotated = {
    "comfyui-int4-rotated", "ComfyUI int4, rotated", kProof, kInt4RotatedTypes, kEnds, takeKind<5>};
const Convention kComfyW4A8 = {"comfyui-w4a8", "ComfyUI W4A8", kProof, kGridTypes, kGridEnds, takeKind<6>};
const Convention kComfySvdQuant = {"comfyui-svdquant", "ComfyUI SVDQuant", kProof, kSvdTypes, kEnds, takeKind<7>};
const Convention kComfyAwq = {"comfyui-awq", "ComfyUI AWQ", kProof, kAwqTypes, kEnds, takeKind<8>};
const Convention kComfyScaledFp8 = {
    "comfyui-fp8-scaled", "ComfyUI fp8_scaled", "its tensor scaled_fp8, or the name of its scales",
    kScaledTypes,         kScaledEnds,          takeScaled};

} // namespace qs
