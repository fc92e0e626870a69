// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/recipes/names.h"

#include "core/analysis/diff/diff_names.h"
#include "core/layouts/linear_weights.h"
#include "core/model/gguf/imatrix.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>

namespace qs {
namespace {

/// Roles of GGUF and what others call them: Hugging Face by Llama's names, MaxText by those of its decoder layers.
struct RoleNames {
    std::string_view gguf, module, maxText;
    bool inLayer = true;
};
constexpr RoleNames kRoles[] = {
    {"attn_q", "self_attn.q_proj", "self_attention/query"},
    {"attn_k", "self_attn.k_proj", "self_attention/key"},
    {"attn_v", "self_attn.v_proj", "self_attention/value"},
    {"attn_qkv", "self_attn.qkv_proj", "self_attention/qkv_proj"},
    {"attn_output", "self_attn.o_proj", "self_attention/out"},
    {"ffn_gate", "mlp.gate_proj", "mlp/wi_0"},
    {"ffn_up", "mlp.up_proj", "mlp/wi_1"},
    {"ffn_down", "mlp.down_proj", "mlp/wo"},
    {"token_embd", "model.embed_tokens", "token_embedder", false},
    {"output", "lm_head", "decoder/logits_dense", false},
};
constexpr std::string_view kWeightEnd = ".weight";

/// "blk.3.attn_q.weight" as {"attn_q", 3}; an empty role: no such name.
struct GgufParts {
    const RoleNames* role = nullptr;
    std::string_view layer = {};
};
GgufParts partsOf(std::string_view gguf) {
    GgufParts parts;
    if (!gguf.ends_with(kWeightEnd)) return parts;
    gguf.remove_suffix(kWeightEnd.size());
    if (gguf.starts_with("blk.")) {
        gguf.remove_prefix(4);
        const auto dot = std::min(gguf.find('.'), gguf.size());
        parts.layer = gguf.substr(0, dot);
        gguf.remove_prefix(std::min(dot + 1, gguf.size()));
    }
    const auto found = std::ranges::find_if(
        kRoles, [&](const RoleNames& row) { return row.gguf == gguf && row.inLayer == !parts.layer.empty(); });
    if (found != std::end(kRoles)) parts.role = found;
    return parts;
}

/// The name in GGUF files; "": it is not known.
std::string ggufOf(std::string_view tensor) {
    if (partsOf(tensor).role || tensor.starts_with("blk.")) return std::string(tensor);
    if (auto known = ggufNameOf(tensor); !known.empty()) return known;
    auto canonical = canonicalTensorName(tensor);
    return partsOf(canonical).role ? canonical : std::string();
}

std::string moduleNameOf(std::string_view tensor) {
    const GgufParts parts = partsOf(tensor);
    if (!parts.role || !(tensor.starts_with("blk.") || !parts.role->inLayer)) return std::string(moduleOf(tensor));
    return parts.role->inLayer ? fmt::format("model.layers.{}.{}", parts.layer, parts.role->module)
                               : std::string(parts.role->module);
}

std::vector<std::string> flaxNamesOf(std::string_view tensor) {
    std::vector<std::string> names;
    const std::string gguf = ggufOf(tensor);
    if (const GgufParts parts = partsOf(gguf); parts.role) {
        if (parts.role->inLayer) {
            names.push_back(fmt::format("decoder/layers_{}/{}", parts.layer, parts.role->maxText));
            names.push_back(fmt::format("decoder/layers/{}", parts.role->maxText)); // where layers are scanned
        } else {
            names.emplace_back(parts.role->maxText);
        }
    }
    std::string path = moduleNameOf(tensor);
    std::replace(path.begin(), path.end(), '.', '/');
    names.push_back(std::move(path));
    return names;
}

} // namespace

const char* nameSpaceText(NameSpace space) {
    switch (space) {
    case NameSpace::Tensor: return "names of tensors";
    case NameSpace::Module: return "names of Hugging Face modules";
    case NameSpace::Gguf: return "names of GGUF files";
    case NameSpace::Flax: return "paths of Flax modules";
    case NameSpace::Quantizer: return "names of ModelOpt's quantizers";
    }
    return "";
}

std::vector<std::string> namesIn(NameSpace space, std::string_view tensor) {
    switch (space) {
    case NameSpace::Tensor: return {std::string(tensor)};
    case NameSpace::Module: return {moduleNameOf(tensor)};
    case NameSpace::Flax: return flaxNamesOf(tensor);
    case NameSpace::Quantizer: return {moduleNameOf(tensor) + ".weight_quantizer"};
    case NameSpace::Gguf: break;
    }
    auto gguf = ggufOf(tensor);
    return gguf.empty() ? std::vector<std::string>() : std::vector<std::string>{std::move(gguf)};
}

LayeredName layeredName(std::string_view name) {
    for (std::size_t at = name.find_first_of("0123456789"); at != name.npos;
         at = name.find_first_of("0123456789", at + 1)) {
        if (at == 0 || (name[at - 1] != '.' && name[at - 1] != '/' && name[at - 1] != '_')) continue;
        const auto end = std::min(name.find_first_not_of("0123456789", at), name.size());
        const bool isWord = end == name.size() || name[end] == '.' || name[end] == '/';
        int layer = -1;
        if (isWord) std::from_chars(name.data() + at, name.data() + end, layer);
        if (layer >= 0) return {std::string(name.substr(0, at)), layer, std::string(name.substr(end))};
        at = end - 1;
    }
    return {std::string(name), -1, {}};
}

} // namespace qs
