// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/layouts/linear_weights.h"

#include "core/base/text.h"
#include "core/model/computed_type.h"
#include "core/model/conventions/checkpoint.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <set>

namespace qs {
namespace {

constexpr std::string_view kWeight = ".weight";

/// The output head of networks of transformers, where it is not lm_head or is no usual linear layer.
struct NetworkHead {
    std::string_view network; ///< beginning of model_type
    std::string_view module;
    const char* whyStays = ""; ///< as the end of a sentence; "": it is quantized where it has its own weights
};

constexpr const char* kTypeOfHead =
    "the network computes in the type of this matrix, so loaders take no codes for it (the output head of Mamba)";
constexpr const char* kRenamedHead = "transformers loads embed_out under another name, and its codes under none";
/// Source: modeling files and conversion_mapping.py of transformers 5.23.
constexpr NetworkHead kHeads[] = {{"albert", "predictions.decoder"},
                                  {"bert", "cls.predictions.decoder"},
                                  {"camembert", "lm_head.decoder"},
                                  {"data2vec-text", "lm_head.decoder"},
                                  {"deberta", "cls.predictions.decoder"},
                                  {"distilbert", "vocab_projector"},
                                  {"electra", "generator_lm_head"},
                                  {"esm", "lm_head.decoder"},
                                  {"ernie", "cls.predictions.decoder"},
                                  {"falcon_mamba", "lm_head", kTypeOfHead},
                                  {"flaubert", "pred_layer.proj"},
                                  {"gpt_neox", "lm_head", kRenamedHead},
                                  {"layoutlm", "cls.predictions.decoder"},
                                  {"longformer", "lm_head.decoder"},
                                  {"mamba", "lm_head", kTypeOfHead},
                                  {"megatron-bert", "cls.predictions.decoder"},
                                  {"mobilebert", "cls.predictions.decoder"},
                                  {"modernbert", "decoder"},
                                  {"mpnet", "lm_head.decoder"},
                                  {"mra", "cls.predictions.decoder"},
                                  {"nystromformer", "cls.predictions.decoder"},
                                  {"roberta", "lm_head.decoder"},
                                  {"squeezebert", "cls.predictions.decoder"},
                                  {"visual_bert", "cls.predictions.decoder"},
                                  {"whisper", "proj_out"},
                                  {"xlm-roberta", "lm_head.decoder"},
                                  {"xlm", "pred_layer.proj"},
                                  {"xlnet", "lm_loss"}};

/// Names of checkpoints whose modules have other names in transformers 5.23. Its settings of quantized layers are compared
/// with the names of the network.
struct Renaming {
    std::string_view network; ///< model_type
    std::string_view from, to;
};
constexpr Renaming kRenamings[] = {{"gpt_neox", "embed_out", "lm_head"},
                                   {"phimoe", "block_sparse_moe.gate", "mlp.router"},
                                   {"vit", "encoder.layer.", "layers."},
                                   {"vit", "attention.query", "q_proj"},
                                   {"vit", "attention.key", "k_proj"},
                                   {"vit", "attention.value", "v_proj"},
                                   {"vit", "attention.output.dense", "attention.o_proj"},
                                   {"vit", "intermediate.dense", "mlp.fc1"},
                                   {"vit", "output.dense", "mlp.fc2"},
                                   {"dinov2", "attention.attention.query", "attention.q_proj"},
                                   {"dinov2", "attention.attention.key", "attention.k_proj"},
                                   {"dinov2", "attention.attention.value", "attention.v_proj"},
                                   {"dinov2", "attention.output.dense", "attention.o_proj"},
                                   {"swin", "attention.self.query", "attention.q_proj"},
                                   {"swin", "attention.self.key", "attention.k_proj"},
                                   {"swin", "attention.self.value", "attention.v_proj"},
                                   {"swin", "attention.output.dense", "attention.o_proj"},
                                   {"swin", "intermediate.dense", "mlp.fc1"},
                                   {"swin", "output.dense", "mlp.fc2"}};

/// Part of PyTorch's MultiheadAttention, which multiplies by this matrix itself: "head.attention.out_proj.weight" beside
/// "head.attention.in_proj_weight".
bool isInMultiheadAttention(const Model& model, std::string_view name) {
    constexpr std::string_view kOut = ".out_proj.weight";
    if (name.ends_with(".in_proj_weight")) return true;
    if (!name.ends_with(kOut)) return false;
    return model.find(std::string(name.substr(0, name.size() - kOut.size())) + ".in_proj_weight") != nullptr;
}

const NetworkHead* headOf(const Model& model) {
    const std::string type = readCheckpointConfig(model).modelType;
    const auto found =
        std::ranges::find_if(kHeads, [&](const NetworkHead& row) { return type.starts_with(row.network); });
    return found == std::end(kHeads) ? nullptr : found;
}

} // namespace

NetworkNames::NetworkNames(const Model& model) : network_(readCheckpointConfig(model).modelType) {}

std::string NetworkNames::inNetwork(const std::string& module) const {
    std::string out = module;
    for (const Renaming& row : kRenamings)
        if (network_ == row.network)
            if (const auto at = out.find(row.from); at != out.npos) out.replace(at, row.from.size(), row.to);
    return out;
}

std::string transformersKeeps(const Model& model, const TensorInfo& tensor) {
    if (isInMultiheadAttention(model, tensor.name))
        return "PyTorch's MultiheadAttention multiplies by this matrix itself, so loaders make no quantized layer of "
               "it";
    if (tensor.role != TensorRole::Head) return {};
    const NetworkHead* head = headOf(model);
    return head ? head->whyStays : "";
}

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
    if (auto named = hasWeightName(tensor); !named) return named; // a matrix that the network multiplies by itself
    // _keep_in_fp32_modules of T5, mT5, UMT5, Pop2Piano and UDOP; the network reads the weight of this module itself.
    if (!tensor.name.ends_with(".DenseReluDense.wo.weight")) return {};
    return fail("transformers keeps this matrix of T5 in full precision");
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
    const NetworkNames names(model);
    for (std::size_t i = 0, stored = kept.size(); i < stored; ++i)
        if (auto other = names.inNetwork(kept[i]); other != kept[i]) {
            head = head || other == "lm_head";
            kept.push_back(std::move(other));
        }
    if (!head) kept.emplace_back("lm_head"); // tied to the embedding
    const NetworkHead* other = headOf(model);
    if (other && other->module != "lm_head" && !quantized.contains(std::string(other->module) + std::string(kWeight)) &&
        std::ranges::find(kept, other->module) == kept.end())
        kept.emplace_back(other->module);
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
