// SPDX-License-Identifier: GPL-3.0-or-later
// Small floats with scales that multiply: NAME_scale_inv of DeepSeek-V3 and of transformers (a scale per block, per
// tensor or per expert), and MODULE.scale of DeepSeek-V4 (powers of two; its experts hold 4-bit floats in pairs).
// Sources: transformers:`integrations/finegrained_fp8.py`; DeepSeek-V4:`inference/convert.py`.
#include "core/base/lists.h"
#include "core/model/conventions/checkpoint.h"
#include "core/model/conventions/convention.h"
#include "core/model/conventions/row_coded.h"

#include "core/base/tensor_name.h"
#include "core/base/text.h"

#include <algorithm>
#include <fmt/format.h>

namespace qs {
namespace {

constexpr std::string_view kEnds[] = {"_scale_inv"}, kScaleEnds[] = {".scale"};
constexpr const char *kTypes[] = {"fp8-blocks", "fp8-tensor"}, *kScaleTypes[] = {"fp8-scale", "fp4-scale"};
constexpr std::string_view kMethods[] = {"fp8"};
constexpr std::string_view kInverse = "inverse"; ///< the weight_scale_semantics that is known
constexpr auto kFloatScales = {DType::F32, DType::BF16, DType::F16, DType::U8, DType::F8_E8M0};

struct BlockSize {
    std::int64_t rows = 128, columns = 128;
};

/// weight_block_size of the settings; null there means no blocks.
Result<std::optional<BlockSize>> blockSize(const CheckpointConfig& config) {
    const auto& said = valueAt(config.quantization, "weight_block_size");
    if (said.is_null()) return std::optional<BlockSize>();
    const auto isSize = [&](std::size_t i) {
        return said[i].is_number_unsigned() && said[i] > 0 && said[i] <= std::uint64_t(1) << 31;
    };
    if (!said.is_array() || said.size() != 2 || !isSize(0) || !isSize(1))
        return fail(fmt::format("weight_block_size of {} is not two sizes", config.file));
    return std::optional(BlockSize{std::int64_t(said[0]), std::int64_t(said[1])});
}

/// True if the scales are one for each matrix: [], [1], [1, 1], or [experts, 1, 1].
bool isOnePerMatrix(const TensorInfo& scales, const TensorInfo& codes) {
    if (scales.elements == 1 && scales.shape.size() <= 2 && codes.shape.size() == 2) return true;
    return codes.shape.size() == 3 && scales.elements == std::uint64_t(codes.shape[0]) && !scales.shape.empty() &&
           scales.shape[0] == codes.shape[0] && scales.shape.size() <= 3;
}

/// Codes of 8 bits with scales that are Plain or powers of two; the block is not yet known.
Result<RowCoding> codingOf(const Checkpoint& checkpoint, const TensorInfo& codes, const TensorInfo& scales) {
    const std::size_t rank = codes.shape.size();
    const bool isE5m2 = codes.dtype == DType::F8_E5M2;
    if ((codes.dtype != DType::F8_E4M3 && !isE5m2) || (rank != 2 && rank != 3) || codes.elements == 0)
        return fail(fmt::format("{} is {} {}, not a matrix of F8_E4M3 or F8_E5M2", quotedName(codes.name),
                                codes.typeId(), shapeText(codes.shape)));
    if (!contains(kFloatScales, scales.dtype))
        return fail(fmt::format("{} is {}, not F32, F16, BF16 or F8_E8M0", quotedName(scales.name), scales.typeId()));
    RowCoding coding;
    coding.dtype = checkpoint.config().dtype.value_or(DType::BF16);
    coding.shape = codes.shape;
    coding.rowBytes = std::uint64_t(codes.shape.back());
    coding.levels = isE5m2 ? e5m2Levels() : e4m3Levels();
    if (scales.dtype == DType::U8 || scales.dtype == DType::F8_E8M0) coding.scaleCoding = ScaleCoding::E8m0;
    coding.fields = {checkpoint.field(codes), checkpoint.field(scales)};
    return coding;
}

/// GPTQModel: `weight_scale_semantics` "inverse": a value is its code over the scale. With `weight_scale_method` "row"
/// each row has a scale. Source: GPTQModel:`nn_modules/qlinear/fp8.py`.
Result<RowCoding> asSaid(const CheckpointConfig& config, RowCoding coding) {
    const std::string semantics = textAt(config.quantization, "weight_scale_semantics");
    if (semantics.empty()) return coding;
    if (semantics != kInverse)
        return fail(fmt::format("{} says weight_scale_semantics '{}', which is not known", config.file,
                                escapeForPeople(semantics, 40)));
    coding.scalesDivide = true;
    return coding;
}

bool hasRowScales(const CheckpointConfig& config, const RowCoding& coding) {
    const TensorInfo& scales = coding.fields[1].info;
    return textAt(config.quantization, "weight_scale_method") == "row" && coding.shape.size() == 2 &&
           !scales.shape.empty() && scales.shape[0] == coding.shape[0] &&
           scales.elements == std::uint64_t(coding.shape[0]);
}

/// Sets the block that a scale covers, and the description.
Result<RowCoding> inBlocks(RowCoding coding, std::optional<BlockSize> said, const char* types[2]) {
    const TensorInfo &codes = coding.fields[0].info, &scales = coding.fields[1].info;
    const std::size_t rank = codes.shape.size();
    const BlockSize block = said.value_or(BlockSize());
    auto wanted = codes.shape.sizes();
    wanted[rank - 2] = groupsOf(wanted[rank - 2], block.rows);
    wanted[rank - 1] = groupsOf(wanted[rank - 1], block.columns);
    if (scales.shape == wanted && (said || !isOnePerMatrix(scales, codes))) {
        coding.type = types[0];
        coding.group = std::uint64_t(block.columns), coding.rowsPerScale = std::uint64_t(block.rows);
        coding.description = fmt::format("8-bit floats, a scale for each {} x {}", block.rows, block.columns);
        return coding;
    }
    if (said || !isOnePerMatrix(scales, codes))
        return fail(fmt::format("{} is {} {}, not {} {}", quotedName(scales.name), scales.typeId(),
                                shapeText(scales.shape), scales.typeId(), shapeText(wanted)));
    coding.type = types[1];
    coding.group = std::uint64_t(codes.shape[rank - 1]), coding.rowsPerScale = std::uint64_t(codes.shape[rank - 2]);
    coding.description = rank == 2 ? "8-bit floats, a scale for the tensor" : "8-bit floats, a scale for each expert";
    return coding;
}

/// Scales of the inputs belong to the layer, but the weights do not depend on them.
void addInputScales(const Checkpoint& checkpoint, RowCoding& coding, const std::string& name) {
    const std::string module = name.ends_with(".weight") ? name.substr(0, name.size() - 7) + "." : name + "_";
    for (const char* end : {"activation_scale", "input_scale"})
        if (const TensorInfo* more = checkpoint.find(module + end)) coding.fields.push_back(checkpoint.field(*more));
}

Result<RowCoding> readScaleInv(const Checkpoint& checkpoint, const std::string& name, const TensorInfo& scales) {
    const TensorInfo* codes = checkpoint.find(name);
    if (!codes) return fail(fmt::format("{} is missing", quotedName(name)));
    const auto block = blockSize(checkpoint.config());
    if (!block) return tl::unexpected(block.error());
    auto coding = codingOf(checkpoint, *codes, scales)
                      .and_then([&](RowCoding read) {
                          static const char* types[2] = {kTypes[0], kTypes[1]};
                          if (!hasRowScales(checkpoint.config(), read)) return inBlocks(std::move(read), *block, types);
                          read.type = kTypes[0], read.group = std::uint64_t(read.shape[1]), read.rowsPerScale = 1;
                          read.description = "8-bit floats, a scale for each row";
                          return Result<RowCoding>(std::move(read));
                      })
                      .and_then([&](RowCoding read) { return asSaid(checkpoint.config(), std::move(read)); });
    if (coding) addInputScales(checkpoint, *coding, name);
    return coding;
}

/// What the settings say of a layer; `other`: what its names and shapes say. A layer that was not read contradicts only
/// settings that say how large its blocks are, and how its scales are meant.
Evidence evidenceOf(const CheckpointConfig& config, bool wasRead, Evidence other) {
    if (config.method.find("fp8") == std::string::npos) return other;
    const std::string semantics = textAt(config.quantization, "weight_scale_semantics");
    const bool saysAll =
        !valueAt(config.quantization, "weight_block_size").is_null() && (semantics.empty() || semantics == kInverse);
    return wasRead || saysAll ? Evidence::Said : Evidence::Alike;
}

void take(Checkpoint& checkpoint, const TensorInfo& field, std::string_view end) {
    const std::string name = field.name.substr(0, field.name.size() - end.size());
    if (!checkpoint.find(name) && checkpoint.config().method.empty()) return; // its codes have another name
    auto layer = readScaleInv(checkpoint, name, field).map(rowCodedLayer);
    checkpoint.take(kFp8BlocksConvention, name, evidenceOf(checkpoint.config(), layer.has_value(), Evidence::Shaped),
                    std::move(layer));
}

/// Pairs of 4-bit floats, the first in the low bits, with a power of two for 32 columns.
Result<RowCoding> readPairs(const Checkpoint& checkpoint, const TensorInfo& codes, const TensorInfo& scales) {
    auto shape = codes.shape.sizes();
    shape.back() *= 2;
    auto wanted = shape;
    wanted.back() = groupsOf(shape.back(), 32);
    if (scales.shape != wanted)
        return fail(
            fmt::format("{} is {}, not {}", quotedName(scales.name), shapeText(scales.shape), shapeText(wanted)));
    RowCoding coding;
    coding.type = kScaleTypes[1];
    coding.description = "4-bit floats in pairs, a power of two for 32 columns";
    coding.dtype = checkpoint.config().dtype.value_or(DType::BF16);
    coding.rowBytes = std::uint64_t(codes.shape.back());
    coding.shape = std::move(shape);
    coding.bits = 4, coding.group = 32;
    coding.levels = e2m1Levels();
    coding.scaleCoding = ScaleCoding::E8m0;
    coding.fields = {checkpoint.field(codes), checkpoint.field(scales)};
    return coding;
}

void takeScale(Checkpoint& checkpoint, const TensorInfo& field, std::string_view end) {
    const std::string module = field.name.substr(0, field.name.size() - end.size()), name = module + ".weight";
    const TensorInfo* codes = checkpoint.find(name);
    const bool isPower = field.dtype == DType::F8_E8M0, isAsked = checkpoint.isAsked(kFp8ScaleConvention);
    if (!codes || codes->shape.size() < 2 || codes->elements == 0 || (!isPower && !isAsked)) return; // another scale
    const bool isPair = codes->dtype == DType::I8 || codes->dtype == DType::U8 || codes->dtype == DType::F4;
    if (!isPair && codes->dtype != DType::F8_E4M3 && codes->dtype != DType::F8_E5M2) return;
    const auto block = blockSize(checkpoint.config());
    static const char* types[2] = {kScaleTypes[0], kScaleTypes[0]};
    auto coding = isPair   ? readPairs(checkpoint, *codes, field)
                  : !block ? tl::unexpected(block.error())
                           : codingOf(checkpoint, *codes, field).and_then([&](RowCoding read) {
                                 return inBlocks(std::move(read), *block, types);
                             });
    const Evidence evidence = evidenceOf(checkpoint.config(), coding.has_value(), Evidence::Alike);
    checkpoint.take(kFp8ScaleConvention, name, evidence, std::move(coding).map(rowCodedLayer));
}

} // namespace

const Convention kFp8BlocksConvention = {"fp8-blocks",
                                         "fp8 with weight_scale_inv (DeepSeek, transformers)",
                                         "quant_method fp8, or the name of its scales",
                                         kTypes,
                                         kEnds,
                                         take,
                                         kMethods};
const Convention kFp8ScaleConvention = {"fp8-scale",
                                        "fp8 and fp4 with powers of two (DeepSeek-V4)",
                                        "quant_method fp8 beside scales of F8_E8M0",
                                        kScaleTypes,
                                        kScaleEnds,
                                        takeScale,
                                        kMethods};

} // namespace qs
