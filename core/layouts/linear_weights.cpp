// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/layouts/linear_weights.h"

#include "core/base/text.h"
#include "core/layouts/network_names.h"
#include "core/layouts/word_packing.h"
#include "core/model/computed_type.h"
#include "core/model/conventions/checkpoint.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <set>

namespace qs {
namespace {

constexpr std::string_view kWeight = ".weight";

/// An output head of networks of transformers that is no usual linear layer. Source: modeling files and
/// conversion_mapping.py of transformers 5.23.
struct NetworkHead {
    std::string_view network; ///< beginning of model_type
    const char* whyStays;     ///< as the end of a sentence
};

constexpr const char* kTypeOfHead =
    "the network computes in the type of this matrix, so loaders take no codes for it (the output head of Mamba)";
constexpr const char* kRenamedHead = "transformers loads embed_out under another name, and its codes under none";
constexpr NetworkHead kHeads[] = {{"falcon_mamba", kTypeOfHead}, {"gpt_neox", kRenamedHead}, {"mamba", kTypeOfHead}};

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

/// Floats of a byte with a scale per row are cut as the matrix is.
bool splitsByRows(const QuantSpec& spec) {
    return !hasIntegerCodes(spec) && spec.traits().bits == 8 && spec.scaleKind() != ScaleKind::Tensor &&
           spec.scaleKind() != ScaleKind::Block && !spec.tiles;
}

/// Names of quantized layers in the checkpoint and in the network.
Result<std::vector<std::string>> quantizedModules(const NetworkNames& names, std::span<const TakenTensor> taken) {
    std::vector<std::string> out;
    for (const TakenTensor& one : taken) {
        out.emplace_back(moduleOf(one.tensor->name));
        auto others = names.inNetwork(out.back());
        if (!others) continue; // not known, and so are those of kept layers
        if (others->size() > 1 && !splitsByRows(one.spec()))
            return fail(fmt::format("transformers makes {} layers of {} and splits no codes: --spec "
                                    "'REGEX=keep' for such matrices leaves them as they are",
                                    others->size(), escapeForPeople(one.tensor->name, 80)));
        if (others->front() != out.back()) out.insert(out.end(), others->begin(), others->end());
    }
    return out;
}

/// transformers takes a name in this list for a regular expression of the beginning of a name, and for the end of one. A
/// name that would keep a quantized layer too stands for itself alone.
std::string onlyItself(const std::string& name, std::span<const std::string> quantized) {
    const auto isKept = [&](const std::string& layer) {
        return layer.ends_with(name) || layer.starts_with(name + ".");
    };
    return std::ranges::any_of(quantized, isKept) ? "^" + name + "$" : name;
}

} // namespace

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
    return fail(
        "its name does not end with .weight, as that of a layer's matrix does: the network multiplies by it itself");
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
    if (auto named = hasWeightName(tensor); !named) return named;
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

Result<std::string> bitsandbytesConfig(const Model& model, std::span<const TakenTensor> taken,
                                       const BitsandbytesSettings& settings) {
    auto kept = keptModules(model, taken);
    if (!kept) return tl::unexpected(kept.error());
    const auto quantized = quantizedModules(NetworkNames(model), taken);
    if (!quantized) return tl::unexpected(quantized.error());
    for (std::string& name : *kept) name = onlyItself(name, *quantized);
    const bool four = !settings.type.empty();
    nlohmann::ordered_json json;
    json["quant_method"] = "bitsandbytes";
    json["_load_in_8bit"] = !four;
    json["_load_in_4bit"] = four;
    json["llm_int8_threshold"] = 6.0;
    json["llm_int8_skip_modules"] = *kept;
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

std::vector<std::string> keptMatrices(const Model& model, std::span<const TakenTensor> taken) {
    std::set<std::string_view> quantized;
    for (const TakenTensor& one : taken) quantized.insert(one.tensor->name);
    std::vector<std::string> kept;
    for (const TensorInfo& tensor : model.tensors) {
        // In some versions of loaders a router is a linear layer too.
        const bool isModule = tensor.shape.size() == 2 && (isLinearWeight(tensor) || tensor.role == TensorRole::Router);
        if (info(tensor.dtype).quantizable && tensor.name.ends_with(kWeight) && isModule &&
            !quantized.contains(tensor.name))
            kept.emplace_back(moduleOf(tensor.name));
    }
    return kept;
}

Result<std::vector<std::string>> keptModules(const Model& model, std::span<const TakenTensor> taken) {
    const NetworkNames names(model);
    const auto quantized = quantizedModules(names, taken);
    if (!quantized) return quantized;
    std::vector<std::string> kept = keptMatrices(model, taken);
    for (std::size_t i = 0, stored = kept.size(); i < stored; ++i) {
        auto all = names.all(kept[i]);
        if (!all) return all;
        kept.insert(kept.end(), std::make_move_iterator(all->begin() + 1), std::make_move_iterator(all->end()));
    }
    const auto addHead = [&](const std::string& head) {
        const auto isIn = [&](const std::string& name) { return name == head || name.starts_with(head + "."); };
        if (std::ranges::none_of(*quantized, isIn) && std::ranges::find(kept, head) == kept.end()) kept.push_back(head);
    };
    addHead("lm_head");
    for (const std::string& head : names.tiedHeads()) addHead(head);
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
