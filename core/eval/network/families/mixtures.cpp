// SPDX-License-Identifier: GPL-3.0-or-later
// Families whose MLPs are mixtures of experts: softmax over all experts in f32, then the largest. llama.cpp divides by
// max(sum, 6.1e-5); the largest of n shares of 1 are at least 1/n, so this changes nothing below 16384 experts.
#include "core/eval/network/families/family.h"

#include <nlohmann/json.hpp>

namespace qs::eval {
namespace {

constexpr auto kWithExperts = Layers::WithExperts;
/// Names that both families share; one tensor holds all experts.
constexpr WeightName kFusedExperts[] = {
    {WeightRole::ExpertGateUp, "mlp.experts.gate_up_proj", "ffn_gate_up_exps.weight", false, true, kWithExperts},
    {WeightRole::ExpertDown, "mlp.experts.down_proj", "ffn_down_exps.weight", false, true, kWithExperts}};
/// Names of mlx_lm, which has the matrices of all experts in one tensor too.
constexpr WeightName stackedIn(WeightRole role, const char* name) {
    return {role, name, nullptr, false, true, kWithExperts};
}
constexpr WeightName kMixtralExperts[] = {
    {WeightRole::Router, "block_sparse_moe.gate.weight", "ffn_gate_inp.weight", false, false, kWithExperts},
    {WeightRole::Router, "mlp.gate.weight", nullptr, false, true, kWithExperts},
    {WeightRole::ExpertGate, "block_sparse_moe.experts.{}.w1.weight", "ffn_gate_exps.weight", false, false,
     kWithExperts},
    {WeightRole::ExpertUp, "block_sparse_moe.experts.{}.w3.weight", "ffn_up_exps.weight", false, false, kWithExperts},
    {WeightRole::ExpertDown, "block_sparse_moe.experts.{}.w2.weight", nullptr, false, false, kWithExperts},
    stackedIn(WeightRole::ExpertGate, "block_sparse_moe.switch_mlp.gate_proj.weight"),
    stackedIn(WeightRole::ExpertUp, "block_sparse_moe.switch_mlp.up_proj.weight"),
    stackedIn(WeightRole::ExpertDown, "block_sparse_moe.switch_mlp.down_proj.weight")};
constexpr WeightName kQwen3Experts[] = {
    {WeightRole::Router, "mlp.gate.weight", "ffn_gate_inp.weight", false, false, kWithExperts},
    {WeightRole::ExpertGate, "mlp.experts.{}.gate_proj.weight", "ffn_gate_exps.weight", false, false, kWithExperts},
    {WeightRole::ExpertUp, "mlp.experts.{}.up_proj.weight", "ffn_up_exps.weight", false, false, kWithExperts},
    {WeightRole::ExpertDown, "mlp.experts.{}.down_proj.weight", nullptr, false, false, kWithExperts},
    stackedIn(WeightRole::ExpertGate, "mlp.switch_mlp.gate_proj.weight"),
    stackedIn(WeightRole::ExpertUp, "mlp.switch_mlp.up_proj.weight"),
    stackedIn(WeightRole::ExpertDown, "mlp.switch_mlp.down_proj.weight")};

constexpr auto kMixtralLayer =
    joined(kAttentionNames, kNormsBeforeNames, std::to_array(kFusedExperts), std::to_array(kMixtralExperts));
constexpr auto kQwen3MoeLayer = joined(kAttentionNames, kQueryKeyNormNames, kNormsBeforeNames, mlpNames(Layers::Dense),
                                       std::to_array(kFusedExperts), std::to_array(kQwen3Experts));

// models/mixtral
Network readMixtral(Config& config) {
    Network net = readLlamaLike(config, {.theta = 1e6, .epsilon = 1e-5});
    readMixture(config, net);
    net.pairsAreNeighbours = config.isGguf();
    const std::int64_t window = config.count("sliding_window", 0);
    if (!config.isGguf()) setWindows(config, net, window, [&](std::size_t) { return window > 0; });
    return net;
}

// models/qwen3_moe: some layers may be dense; GGUF files of llama.cpp have none of these and always divide by the sum.
Network readQwen3Moe(Config& config) {
    Network net = readQwen3(config);
    readMixture(config, net);
    // transformers has one mask for all layers, whatever max_window_layers says.
    const bool hasWindow = !config.mentions("sliding_window") || config.has("sliding_window");
    if (!config.isGguf() && hasWindow && config.flag("use_sliding_window", false))
        for (LayerPlan& layer : net.layers) layer.window = config.count("sliding_window", 4096);
    net.mixture.sumsToOne = config.flag("norm_topk_prob", config.isGguf());
    const std::int64_t every = config.count("decoder_sparse_step", 1);
    const auto& dense = config.value("mlp_only_layers");
    if (!dense.is_null() && !dense.is_array()) config.refuse("has mlp_only_layers that are not a list");
    for (std::size_t i = 0; i < net.layers.size(); ++i) {
        bool isDense = std::int64_t(i + 1) % every != 0;
        if (dense.is_array())
            for (const auto& layer : dense) isDense = isDense || layer == i;
        net.layers[i].hasExperts = !isDense;
    }
    return net;
}

constexpr std::string_view kMixtralTypes[] = {"mixtral"}, kQwen3MoeTypes[] = {"qwen3_moe"};

} // namespace

const Architecture kMixtralRow = {.id = "mixtral",
                                  .title = "Mixtral",
                                  .modelTypes = kMixtralTypes,
                                  .gguf = "llama",
                                  .prefixes = kPrefixes,
                                  .layers = "layers",
                                  .model = kModelNames,
                                  .layer = kMixtralLayer,
                                  .read = readMixtral,
                                  .hasExperts = true};
const Architecture kQwen3MoeRow = {.id = "qwen3_moe",
                                   .title = "Qwen3-MoE",
                                   .modelTypes = kQwen3MoeTypes,
                                   .gguf = "qwen3moe",
                                   .prefixes = kPrefixes,
                                   .layers = "layers",
                                   .model = kModelNames,
                                   .layer = kQwen3MoeLayer,
                                   .read = readQwen3Moe,
                                   .hasExperts = true};

} // namespace qs::eval
