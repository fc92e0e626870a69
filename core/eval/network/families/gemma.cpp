// SPDX-License-Identifier: GPL-3.0-or-later
// Gemma 1 to 3: norms multiply by 1 + weight (GGUF files hold the sum), embeddings by sqrt(hidden).
#include "core/eval/network/activation.h"
#include "core/eval/network/families/family.h"
#include "core/eval/network/rope.h"

#include <cmath>

namespace qs::eval {
namespace {

constexpr WeightName kFourNorms[] = {
    {WeightRole::AttentionNorm, "input_layernorm.weight", "attn_norm.weight"},
    {WeightRole::AfterAttentionNorm, "post_attention_layernorm.weight", "post_attention_norm.weight"},
    {WeightRole::MlpNorm, "pre_feedforward_layernorm.weight", "ffn_norm.weight"},
    {WeightRole::AfterMlpNorm, "post_feedforward_layernorm.weight", "post_ffw_norm.weight"}};
constexpr auto kGemmaLayer = joined(kAttentionNames, kNormsBeforeNames, kMlpNames);
constexpr auto kGemma2Layer = joined(kAttentionNames, std::to_array(kFourNorms), kMlpNames);
constexpr auto kGemma3Layer = joined(kAttentionNames, kQueryKeyNormNames, std::to_array(kFourNorms), kMlpNames);

Network readGemmaLike(Config& config, const LlamaDefaults& defaults) {
    Network net = readLlamaLike(config, defaults);
    net.normAddsOne = !config.isGguf();
    net.embeddingScale = float(std::sqrt(double(net.hidden)));
    net.activation = findActivation("gelu_pytorch_tanh"); // even if the configuration says "gelu"
    return net;
}

// models/gemma
Network readGemma(Config& config) {
    config.ignore({"hidden_activation"});
    return readGemmaLike(config, {.headSize = 256, .tied = true});
}

/// GGUF files do not hold the scale of attention. It is that of the head size, except in the largest network of a
/// generation, which llama.cpp knows by its number of layers (src/models/gemma2.cpp, gemma3.cpp).
void setAttentionScale(Config& config, Network& net, std::size_t largest) {
    const double size = net.layers.size() == largest ? double(net.hidden) / double(net.heads) : double(net.headSize);
    net.attentionScale = float(1 / std::sqrt(config.isGguf() ? size : config.number("query_pre_attn_scalar", 256, kAbove0)));
}

// Source: models/gemma2. It has soft caps and its own scale of attention; even layers have a window.
Network readGemma2(Config& config) {
    config.ignore({"hidden_act"});
    Network net = readGemmaLike(config, {.headSize = 256, .tied = true, .activationKey = "hidden_activation"});
    setAttentionScale(config, net, 46);
    const bool isGguf = config.isGguf(); // GGUF files without these keys mean 50 and 30
    net.attentionCap =
        isGguf || config.has("attn_logit_softcapping") ? float(config.number("attn_logit_softcapping", 50, kAbove0)) : 0;
    net.logitCap =
        isGguf || config.has("final_logit_softcapping") ? float(config.number("final_logit_softcapping", 30, kAbove0)) : 0;
    const std::int64_t window = config.count("sliding_window", 4096);
    setWindows(config, net, window, [](std::size_t i) { return i % 2 == 0; });
    return net;
}

// Source: models/gemma3. It has norms of queries and keys. Five of six layers have a window and their own angles.
Network readGemma3(Config& config) {
    config.ignore({"hidden_act", "attn_logit_softcapping"});
    Network net =
        readGemmaLike(config, {.theta = 1e6, .headSize = 256, .tied = true, .activationKey = "hidden_activation"});
    net.queryKeyNorm = QueryKeyNorm::PerHead;
    setAttentionScale(config, net, 62);
    net.logitCap = config.has("final_logit_softcapping") ? float(config.number("final_logit_softcapping", 30, kAbove0)) : 0;
    const std::int64_t window = config.count("sliding_window", 4096), every = config.count("sliding_window_pattern", 6);
    config.ignore({"_sliding_window_pattern"});
    setWindows(config, net, window, [&](std::size_t i) { return std::int64_t(i + 1) % every != 0; });
    const double local = config.number("rope_local_base_freq", 1e4, kThetas);
    net.ropes.push_back(hasWindowRope(config) ? readRope(config, net.headSize, local, "sliding_attention")
                                              : plainRope(net.headSize, local));
    for (auto& layer : net.layers) layer.rope = layer.window > 0 ? 1 : 0;
    if (config.flag("use_bidirectional_attention", false))
        config.refuse("attends in both directions, which is not known");
    return net;
}

constexpr std::string_view kGemmaTypes[] = {"gemma"}, kGemma2Types[] = {"gemma2"}, kGemma3Types[] = {"gemma3_text"};

} // namespace

const Architecture kGemmaRow = {"gemma",  "Gemma",     kGemmaTypes, "gemma",  kPrefixes,
                                "layers", kModelNames, kGemmaLayer, readGemma};
const Architecture kGemma2Row = {"gemma2", "Gemma 2",   kGemma2Types, "gemma2",  kPrefixes,
                                 "layers", kModelNames, kGemma2Layer, readGemma2};
const Architecture kGemma3Row = {"gemma3", "Gemma 3",   kGemma3Types, "gemma3",  kPrefixes,
                                 "layers", kModelNames, kGemma3Layer, readGemma3};

} // namespace qs::eval
