// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/layouts/linear_weights.h"

#include "core/base/text.h"
#include "core/model/computed_type.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <set>

namespace qs {
namespace {

constexpr std::string_view kWeight = ".weight";

} // namespace

std::string_view moduleOf(std::string_view tensorName) {
    return tensorName.ends_with(kWeight) ? tensorName.substr(0, tensorName.size() - kWeight.size()) : tensorName;
}

Result<void> isLinearWeight(const TensorInfo& tensor) {
    if (const char* why = rowOf(tensor.role).why; *why) return fail(why);
    if (tensor.shape.size() != 2)
        return fail(fmt::format("{} is not the matrix of a linear layer, the only kind that loaders replace",
                                shapeText(tensor.shape)));
    return {};
}

Result<void> hasWeightName(const TensorInfo& tensor) {
    if (tensor.name.ends_with(kWeight)) return {};
    return fail("its name does not end with .weight, as that of a layer's matrix does");
}

Result<void> isNamedLinearWeight(const TensorInfo& tensor) {
    const auto named = hasWeightName(tensor);
    return named ? isTransformersLinear(tensor) : named;
}

bool isExpertMatrix(std::string_view name) {
    constexpr std::string_view kExperts = ".experts.";
    const auto at = name.find(kExperts);
    if (at == name.npos) return false;
    name.remove_prefix(at + kExperts.size());
    const auto digits = std::min(name.find_first_not_of("0123456789"), name.size());
    return digits > 0 && digits < name.size() && name[digits] == '.';
}

Result<void> isTransformersLinear(const TensorInfo& tensor) {
    if (auto linear = isLinearWeight(tensor); !linear) return linear;
    // _keep_in_fp32_modules of T5, mT5, UMT5, Pop2Piano and UDOP; the network reads the weight of this module itself.
    if (!tensor.name.ends_with(".DenseReluDense.wo.weight")) return {};
    return fail("transformers keeps this matrix of T5 in full precision");
}

std::span<const char* const> bitsandbytesKeeps() {
    static constexpr const char* kKept[] = {"(^|\\.)(lm_head|embed_out|cls\\.predictions\\.decoder)\\.weight$"};
    return kKept;
}

Result<void> isBitsandbytesLinear(const TensorInfo& tensor) {
    if (isExpertMatrix(tensor.name))
        return fail(
            "transformers 5 stacks the experts of a layer, and bitsandbytes has no quantized layer for a stack: "
            "--spec 'experts=keep' leaves them as they are");
    return isTransformersLinear(tensor);
}

std::string bitsandbytesConfig(const Model& model, std::span<const TakenTensor> taken,
                               const BitsandbytesSettings& settings) {
    const bool four = !settings.type.empty();
    nlohmann::ordered_json json;
    json["quant_method"] = "bitsandbytes";
    json["_load_in_8bit"] = !four;
    json["_load_in_4bit"] = four;
    json["llm_int8_threshold"] = 6.0;
    json["llm_int8_skip_modules"] = keptModules(model, taken);
    json["llm_int8_enable_fp32_cpu_offload"] = false;
    json["llm_int8_has_fp16_weight"] = false;
    json["bnb_4bit_quant_type"] = four ? settings.type : "fp4"; // of LLM.int8 as transformers writes it
    json["bnb_4bit_use_double_quant"] = settings.nested;
    json["bnb_4bit_compute_dtype"] = four ? torchType(computedType(taken.front().tensor->dtype)) : "float32";
    json["bnb_4bit_quant_storage"] = "uint8";
    json["load_in_4bit"] = four;
    json["load_in_8bit"] = !four;
    return nlohmann::ordered_json{{"quantization_config", std::move(json)}}.dump();
}

std::vector<std::string> keptModules(const Model& model, std::span<const TakenTensor> taken) {
    std::set<std::string_view> quantized;
    for (const TakenTensor& one : taken) quantized.insert(one.tensor->name);
    std::vector<std::string> kept;
    bool head = quantized.contains("lm_head.weight");
    for (const TensorInfo& tensor : model.tensors) {
        const std::string module(moduleOf(tensor.name));
        // In some versions of loaders a router is a linear layer too.
        const bool isModule = tensor.shape.size() == 2 && (isLinearWeight(tensor) || tensor.role == TensorRole::Router);
        if (info(tensor.dtype).quantizable && tensor.name.ends_with(kWeight) && isModule &&
            !quantized.contains(tensor.name))
            kept.push_back(module), head = head || module == "lm_head";
    }
    if (!head) kept.emplace_back("lm_head"); // tied to the embedding
    return kept;
}

const char* torchType(DType dtype) {
    switch (dtype) {
    case DType::F16: return "float16";
    case DType::BF16: return "bfloat16";
    default: return "float32";
    }
}

} // namespace qs
