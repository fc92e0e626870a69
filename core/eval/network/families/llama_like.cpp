// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/tensor_name.h"
#include "core/eval/network/activation.h"
#include "core/eval/network/families/family.h"
#include "core/eval/network/rope.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace qs::eval {
namespace {

/// The number of dimensions of a head that the rope turns. If it is not valid, refuses the config and returns 0.
std::int64_t rotatedDimensions(Config& config, std::int64_t headSize, bool isPartial) {
    constexpr const char* kShare = "partial_rotary_factor";
    const double named =
        config.number(ropeObject(config), "rope scaling", kShare, config.number(kShare, 1, kShares), kShares);
    const double share = isPartial ? named : 1; // other classes ignore the key
    const std::int64_t rotated = config.count("rotary_dimensions", std::int64_t(double(headSize) * share));
    if (rotated >= 2 && rotated % 2 == 0 && rotated <= headSize) return rotated;
    config.refuse("has rotated dimensions that are no even part of the head size");
    return 0;
}

} // namespace

const Activation* activationOf(Config& config, const char* key, const char* otherwise) {
    const std::string name = config.isGguf() ? otherwise : config.text(key, otherwise);
    if (const Activation* found = findActivation(name)) return found;
    config.refuse(fmt::format("has the activation {}, which is not known", quotedName(name)));
    return findActivation(otherwise);
}

void setLayers(Config& config, Network& net, std::int64_t count, LayerPlan plan) {
    if (count > 4096)
        config.refuse("has more than 4096 layers");
    else
        net.layers.resize(std::size_t(count), plan);
}

Network readLlamaLike(Config& config, const LlamaDefaults& defaults) {
    Network net;
    net.hidden = config.count("hidden_size");
    net.intermediate = config.count("intermediate_size");
    net.heads = config.count("num_attention_heads");
    net.keyValueHeads = config.count("num_key_value_heads", net.heads);
    net.headSize = config.count("head_dim", defaults.headSize ? defaults.headSize
                                                              : std::max<std::int64_t>(1, net.hidden / net.heads));
    net.vocabulary = config.count("vocab_size", 0);
    net.positions = config.count("max_position_embeddings", 0);
    net.normEpsilon = float(config.number("rms_norm_eps", defaults.epsilon, kEpsilons));
    net.activation = activationOf(config, defaults.activationKey, "silu");
    net.attentionScale = float(1 / std::sqrt(double(net.headSize)));
    net.hasAttentionBiases = config.flag("attention_bias", false);
    net.hasMlpBiases = config.flag("mlp_bias", false);
    net.tied = config.flag("tie_word_embeddings", defaults.tied);
    if (net.heads % net.keyValueHeads != 0) config.refuse("has heads that are no multiple of its key/value heads");
    if (const std::int64_t rotated = rotatedDimensions(config, net.headSize, defaults.isPartial)) {
        net.ropes.push_back(readRope(config, rotated, defaults.theta));
    }
    setLayers(config, net, config.count("num_hidden_layers"), {});
    return net;
}

void setWindows(Config& config, Network& net, std::int64_t window,
                const std::function<bool(std::size_t layer)>& isWindowed) {
    const auto& types = config.value("layer_types");
    if (types.is_array() && types.size() != net.layers.size())
        return config.refuse("has layer_types that are not as many as its layers");
    for (std::size_t i = 0; i < net.layers.size(); ++i)
        if (types.is_array() ? types[i] == "sliding_attention" : isWindowed(i)) net.layers[i].window = window;
}

void readMixture(Config& config, Network& net) {
    Mixture& mixture = net.mixture;
    mixture.experts = config.has("num_experts") ? config.count("num_experts") : config.count("num_local_experts");
    config.ignore({"num_local_experts", "router_aux_loss_coef", "router_jitter_noise", "output_router_logits"});
    mixture.used = config.count("num_experts_per_tok");
    mixture.intermediate = config.count("moe_intermediate_size", net.intermediate);
    if (mixture.used > mixture.experts) config.refuse("uses more experts for a token than it has");
    for (LayerPlan& layer : net.layers) layer.hasExperts = true;
}

} // namespace qs::eval
