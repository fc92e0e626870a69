// SPDX-License-Identifier: GPL-3.0-or-later
// NVFP4 in the layout of NVIDIA ModelOpt: pairs of 4-bit floats, an E4M3 scale per block of 16, and one scale per
// tensor. Value = level * block scale * tensor scale; compressed-tensors stores the inverse of the tensor scale
// instead. FP8 layers have the fields of compressed-tensors.
// Source: nvidia-modelopt:`modelopt/torch/quantization/qtensor/nvfp4_tensor.py`.
#include "core/model/conventions/checkpoint.h"
#include "core/model/conventions/convention.h"
#include "core/model/conventions/row_coded.h"

#include "core/base/tensor_name.h"
#include "core/base/text.h"

#include <fmt/format.h>

namespace qs {
namespace {

constexpr std::string_view kEnds[] = {".weight_scale_2"};
constexpr const char* kTypes[] = {"ModelOpt-nvfp4"};
constexpr std::string_view kMethods[] = {"modelopt", "modelopt_fp4"};
constexpr std::int64_t kBlock = 16;
/// In ModelOpt's table both zeros are positive.
constexpr float kLevels[16] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6, 0, -0.5f, -1, -1.5f, -2, -3, -4, -6};

Result<RowCoding> readLayer(const Checkpoint& checkpoint, const std::string& module, const TensorInfo& global) {
    const TensorInfo* codes = checkpoint.find(module + ".weight");
    if (!codes) return fail(fmt::format("{} is missing", quotedName(module + ".weight")));
    if (codes->dtype != DType::U8 || codes->shape.size() != 2 || codes->elements == 0)
        return fail(fmt::format("{} is {} {}, not a matrix of U8", quotedName(codes->name), codes->typeId(),
                                shapeText(codes->shape)));
    RowCoding coding;
    coding.shape = {codes->shape[0], codes->shape[1] * 2};
    if (coding.shape[1] % kBlock != 0)
        return fail(fmt::format("rows of {} are not whole blocks of {}", coding.shape[1], kBlock));
    const std::int64_t wanted[] = {coding.shape[0], coding.shape[1] / kBlock};
    auto scales = checkpoint.field(module + ".weight_scale", {DType::F8_E4M3}, wanted);
    if (!scales) return tl::unexpected(scales.error());
    if (global.dtype != DType::F32 || global.elements != 1)
        return fail(
            fmt::format("{} is {} {}, not one F32", quotedName(global.name), global.typeId(), shapeText(global.shape)));
    coding.type = kTypes[0];
    coding.description = fmt::format("NVIDIA ModelOpt, NVFP4, blocks of {}, one scale of the tensor", kBlock);
    coding.dtype = checkpoint.config().dtype.value_or(DType::BF16);
    coding.bits = 4;
    coding.rowBytes = std::uint64_t(codes->shape[1]);
    coding.levels = kLevels;
    coding.group = std::uint64_t(kBlock);
    coding.scaleCoding = ScaleCoding::E4m3;
    coding.global = 2;
    coding.globalMultiplies = true;
    coding.fields = {checkpoint.field(*codes), std::move(*scales), checkpoint.field(global)};
    if (const TensorInfo* inputs = checkpoint.find(module + ".input_scale"))
        coding.fields.push_back(checkpoint.field(*inputs));
    return coding;
}

void take(Checkpoint& checkpoint, const TensorInfo& field, std::string_view end) {
    const std::string module = field.name.substr(0, field.name.size() - end.size());
    if (checkpoint.find(module + ".pre_quant_scale")) return; // its inputs are scaled; reported by sayUndecoded()
    if (checkpoint.find(module + ".comfy_quant")) return;     // ComfyUI has the same names
    const CheckpointConfig& config = checkpoint.config();
    const std::string algorithm = textAt(config.quantization, "quant_algo"); // others have these names too
    auto layer = readLayer(checkpoint, module, field).map(rowCodedLayer);
    const bool isSaid = config.method.starts_with("modelopt") && (layer || algorithm == "NVFP4");
    checkpoint.take(kModelOptConvention, module + ".weight", isSaid ? Evidence::Said : Evidence::Alike,
                    std::move(layer));
}

} // namespace

const Convention kModelOptConvention = {
    "modelopt-nvfp4", "NVIDIA ModelOpt (NVFP4)", "quant_method modelopt, or hf_quant_config.json", kTypes, kEnds, take,
    kMethods};

} // namespace qs
