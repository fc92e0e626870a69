// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What the rows of architectures() share: names of weights, and the reader of configurations like Llama's.

#include "core/eval/network/architecture.h"

#include <array>
#include <functional>

namespace qs::eval {

// The rows, in the files beside this one.
extern const Architecture kLlamaRow, kMistralRow, kMixtralRow, kQwen2Row, kQwen3Row, kQwen3MoeRow, kSmollm3Row,
    kOlmo2Row, kPhi3Row, kGemmaRow, kGemma2Row, kGemma3Row, kGpt2Row, kBertRow;

inline constexpr std::string_view kPrefixes[] = {"model.", "", "language_model.model.", "model.language_model."};

inline constexpr std::array kModelNames = {
    WeightName{WeightRole::Embedding, "embed_tokens.weight", "token_embd.weight"},
    WeightName{WeightRole::FinalNorm, "norm.weight", "output_norm.weight"},
    WeightName{WeightRole::Head, "lm_head.weight", "output.weight"},
    WeightName{WeightRole::Head, "language_model.lm_head.weight", nullptr, false, true}}; // beside pictures or sound

/// Queries, keys and values; GGUF files may hold them as one.
constexpr std::array<WeightName, 5> attentionNames(bool bias) {
    return {{{WeightRole::QueryKeyValue, nullptr, "attn_qkv.weight", bias, true},
             {WeightRole::Query, "self_attn.q_proj.weight", "attn_q.weight", bias},
             {WeightRole::Key, "self_attn.k_proj.weight", "attn_k.weight", bias},
             {WeightRole::Value, "self_attn.v_proj.weight", "attn_v.weight", bias},
             {WeightRole::Output, "self_attn.o_proj.weight", "attn_output.weight"}}};
}
inline constexpr auto kAttentionNames = attentionNames(false);
inline constexpr std::array kQueryKeyNormNames = {
    WeightName{WeightRole::QueryNorm, "self_attn.q_norm.weight", "attn_q_norm.weight"},
    WeightName{WeightRole::KeyNorm, "self_attn.k_norm.weight", "attn_k_norm.weight"}};
inline constexpr std::array kNormsBeforeNames = {
    WeightName{WeightRole::AttentionNorm, "input_layernorm.weight", "attn_norm.weight"},
    WeightName{WeightRole::MlpNorm, "post_attention_layernorm.weight", "ffn_norm.weight"}};
constexpr std::array<WeightName, 3> mlpNames(Layers layers) {
    return {{{WeightRole::Gate, "mlp.gate_proj.weight", "ffn_gate.weight", false, false, layers},
             {WeightRole::Up, "mlp.up_proj.weight", "ffn_up.weight", false, false, layers},
             {WeightRole::Down, "mlp.down_proj.weight", "ffn_down.weight", false, false, layers}}};
}
inline constexpr auto kMlpNames = mlpNames(Layers::All);

/// Joins lists of names to one list.
template<std::size_t... N> constexpr auto joined(const std::array<WeightName, N>&... lists) {
    std::array<WeightName, (N + ...)> out{};
    std::size_t at = 0;
    const auto append = [&](const auto& list) {
        for (const WeightName& name : list) out[at++] = name;
    };
    (append(lists), ...);
    return out;
}

struct LlamaDefaults {
    double theta = 1e4;
    std::int64_t headSize = 0; ///< used if the key is missing; 0: hidden / heads
    double epsilon = 1e-6;
    bool isPartial = false; ///< its class reads partial_rotary_factor; the others turn whole heads and ignore the key
    bool tied = false;
    const char* activationKey = "hidden_act";
};
/// Reads the configuration of a family like Llama. Source: transformers models/llama/modeling_llama.py.
Network readLlamaLike(Config& config, const LlamaDefaults& defaults);
/// Reads the configuration of transformers models/qwen3, with dense layers.
Network readQwen3(Config& config);

/// The activation that a key names. Without the key, and in GGUF files, it is the one with the name `otherwise`.
const Activation* activationOf(Config& config, const char* key, const char* otherwise);
/// Makes `count` layers. More than 4096 layers are refused.
void setLayers(Config& config, Network& net, std::int64_t count, LayerPlan plan);
/// Sets the windows of layers from layer_types ("sliding_attention" or "full_attention"), else from `isWindowed`.
void setWindows(Config& config, Network& net, std::int64_t window,
                const std::function<bool(std::size_t layer)>& isWindowed);
/// Reads the number of experts and how many of them a token uses, from the keys of the families like Llama.
void readMixture(Config& config, Network& net);

} // namespace qs::eval
