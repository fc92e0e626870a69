// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/analysis/diff/diff_names.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace qs {
namespace {

struct Alias {
    std::string_view theirs; ///< the last word of the name, or the last two if one is ambiguous
    std::string_view role;   ///< in GGUF
    int layers = 1;          ///< 1: only inside layers; 0: only outside; -1: both
};
// Words from GGUF; Hugging Face models Llama, Mistral, Qwen and Gemma; Meta's Llama; GPT-2; GPT-NeoX, Bloom and Falcon;
// OPT; MPT; DBRX.
constexpr Alias kAliases[] = {
    {"mlp.gate", "ffn_gate_inp"},
    {"mlp.router", "ffn_gate_inp"},
    {"router.layer", "ffn_gate_inp"},
    {"block_sparse_moe.gate", "ffn_gate_inp"},
    {"ffn_gate_inp", "ffn_gate_inp"},
    {"attn.c_proj", "attn_output"},
    {"mlp.c_proj", "ffn_down"},
    {"attention.dense", "attn_output"},
    {"self_attention.dense", "attn_output"},
    {"attn.out_proj", "attn_output"},
    {"attn_q", "attn_q"},
    {"q_proj", "attn_q"},
    {"wq", "attn_q"},
    {"query", "attn_q"},
    {"attn_k", "attn_k"},
    {"k_proj", "attn_k"},
    {"wk", "attn_k"},
    {"key", "attn_k"},
    {"attn_v", "attn_v"},
    {"v_proj", "attn_v"},
    {"wv", "attn_v"},
    {"value", "attn_v"},
    {"attn_qkv", "attn_qkv"},
    {"qkv_proj", "attn_qkv"},
    {"c_attn", "attn_qkv"},
    {"query_key_value", "attn_qkv"},
    {"Wqkv", "attn_qkv"},
    {"qkv", "attn_qkv"},
    {"attn_output", "attn_output"},
    {"o_proj", "attn_output"},
    {"out_proj", "attn_output"},
    {"wo", "attn_output"},
    {"ffn_gate", "ffn_gate"},
    {"gate_proj", "ffn_gate"},
    {"w1", "ffn_gate"},
    {"ffn_up", "ffn_up"},
    {"up_proj", "ffn_up"},
    {"w3", "ffn_up"},
    {"v1", "ffn_up"},
    {"c_fc", "ffn_up"},
    {"dense_h_to_4h", "ffn_up"},
    {"fc1", "ffn_up"},
    {"ffn_down", "ffn_down"},
    {"down_proj", "ffn_down"},
    {"w2", "ffn_down"},
    {"dense_4h_to_h", "ffn_down"},
    {"fc2", "ffn_down"},
    {"gate_up_proj", "ffn_gate_up"},
    {"attn_norm", "attn_norm"},
    {"input_layernorm", "attn_norm"},
    {"attention_norm", "attn_norm"},
    {"ln_1", "attn_norm"},
    {"ffn_norm", "ffn_norm"},
    {"post_attention_layernorm", "ffn_norm"},
    {"ln_2", "ffn_norm"},
    {"output_norm", "output_norm", 0},
    {"norm", "output_norm", 0},
    {"ln_f", "output_norm", 0},
    {"final_layernorm", "output_norm", 0},
    {"final_layer_norm", "output_norm", 0},
    {"token_embd", "token_embd", 0},
    {"embed_tokens", "token_embd", 0},
    {"wte", "token_embd", 0},
    {"tok_embeddings", "token_embd", 0},
    {"embed_in", "token_embd", 0},
    {"word_embeddings", "token_embd", 0},
    {"lm_head", "output", 0},
    {"embed_out", "output", 0},
    {"output", "output", 0},
};

/// Words that are ignored: wrappers of frameworks, and suffixes of ONNX exporters.
constexpr std::string_view kNoise[] = {
    "model", "module", "_orig_mod", "base_model", "transformer", "language_model", "gpt_neox", "decoder",   "layers",
    "h",     "blk",    "blocks",    "MatMul",     "Gemm",        "Gather",         "linear",   "base_layer"};

bool isNumber(std::string_view word) {
    return !word.empty() && word.size() < 9 && word.find_first_not_of("0123456789") == word.npos;
}

std::vector<std::string_view> wordsOf(std::string_view name) {
    std::vector<std::string_view> words;
    while (!name.empty()) {
        const auto end = std::min(name.find_first_of("./"), name.size());
        if (end > 0) words.push_back(name.substr(0, end));
        name.remove_prefix(std::min(end + 1, name.size()));
    }
    return words;
}

} // namespace

std::string nameOfExpert(std::string_view tensor, std::int64_t expert) { return fmt::format("{}[{}]", tensor, expert); }

std::optional<std::string_view> tensorOfExpert(std::string_view name) {
    const auto open = name.rfind('[');
    if (!name.ends_with(']') || open == name.npos || !isNumber(name.substr(open + 1, name.size() - open - 2)))
        return {};
    return name.substr(0, open);
}

namespace {

/// The number of the expert, which is removed from the words with the word before it; "" if there is none.
std::string_view takeExpert(std::vector<std::string_view>& told) {
    for (std::size_t i = 0; i < told.size(); ++i) {
        if (told[i] != "experts" && told[i] != "switch_mlp") continue;
        const bool isNumbered = i + 1 < told.size() && isNumber(told[i + 1]);
        const std::string_view number = isNumbered ? told[i + 1] : std::string_view();
        told.erase(told.begin() + std::ptrdiff_t(i), told.begin() + std::ptrdiff_t(i + 1 + isNumbered));
        return number;
    }
    return {};
}

} // namespace

std::string canonicalTensorName(std::string_view name) {
    std::string_view expert;
    if (const auto whole = tensorOfExpert(name))
        expert = name.substr(whole->size() + 1, name.size() - whole->size() - 2), name = *whole;
    auto words = wordsOf(name);
    std::string_view kind = "weight";
    if (!words.empty() && (words.back() == "weight" || words.back() == "bias")) {
        kind = words.back();
        words.pop_back();
    }
    // gpt-oss: "experts.gate_up_proj_bias"
    if (constexpr std::string_view end = "_bias"; !expert.empty() && !words.empty() && words.back().ends_with(end))
        words.back().remove_suffix(end.size()), kind = "bias";
    std::string_view layer;
    std::vector<std::string_view> told;
    for (const auto word : words) {
        if (std::find(std::begin(kNoise), std::end(kNoise), word) != std::end(kNoise)) continue;
        if (layer.empty() && isNumber(word))
            layer = word;
        else
            told.push_back(word);
    }
    const auto all = told;
    if (const std::string_view number = takeExpert(told); expert.empty()) expert = number;
    if (!expert.empty() && !told.empty() && told.back().ends_with("_exps")) told.back().remove_suffix(5);
    if (expert.empty()) told = all;
    std::string role;
    for (const Alias& alias : kAliases) {
        if (told.empty() || (alias.layers == 1 && layer.empty()) || (alias.layers == 0 && !layer.empty())) continue;
        const bool two = alias.theirs.find('.') != std::string_view::npos;
        const std::string last = two && told.size() > 1 ? fmt::format("{}.{}", told[told.size() - 2], told.back())
                                                        : std::string(told.back());
        if (last == alias.theirs) {
            role = alias.role;
            break;
        }
    }
    // Experts and other towers repeat the same roles. They keep their own words instead.
    if (!role.empty() && std::ranges::any_of(told, isNumber)) role.clear();
    if (!role.empty() && !expert.empty() && !layer.empty())
        return fmt::format("blk.{}.expert.{}.{}.{}", layer, expert, role, kind);
    const auto isShared = [](std::string_view word) { return word == "shared_experts" || word == "shared_expert"; };
    if (!role.empty() && std::ranges::any_of(told, isShared)) role += "_shexp";
    if (role.empty() || !expert.empty()) role = fmt::format("{}", fmt::join(all, "."));
    return layer.empty() ? fmt::format("{}.{}", role, kind) : fmt::format("blk.{}.{}.{}", layer, role, kind);
}

const std::vector<FusedRole>& fusedRoles() {
    static const std::vector<FusedRole> roles = {{"attn_qkv", {"attn_q", "attn_k", "attn_v"}},
                                                 {"ffn_gate_up", {"ffn_gate", "ffn_up"}}};
    return roles;
}

std::string withRole(const std::string& canonical, std::string_view role, std::string_view other) {
    const std::string middle = fmt::format(".{}.", role);
    const auto at = canonical.rfind(middle);
    if (at == std::string::npos) return {};
    return canonical.substr(0, at) + fmt::format(".{}.", other) + canonical.substr(at + middle.size());
}

} // namespace qs
