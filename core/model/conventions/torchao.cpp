// SPDX-License-Identifier: GPL-3.0-or-later
// torchao's tensor subclasses, as its flatten_tensor_state_dict() names their parts: P._W_qdata, P._W_scale and
// P._W_zero_point of P.W. The metadata of the file says the class, the block and the type of the values. Checkpoints of
// PyTorch get the same names and metadata (core/model/pytorch/pytorch_state.cpp).
// The arithmetic is that of torchao 0.18.
#include "core/model/conventions/checkpoint.h"
#include "core/model/conventions/convention.h"
#include "core/model/conventions/row_coded.h"

#include "core/base/tensor_name.h"
#include "core/base/text.h"

#include <algorithm>
#include <fmt/format.h>
#include <tuple>

namespace qs {
namespace {

constexpr std::string_view kEnds[] = {"_qdata"};
constexpr const char* kTypes[] = {"torchao-int8",  "torchao-fp8",   "torchao-int4",
                                  "torchao-mxfp8", "torchao-mxfp4", "torchao-nvfp4"};
constexpr std::string_view kMethods[] = {"torchao"};

/// "q_proj.weight" of "q_proj._weight_qdata"; "" if the name has another form.
std::string torchAoNameOf(std::string_view field, std::string_view end) {
    const std::string_view stem = field.substr(0, field.size() - end.size());
    const auto dot = stem.rfind('.');
    const std::size_t begin = dot == stem.npos ? 0 : dot + 1;
    if (begin + 1 >= stem.size() || stem[begin] != '_') return {};
    return std::string(stem.substr(0, begin)) + std::string(stem.substr(begin + 1));
}

/// A tensor in torchao's class while it is read.
struct Stored {
    const Checkpoint& checkpoint;
    const TensorInfo& codes;
    const std::string& stem;    ///< of the names of its parts
    const nlohmann::json& data; ///< what its metadata says of it
};

/// The name of a type of torch at `key`; "" if there is none.
std::string typeAt(const nlohmann::json& data, const char* key) {
    const auto dtype = data.find(key);
    return dtype != data.end() && dtype->is_object() ? textAt(*dtype, "_data") : std::string();
}

Result<DType> valueTypeOf(const nlohmann::json& data, const char* key) {
    const std::string name = typeAt(data, key);
    if (name == "bfloat16") return DType::BF16;
    if (name == "float16") return DType::F16;
    if (name == "float32") return DType::F32;
    return fail("its metadata says no type of its values");
}

bool isSize(const nlohmann::json& size) {
    return size.is_number_unsigned() && size.get<std::uint64_t>() > 0 && size <= std::uint64_t(1) << 48;
}

/// The rows and columns of a block from block_size, whose other numbers are 1.
Result<std::pair<std::uint64_t, std::uint64_t>> blockOf(const Stored& stored) {
    const std::size_t rank = stored.codes.shape.size();
    const auto block = stored.data.find("block_size");
    const bool isList = block != stored.data.end() && block->is_array() && block->size() == rank;
    if (!isList || !std::all_of(block->begin(), block->end(), isSize) ||
        !std::all_of(block->begin(), block->end() - 2, [](const auto& size) { return size == 1u; }))
        return fail("its metadata says no block_size that is read");
    return std::pair((*block)[rank - 2].get<std::uint64_t>(), (*block)[rank - 1].get<std::uint64_t>());
}

/// Int8Tensor, IntxUnpackedToInt8Tensor and Float8Tensor: value = (qdata - zero_point) * scale.
Result<RowCoding> readBytes(const Stored& stored, bool isFloat) {
    const TensorInfo& codes = stored.codes;
    const auto dtype = valueTypeOf(stored.data, "dtype");
    if (!dtype) return tl::unexpected(dtype.error());
    const auto block = blockOf(stored);
    if (!block) return tl::unexpected(block.error());
    const bool isCode =
        isFloat ? codes.dtype == DType::F8_E4M3 || codes.dtype == DType::F8_E5M2 : codes.dtype == DType::I8;
    if (!isCode) return fail(fmt::format("{} is {}", quotedName(codes.name), codes.typeId()));
    RowCoding coding;
    coding.type = kTypes[isFloat];
    coding.dtype = *dtype, coding.shape = codes.shape;
    std::tie(coding.rowsPerScale, coding.group) = *block;
    std::vector<std::int64_t> wanted(codes.shape.begin(), codes.shape.end());
    const std::size_t rank = wanted.size();
    wanted[rank - 2] = groupsOf(wanted[rank - 2], std::int64_t(coding.rowsPerScale));
    wanted[rank - 1] = groupsOf(wanted[rank - 1], std::int64_t(coding.group));
    const TensorInfo* scale = stored.checkpoint.find(stored.stem + "_scale");
    if (scale && scale->elements == 1 && std::ranges::all_of(wanted, [](auto n) { return n == 1; }))
        wanted.assign(scale->shape.begin(), scale->shape.end());
    auto scales = stored.checkpoint.field(stored.stem + "_scale", {DType::F32, DType::BF16, DType::F16}, wanted);
    if (!scales) return tl::unexpected(scales.error());
    coding.levels = !isFloat ? signedByteLevels() : codes.dtype == DType::F8_E5M2 ? e5m2Levels() : e4m3Levels();
    coding.fields = {stored.checkpoint.field(codes), std::move(*scales)};
    if (stored.checkpoint.find(stored.stem + "_zero_point")) {
        auto zeros = stored.checkpoint.field(stored.stem + "_zero_point",
                                             {DType::I8, DType::I32, DType::F32, DType::BF16}, wanted);
        if (!zeros) return tl::unexpected(zeros.error());
        coding.zeros = 2;
        coding.fields.push_back(std::move(*zeros));
    }
    return coding;
}

/// Two codes in a byte, the first in the low bits.
Result<void> setPairs(RowCoding& coding, const TensorInfo& codes) {
    if (codes.dtype != DType::U8 && codes.dtype != DType::I8)
        return fail(fmt::format("{} is {}", quotedName(codes.name), codes.typeId()));
    coding.shape.back() *= 2, coding.bits = 4;
    return {};
}

/// Int4Tensor: value = qdata * scale + zero_point, with signed codes; scales are [groups, rows]. Source of the arithmetic:
/// int4_row_quantize_zp() of mslk.
Result<RowCoding> readInt4(const Stored& stored, bool) {
    static constexpr float kSigned[16] = {0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1};
    const auto block = blockOf(stored);
    if (!block) return tl::unexpected(block.error());
    RowCoding coding;
    coding.type = kTypes[2], coding.shape = stored.codes.shape, coding.levels = kSigned;
    if (auto ok = setPairs(coding, stored.codes); !ok) return tl::unexpected(ok.error());
    std::tie(coding.rowsPerScale, coding.group) = *block;
    if (coding.rowsPerScale != 1) return fail("its block_size has several rows");
    if (stored.checkpoint.find(stored.stem + "_act_pre_scale"))
        return fail("its act_pre_scale multiplies what goes into the layer");
    std::vector<std::int64_t> wanted(coding.shape.begin(), coding.shape.end());
    wanted.back() = groupsOf(wanted.back(), std::int64_t(coding.group));
    std::swap(wanted.back(), wanted[wanted.size() - 2]);
    coding.fields = {stored.checkpoint.field(stored.codes)};
    for (const char* part : {"_scale", "_zero_point"}) {
        auto field = stored.checkpoint.field(stored.stem + part, {DType::BF16, DType::F16, DType::F32}, wanted);
        if (!field) return tl::unexpected(field.error());
        coding.fields.push_back(std::move(*field));
    }
    coding.dtype = coding.fields[1].info.dtype, coding.biases = 2, coding.scaleOrder = ScaleOrder::Columns;
    return coding;
}

/// Scales of MXTensor and NVFP4Tensor: a row of them for each row, or tiles.
Result<void> addScales(RowCoding& coding, const Stored& stored, DType dtype) {
    const auto size = stored.data.find("block_size"), swizzled = stored.data.find("is_swizzled_scales");
    if (size == stored.data.end() || !isSize(*size)) return fail("its metadata says no block_size that is read");
    coding.group = size->get<std::uint64_t>();
    if (swizzled == stored.data.end() || !swizzled->is_boolean())
        return fail("its metadata does not say whether its scales are in tiles (is_swizzled_scales)");
    std::vector<std::int64_t> wanted(coding.shape.begin(), coding.shape.end());
    wanted.back() = groupsOf(wanted.back(), std::int64_t(coding.group));
    const TensorInfo* scale = stored.checkpoint.find(stored.stem + "_scale");
    if (*swizzled) {
        if (wanted.size() > 2 && wanted[wanted.size() - 2] % 128 != 0)
            return fail("its scales are in tiles that hold rows of several matrices");
        std::int64_t rows = 1;
        for (std::size_t i = 0; i + 1 < wanted.size(); ++i) rows *= wanted[i];
        coding.scaleOrder = ScaleOrder::Tiles;
        if (scale && std::int64_t(scale->elements) == tiledScales(rows, wanted.back()))
            wanted.assign(scale->shape.begin(), scale->shape.end());
        else if (scale)
            return fail(fmt::format("{} is {}, but tiles for {} x {} scales are {}", quotedName(scale->name),
                                    shapeText(scale->shape), rows, wanted.back(), tiledScales(rows, wanted.back())));
    }
    auto scales = stored.checkpoint.field(stored.stem + "_scale", {dtype, DType::U8}, wanted);
    if (!scales) return tl::unexpected(scales.error());
    coding.fields = {stored.checkpoint.field(stored.codes), std::move(*scales)};
    return {};
}

/// MXTensor: value = qdata * 2^(scale - 127).
Result<RowCoding> readMx(const Stored& stored, bool) {
    const auto dtype = valueTypeOf(stored.data, "orig_dtype");
    if (!dtype) return tl::unexpected(dtype.error());
    RowCoding coding;
    coding.dtype = *dtype, coding.shape = stored.codes.shape, coding.scaleCoding = ScaleCoding::E8m0;
    const std::string element = typeAt(stored.data, "elem_dtype");
    const bool isE4m3 = element == "float8_e4m3fn" && stored.codes.dtype == DType::F8_E4M3;
    if (element == "float4_e2m1fn_x2") {
        coding.type = kTypes[4], coding.levels = e2m1Levels();
        if (auto ok = setPairs(coding, stored.codes); !ok) return tl::unexpected(ok.error());
    } else if (isE4m3 || (element == "float8_e5m2" && stored.codes.dtype == DType::F8_E5M2)) {
        coding.type = kTypes[3], coding.levels = isE4m3 ? e4m3Levels() : e5m2Levels();
    } else {
        return fail(fmt::format("{} is {} with elements {}", quotedName(stored.codes.name), stored.codes.typeId(),
                                quotedName(element)));
    }
    if (auto ok = addScales(coding, stored, DType::F8_E8M0); !ok) return tl::unexpected(ok.error());
    return coding;
}

/// NVFP4Tensor: value = qdata * scale * per_tensor_scale.
Result<RowCoding> readNvfp4(const Stored& stored, bool) {
    const auto dtype = valueTypeOf(stored.data, "orig_dtype");
    if (!dtype) return tl::unexpected(dtype.error());
    RowCoding coding;
    coding.type = kTypes[5], coding.dtype = *dtype, coding.shape = stored.codes.shape;
    coding.levels = e2m1Levels(), coding.scaleCoding = ScaleCoding::E4m3;
    if (auto ok = setPairs(coding, stored.codes); !ok) return tl::unexpected(ok.error());
    if (auto ok = addScales(coding, stored, DType::F8_E4M3); !ok) return tl::unexpected(ok.error());
    const TensorInfo* global = stored.checkpoint.find(stored.stem + "_per_tensor_scale");
    if (!global) return coding;
    // one value, or one for each matrix of a stack
    std::vector<std::int64_t> wanted(global->shape.begin(), global->shape.end());
    if (global->elements != 1) {
        wanted.assign(coding.shape.begin(), coding.shape.end());
        wanted.back() = wanted[wanted.size() - 2] = 1;
    }
    auto all = stored.checkpoint.field(global->name, {DType::F32}, wanted);
    if (!all) return tl::unexpected(all.error());
    coding.global = 2, coding.globalMultiplies = true;
    coding.fields.push_back(std::move(*all));
    return coding;
}

struct Class {
    std::string_view name;
    Result<RowCoding> (*read)(const Stored& stored, bool isFloat);
    bool isFloat = false;
};
constexpr Class kClasses[] = {{"Int8Tensor", readBytes},
                              {"IntxUnpackedToInt8Tensor", readBytes},
                              {"Float8Tensor", readBytes, true},
                              {"Int4Tensor", readInt4},
                              {"MXTensor", readMx},
                              {"NVFP4Tensor", readNvfp4}};

const Class* classOf(const std::string& name) {
    const auto found = std::ranges::find(kClasses, name, &Class::name);
    return found == std::end(kClasses) ? nullptr : found;
}

Result<std::shared_ptr<const Layer>> readLayer(const Checkpoint& checkpoint, const TensorInfo& codes,
                                               const std::string& stem, const nlohmann::json& settings) {
    const std::string name = textAt(settings, "_type");
    const Class* row = classOf(name);
    if (!row) return fail(fmt::format("the class {} of torchao is not decoded", quotedName(name)));
    const auto data = settings.find("_data");
    if (data == settings.end() || !data->is_object()) return fail("its metadata has no _data");
    if (codes.shape.size() < 2 || codes.elements == 0)
        return fail(fmt::format("{} is {}, no matrix", quotedName(codes.name), shapeText(codes.shape)));
    auto coding = row->read({checkpoint, codes, stem, *data}, row->isFloat);
    if (!coding) return tl::unexpected(coding.error());
    coding->rowBytes = std::uint64_t(codes.shape.back());
    coding->description =
        fmt::format("torchao {}, a scale for each {} x {}", name, coding->rowsPerScale, coding->group);
    return rowCodedLayer(std::move(*coding));
}

void take(Checkpoint& checkpoint, const TensorInfo& field, std::string_view end) {
    const std::string name = torchAoNameOf(field.name, end);
    const std::string* metadata = name.empty() ? nullptr : checkpoint.metadata(field, name);
    if (!metadata) return; // of another program
    const std::string stem = field.name.substr(0, field.name.size() - end.size());
    const auto tree = readJsonTree(*metadata);
    if (!tree || !tree->is_object())
        return checkpoint.take(kTorchAoConvention, name, Evidence::Said, fail("its metadata is no JSON object"),
                               {field.name});
    checkpoint.take(kTorchAoConvention, name, classOf(textAt(*tree, "_type")) ? Evidence::Said : Evidence::Alike,
                    readLayer(checkpoint, field, stem, *tree), {field.name});
}

} // namespace

const Convention kTorchAoConvention = {
    "torchao", "torchao", "the class and the block in the metadata of the file", kTypes, kEnds, take, kMethods};

} // namespace qs
