// SPDX-License-Identifier: GPL-3.0-or-later
// torchao's tensor subclasses, as its flatten_tensor_state_dict() names their parts: P._W_qdata, P._W_scale and
// P._W_zero_point of P.W. The metadata of the file says the class, the block and the type of the values. Checkpoints of
// PyTorch get the same names and metadata (core/model/pytorch/pytorch_state.cpp).
// value = (qdata - zero_point) * scale, each scale for a block of rows and columns (torchao 0.18).
#include "core/model/conventions/checkpoint.h"
#include "core/model/conventions/convention.h"
#include "core/model/conventions/row_coded.h"

#include "core/base/tensor_name.h"
#include "core/base/text.h"

#include <algorithm>
#include <fmt/format.h>

namespace qs {
namespace {

constexpr std::string_view kEnds[] = {"_qdata"};
constexpr const char* kTypes[] = {"torchao-int8", "torchao-fp8"};
constexpr std::string_view kMethods[] = {"torchao"};

/// "q_proj.weight" of "q_proj._weight_qdata"; "" if the name has another form.
std::string torchAoNameOf(std::string_view field, std::string_view end) {
    const std::string_view stem = field.substr(0, field.size() - end.size());
    const auto dot = stem.rfind('.');
    const std::size_t begin = dot == stem.npos ? 0 : dot + 1;
    if (begin + 1 >= stem.size() || stem[begin] != '_') return {};
    return std::string(stem.substr(0, begin)) + std::string(stem.substr(begin + 1));
}

std::optional<DType> valueTypeOf(const nlohmann::json& data) {
    const auto dtype = data.find("dtype");
    const std::string name = dtype != data.end() && dtype->is_object() ? textAt(*dtype, "_data") : std::string();
    if (name == "bfloat16") return DType::BF16;
    if (name == "float16") return DType::F16;
    return name == "float32" ? std::optional(DType::F32) : std::nullopt;
}

bool isDecoded(const std::string& type) {
    return type == "Int8Tensor" || type == "IntxUnpackedToInt8Tensor" || type == "Float8Tensor";
}

Result<std::shared_ptr<const Layer>> readLayer(const Checkpoint& checkpoint, const TensorInfo& codes,
                                               const std::string& stem, const nlohmann::json& settings) {
    const std::string type = textAt(settings, "_type");
    if (!isDecoded(type)) return fail(fmt::format("the class {} of torchao is not decoded", quotedName(type)));
    const auto data = settings.find("_data");
    if (data == settings.end() || !data->is_object()) return fail("its metadata has no _data");
    const auto dtype = valueTypeOf(*data);
    if (!dtype) return fail("its metadata says no type of its values");
    const std::size_t rank = codes.shape.size();
    if (rank < 2 || codes.elements == 0)
        return fail(fmt::format("{} is {}, no matrix", quotedName(codes.name), shapeText(codes.shape)));
    const auto block = data->find("block_size");
    const bool isList = block != data->end() && block->is_array() && block->size() == rank;
    std::vector<std::int64_t> scaleShape;
    for (std::size_t i = 0; isList && i < rank; ++i) {
        const auto& size = (*block)[i];
        if (!size.is_number_unsigned() || size.get<std::uint64_t>() == 0 || size > std::uint64_t(1) << 48) break;
        scaleShape.push_back(groupsOf(codes.shape[i], size.get<std::int64_t>()));
        if (i + 2 < rank && scaleShape.back() != codes.shape[i]) break; // a block of several matrices
    }
    if (scaleShape.size() != rank) return fail("its metadata says no block_size that is read");
    const bool isFloat = type == "Float8Tensor";
    const bool isCode =
        isFloat ? codes.dtype == DType::F8_E4M3 || codes.dtype == DType::F8_E5M2 : codes.dtype == DType::I8;
    if (!isCode) return fail(fmt::format("{} is {}", quotedName(codes.name), codes.typeId()));
    const TensorInfo* scale = checkpoint.find(stem + "_scale");
    const bool isOne = scale && scale->elements == 1 &&
                       std::all_of(scaleShape.begin(), scaleShape.end(), [](auto n) { return n == 1; });
    const std::vector<std::int64_t> wanted = isOne ? std::vector(scale->shape.begin(), scale->shape.end()) : scaleShape;
    auto scales = checkpoint.field(stem + "_scale", {DType::F32, DType::BF16, DType::F16}, wanted);
    if (!scales) return tl::unexpected(scales.error());
    RowCoding coding;
    coding.type = kTypes[isFloat];
    coding.dtype = *dtype, coding.shape = codes.shape, coding.rowBytes = std::uint64_t(codes.shape.back());
    coding.levels = !isFloat ? signedByteLevels() : codes.dtype == DType::F8_E5M2 ? e5m2Levels() : e4m3Levels();
    coding.group = (*block)[rank - 1].get<std::uint64_t>(),
    coding.rowsPerScale = (*block)[rank - 2].get<std::uint64_t>();
    coding.description = fmt::format("torchao {}, a scale for each {} x {}", type, coding.rowsPerScale, coding.group);
    coding.fields = {checkpoint.field(codes), std::move(*scales)};
    if (checkpoint.find(stem + "_zero_point")) {
        auto zeros = checkpoint.field(stem + "_zero_point", {DType::I8, DType::I32, DType::F32, DType::BF16}, wanted);
        if (!zeros) return tl::unexpected(zeros.error());
        coding.zeros = 2;
        coding.fields.push_back(std::move(*zeros));
    }
    return rowCodedLayer(std::move(coding));
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
    checkpoint.take(kTorchAoConvention, name, isDecoded(textAt(*tree, "_type")) ? Evidence::Said : Evidence::Alike,
                    readLayer(checkpoint, field, stem, *tree), {field.name});
}

} // namespace

const Convention kTorchAoConvention = {
    "torchao", "torchao", "the class and the block in the metadata of the file", kTypes, kEnds, take, kMethods};

} // namespace qs
