// SPDX-License-Identifier: GPL-3.0-or-later
// Llama and the families that differ from it in a few points.
#include "core/eval/network/families/family.h"

#include <nlohmann/json.hpp>

namespace qs::eval {
namespace {

constexpr auto kLlamaLayer = joined(kAttentionNames, kNormsBeforeNames, kMlpNames);

// models/llama. In GGUF files rows of queries and keys are permuted, so that pairs are neighbours.
Network readLlama(Config& config) {
    Network net = readLlamaLike(config, {});
    net.pairsAreNeighbours = config.isGguf();
    return net;
}

// Source: models/mistral. Every layer has the window. GGUF files call the family llama and have no window.
Network readMistral(Config& config) {
    Network net = readLlamaLike(config, {});
    const std::int64_t window = config.count("sliding_window", config.mentions("sliding_window") ? 0 : 4096);
    setWindows(config, net, window, [&](std::size_t) { return window > 0; });
    return net;
}

// models/smollm3: every fourth layer does not turn queries and keys.
Network readSmollm3(Config& config) {
    Network net = readLlamaLike(config, {.theta = 2e6, .tied = true});
    const auto& turned = config.value("no_rope_layers");
    const std::int64_t every = config.count("no_rope_layer_interval", 4);
    if (turned.is_array() && turned.size() != net.layers.size())
        config.refuse("has no_rope_layers that are not as many as its layers");
    else
        for (std::size_t i = 0; i < net.layers.size(); ++i)
            if (turned.is_array() ? turned[i] == 0 : std::int64_t(i + 1) % every == 0) net.layers[i].rope = -1;
    if (config.flag("use_sliding_window", false)) config.refuse("has windows, which this family is read without");
    config.ignore({"sliding_window", "layer_types", "max_window_layers"});
    net.pairsAreNeighbours = config.isGguf();
    return net;
}

constexpr WeightName kOlmo2Norms[] = {
    {WeightRole::AfterAttentionNorm, "post_attention_layernorm.weight", "post_attention_norm.weight"},
    {WeightRole::AfterMlpNorm, "post_feedforward_layernorm.weight", "post_ffw_norm.weight"}};
constexpr auto kOlmo2Layer = joined(kAttentionNames, kQueryKeyNormNames, std::to_array(kOlmo2Norms), kMlpNames);

// Source: models/olmo2. Norms come after attention and MLP, not before. Norms of queries and keys are over the whole
// projection.
Network readOlmo2(Config& config) {
    Network net = readLlamaLike(config, {.epsilon = 1e-5});
    net.queryKeyNorm = QueryKeyNorm::WholeProjection;
    return net;
}

constexpr WeightName kPhi3Parts[] = {{WeightRole::QueryKeyValue, "self_attn.qkv_proj.weight", "attn_qkv.weight"},
                                     {WeightRole::Query, nullptr, "attn_q.weight", false, true},
                                     {WeightRole::Key, nullptr, "attn_k.weight", false, true},
                                     {WeightRole::Value, nullptr, "attn_v.weight", false, true},
                                     {WeightRole::Output, "self_attn.o_proj.weight", "attn_output.weight"},
                                     {WeightRole::GateUp, "mlp.gate_up_proj.weight", "ffn_up.weight"},
                                     {WeightRole::Down, "mlp.down_proj.weight", "ffn_down.weight"}};
constexpr auto kPhi3Layer = joined(std::to_array(kPhi3Parts), kNormsBeforeNames);

// Source: models/phi3. Projections are fused. llama.cpp does not use a window.
Network readPhi3(Config& config) {
    config.ignore({"original_max_position_embeddings"}); // it is used only with longrope
    Network net = readLlamaLike(config, {.epsilon = 1e-5, .isPartial = true});
    config.ignore({"sliding_window"});
    if (config.isGguf()) return net;
    const std::int64_t window = config.count("sliding_window", 0);
    setWindows(config, net, window, [&](std::size_t) { return window > 0; });
    return net;
}

constexpr std::string_view kLlamaTypes[] = {"llama"}, kMistralTypes[] = {"mistral"}, kSmollm3Types[] = {"smollm3"},
                           kOlmo2Types[] = {"olmo2"}, kPhi3Types[] = {"phi3"};

} // namespace

const Architecture kLlamaRow = {"llama",  "Llama 1 to 3", kLlamaTypes, "llama",  kPrefixes,
                                "layers", kModelNames,    kLlamaLayer, readLlama};
const Architecture kMistralRow = {"mistral", "Mistral",   kMistralTypes, {},         kPrefixes,
                                  "layers",  kModelNames, kLlamaLayer,   readMistral};
const Architecture kSmollm3Row = {"smollm3", "SmolLM3",   kSmollm3Types, "smollm3",  kPrefixes,
                                  "layers",  kModelNames, kLlamaLayer,   readSmollm3};
const Architecture kOlmo2Row = {"olmo2",  "OLMo2",     kOlmo2Types, "olmo2",  kPrefixes,
                                "layers", kModelNames, kOlmo2Layer, readOlmo2};
const Architecture kPhi3Row = {"phi3",   "Phi-3",     kPhi3Types, "phi3",  kPrefixes,
                               "layers", kModelNames, kPhi3Layer, readPhi3};

} // namespace qs::eval
