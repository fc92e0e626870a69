// SPDX-License-Identifier: GPL-3.0-or-later
// GPT-2: LayerNorm with biases, learned positions, an MLP without a gate, matrices [inputs, outputs].
#include "core/eval/network/families/family.h"

#include <algorithm>
#include <cmath>

namespace qs::eval {
namespace {

constexpr std::string_view kGpt2Prefixes[] = {"transformer.", ""};
constexpr WeightName kGpt2Model[] = {{WeightRole::Embedding, "wte.weight", "token_embd.weight"},
                                     {WeightRole::PositionEmbedding, "wpe.weight", "position_embd.weight"},
                                     {WeightRole::FinalNorm, "ln_f.weight", "output_norm.weight", true},
                                     {WeightRole::Head, "lm_head.weight", "output.weight"}};
constexpr WeightName kGpt2Layer[] = {{WeightRole::AttentionNorm, "ln_1.weight", "attn_norm.weight", true},
                                     {WeightRole::QueryKeyValue, "attn.c_attn.weight", "attn_qkv.weight", true},
                                     {WeightRole::Query, nullptr, "attn_q.weight", true, true},
                                     {WeightRole::Key, nullptr, "attn_k.weight", true, true},
                                     {WeightRole::Value, nullptr, "attn_v.weight", true, true},
                                     {WeightRole::Output, "attn.c_proj.weight", "attn_output.weight", true},
                                     {WeightRole::MlpNorm, "ln_2.weight", "ffn_norm.weight", true},
                                     {WeightRole::Up, "mlp.c_fc.weight", "ffn_up.weight", true},
                                     {WeightRole::Down, "mlp.c_proj.weight", "ffn_down.weight", true}};

// models/gpt2
Network readGpt2(Config& config) {
    Network net;
    const bool isGguf = config.isGguf();
    net.hidden = config.count(isGguf ? "hidden_size" : "n_embd");
    net.heads = net.keyValueHeads = config.count(isGguf ? "num_attention_heads" : "n_head");
    config.ignore({"num_key_value_heads"});
    net.headSize = std::max<std::int64_t>(1, net.hidden / net.heads);
    net.intermediate = isGguf                  ? config.count("intermediate_size")
                       : config.has("n_inner") ? config.count("n_inner")
                                               : 4 * net.hidden;
    net.vocabulary = config.count("vocab_size", 0);
    net.positions = config.count(isGguf ? "max_position_embeddings" : "n_positions");
    net.norm = NormKind::Layer;
    net.normEpsilon = float(config.number("layer_norm_epsilon", 1e-5, kEpsilons));
    net.activation = activationOf(config, "activation_function", "gelu_new");
    net.attentionScale = config.flag("scale_attn_weights", true) ? float(1 / std::sqrt(double(net.headSize))) : 1.0f;
    if (config.flag("scale_attn_by_inverse_layer_idx", false))
        config.refuse("scales attention by the layer, which is not known");
    net.tied = config.flag("tie_word_embeddings", true);
    setLayers(config, net, config.count(isGguf ? "num_hidden_layers" : "n_layer"), {.rope = -1});
    return net;
}

constexpr std::string_view kGpt2Types[] = {"gpt2"};

} // namespace

const Architecture kGpt2Row = {.id = "gpt2",
                               .title = "GPT-2",
                               .modelTypes = kGpt2Types,
                               .gguf = "gpt2",
                               .prefixes = kGpt2Prefixes,
                               .layers = "h",
                               .model = kGpt2Model,
                               .layer = kGpt2Layer,
                               .read = readGpt2,
                               .weightsAreInputsFirst = true};

} // namespace qs::eval
