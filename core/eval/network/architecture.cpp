// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/network/architecture.h"

#include "core/base/tensor_name.h"
#include "core/base/text.h"
#include "core/eval/network/rope.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace qs::eval {
namespace {

using Role = WeightRole;

constexpr std::string_view kPrefixes[] = {"model.", "", "language_model.model.", "model.language_model."};
constexpr std::string_view kGpt2Prefixes[] = {"transformer.", ""};

constexpr WeightName kModelWeights[] = {{Role::Embedding, "embed_tokens.weight", "token_embd.weight"},
                                        {Role::FinalNorm, "norm.weight", "output_norm.weight"},
                                        {Role::Head, "lm_head.weight", "output.weight"}};
constexpr WeightName kLlamaLayer[] = {{Role::AttentionNorm, "input_layernorm.weight", "attn_norm.weight"},
                                      {Role::Query, "self_attn.q_proj.weight", "attn_q.weight"},
                                      {Role::Key, "self_attn.k_proj.weight", "attn_k.weight"},
                                      {Role::Value, "self_attn.v_proj.weight", "attn_v.weight"},
                                      {Role::Output, "self_attn.o_proj.weight", "attn_output.weight"},
                                      {Role::MlpNorm, "post_attention_layernorm.weight", "ffn_norm.weight"},
                                      {Role::Gate, "mlp.gate_proj.weight", "ffn_gate.weight"},
                                      {Role::Up, "mlp.up_proj.weight", "ffn_up.weight"},
                                      {Role::Down, "mlp.down_proj.weight", "ffn_down.weight"}};
constexpr WeightName kQwen2Layer[] = {{Role::AttentionNorm, "input_layernorm.weight", "attn_norm.weight"},
                                      {Role::Query, "self_attn.q_proj.weight", "attn_q.weight", true},
                                      {Role::Key, "self_attn.k_proj.weight", "attn_k.weight", true},
                                      {Role::Value, "self_attn.v_proj.weight", "attn_v.weight", true},
                                      {Role::Output, "self_attn.o_proj.weight", "attn_output.weight"},
                                      {Role::MlpNorm, "post_attention_layernorm.weight", "ffn_norm.weight"},
                                      {Role::Gate, "mlp.gate_proj.weight", "ffn_gate.weight"},
                                      {Role::Up, "mlp.up_proj.weight", "ffn_up.weight"},
                                      {Role::Down, "mlp.down_proj.weight", "ffn_down.weight"}};
constexpr WeightName kQwen3Layer[] = {{Role::AttentionNorm, "input_layernorm.weight", "attn_norm.weight"},
                                      {Role::Query, "self_attn.q_proj.weight", "attn_q.weight"},
                                      {Role::Key, "self_attn.k_proj.weight", "attn_k.weight"},
                                      {Role::Value, "self_attn.v_proj.weight", "attn_v.weight"},
                                      {Role::Output, "self_attn.o_proj.weight", "attn_output.weight"},
                                      {Role::QueryNorm, "self_attn.q_norm.weight", "attn_q_norm.weight"},
                                      {Role::KeyNorm, "self_attn.k_norm.weight", "attn_k_norm.weight"},
                                      {Role::MlpNorm, "post_attention_layernorm.weight", "ffn_norm.weight"},
                                      {Role::Gate, "mlp.gate_proj.weight", "ffn_gate.weight"},
                                      {Role::Up, "mlp.up_proj.weight", "ffn_up.weight"},
                                      {Role::Down, "mlp.down_proj.weight", "ffn_down.weight"}};
constexpr WeightName kOlmo2Layer[] = {
    {Role::Query, "self_attn.q_proj.weight", "attn_q.weight"},
    {Role::Key, "self_attn.k_proj.weight", "attn_k.weight"},
    {Role::Value, "self_attn.v_proj.weight", "attn_v.weight"},
    {Role::Output, "self_attn.o_proj.weight", "attn_output.weight"},
    {Role::QueryNorm, "self_attn.q_norm.weight", "attn_q_norm.weight"},
    {Role::KeyNorm, "self_attn.k_norm.weight", "attn_k_norm.weight"},
    {Role::AfterAttentionNorm, "post_attention_layernorm.weight", "post_attention_norm.weight"},
    {Role::Gate, "mlp.gate_proj.weight", "ffn_gate.weight"},
    {Role::Up, "mlp.up_proj.weight", "ffn_up.weight"},
    {Role::Down, "mlp.down_proj.weight", "ffn_down.weight"},
    {Role::AfterMlpNorm, "post_feedforward_layernorm.weight", "post_ffw_norm.weight"}};
constexpr WeightName kPhi3Layer[] = {{Role::AttentionNorm, "input_layernorm.weight", "attn_norm.weight"},
                                     {Role::QueryKeyValue, "self_attn.qkv_proj.weight", "attn_qkv.weight"},
                                     {Role::Output, "self_attn.o_proj.weight", "attn_output.weight"},
                                     {Role::MlpNorm, "post_attention_layernorm.weight", "ffn_norm.weight"},
                                     {Role::GateUp, "mlp.gate_up_proj.weight", "ffn_up.weight"},
                                     {Role::Down, "mlp.down_proj.weight", "ffn_down.weight"}};
constexpr WeightName kGemma2Layer[] = {
    {Role::AttentionNorm, "input_layernorm.weight", "attn_norm.weight"},
    {Role::Query, "self_attn.q_proj.weight", "attn_q.weight"},
    {Role::Key, "self_attn.k_proj.weight", "attn_k.weight"},
    {Role::Value, "self_attn.v_proj.weight", "attn_v.weight"},
    {Role::Output, "self_attn.o_proj.weight", "attn_output.weight"},
    {Role::AfterAttentionNorm, "post_attention_layernorm.weight", "post_attention_norm.weight"},
    {Role::MlpNorm, "pre_feedforward_layernorm.weight", "ffn_norm.weight"},
    {Role::Gate, "mlp.gate_proj.weight", "ffn_gate.weight"},
    {Role::Up, "mlp.up_proj.weight", "ffn_up.weight"},
    {Role::Down, "mlp.down_proj.weight", "ffn_down.weight"},
    {Role::AfterMlpNorm, "post_feedforward_layernorm.weight", "post_ffw_norm.weight"}};
constexpr WeightName kGemma3Layer[] = {
    {Role::AttentionNorm, "input_layernorm.weight", "attn_norm.weight"},
    {Role::Query, "self_attn.q_proj.weight", "attn_q.weight"},
    {Role::Key, "self_attn.k_proj.weight", "attn_k.weight"},
    {Role::Value, "self_attn.v_proj.weight", "attn_v.weight"},
    {Role::Output, "self_attn.o_proj.weight", "attn_output.weight"},
    {Role::QueryNorm, "self_attn.q_norm.weight", "attn_q_norm.weight"},
    {Role::KeyNorm, "self_attn.k_norm.weight", "attn_k_norm.weight"},
    {Role::AfterAttentionNorm, "post_attention_layernorm.weight", "post_attention_norm.weight"},
    {Role::MlpNorm, "pre_feedforward_layernorm.weight", "ffn_norm.weight"},
    {Role::Gate, "mlp.gate_proj.weight", "ffn_gate.weight"},
    {Role::Up, "mlp.up_proj.weight", "ffn_up.weight"},
    {Role::Down, "mlp.down_proj.weight", "ffn_down.weight"},
    {Role::AfterMlpNorm, "post_feedforward_layernorm.weight", "post_ffw_norm.weight"}};
constexpr WeightName kGpt2Model[] = {{Role::Embedding, "wte.weight", "token_embd.weight"},
                                     {Role::PositionEmbedding, "wpe.weight", "position_embd.weight"},
                                     {Role::FinalNorm, "ln_f.weight", "output_norm.weight", true},
                                     {Role::Head, "lm_head.weight", "output.weight"}};
constexpr WeightName kGpt2Layer[] = {{Role::AttentionNorm, "ln_1.weight", "attn_norm.weight", true},
                                     {Role::QueryKeyValue, "attn.c_attn.weight", "attn_qkv.weight", true},
                                     {Role::Output, "attn.c_proj.weight", "attn_output.weight", true},
                                     {Role::MlpNorm, "ln_2.weight", "ffn_norm.weight", true},
                                     {Role::Up, "mlp.c_fc.weight", "ffn_up.weight", true},
                                     {Role::Down, "mlp.c_proj.weight", "ffn_down.weight", true}};

Activation activationOf(Config& config, const char* key, std::string otherwise) {
    const std::string name = config.text(key, std::move(otherwise));
    if (name == "silu" || name == "swish") return Activation::Silu;
    if (name == "gelu_new" || name == "gelu_pytorch_tanh") return Activation::GeluTanh;
    if (name == "gelu") return Activation::GeluErf;
    if (name == "relu") return Activation::Relu;
    config.refuse(fmt::format("has the activation {}, which is not known", quotedName(name)));
    return Activation::Silu;
}

struct LlamaDefaults {
    double theta = 1e4;
    std::int64_t headSize = 0; ///< without a key; 0: hidden / heads
    double epsilon = 1e-6;
    double rotated = 1; ///< share of the head size
    bool tied = false;
    const char* activationKey = "hidden_act";
};

/// What the families around Llama have in common. transformers models/llama/modeling_llama.py.
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
    net.normEpsilon = float(config.number("rms_norm_eps", defaults.epsilon));
    if (!config.isGguf()) net.activation = activationOf(config, defaults.activationKey, "silu");
    net.attentionScale = float(1 / std::sqrt(double(net.headSize)));
    net.tied = config.flag("tie_word_embeddings", defaults.tied);
    if (net.heads % net.keyValueHeads != 0) config.refuse("has heads that are no multiple of its key/value heads");
    const auto& rope = config.value("rope_parameters");
    const bool inRope =
        rope.is_object() && rope.contains("partial_rotary_factor") && rope["partial_rotary_factor"].is_number();
    const double share =
        inRope ? rope["partial_rotary_factor"].get<double>() : config.number("partial_rotary_factor", defaults.rotated);
    const bool isShare = share > 0 && share <= 1;
    if (!isShare) config.refuse("has a partial_rotary_factor that is not above 0 and at most 1");
    const std::int64_t rotated =
        config.count("rotary_dimensions", std::int64_t(double(net.headSize) * (isShare ? share : 1.0)));
    if (rotated < 2 || rotated % 2 != 0 || rotated > net.headSize)
        config.refuse("has rotated dimensions that are no even part of the head size");
    else
        net.ropes.push_back(readRope(config, rotated, defaults.theta));
    const std::int64_t layers = config.count("num_hidden_layers");
    if (layers > 4096)
        config.refuse("has more than 4096 layers");
    else
        net.layers.resize(std::size_t(layers));
    return net;
}

/// Biases that a key announces and that no row here has.
void refuseBiases(Config& config) {
    if (config.flag("attention_bias", false))
        config.refuse("has biases of attention, which this family is read without");
    if (config.flag("mlp_bias", false)) config.refuse("has biases of the MLP, which this family is read without");
}

/// Windows by layer_types ("sliding_attention" or "full_attention"), else by `isWindowed`.
template<class IsWindowed> void setWindows(Config& config, Network& net, std::int64_t window, IsWindowed isWindowed) {
    const auto& types = config.value("layer_types");
    if (types.is_array() && types.size() != net.layers.size())
        return config.refuse("has layer_types that are not as many as its layers");
    for (std::size_t i = 0; i < net.layers.size(); ++i) {
        const bool windowed = types.is_array() ? types[i] == "sliding_attention" : isWindowed(i);
        if (windowed) net.layers[i].window = window;
    }
}

Network readLlama(Config& config) {
    refuseBiases(config);
    Network net = readLlamaLike(config, {});
    net.pairsAreNeighbours = config.isGguf(); // rows of queries and keys are permuted there
    return net;
}

// models/mistral: every layer has the window; llama.cpp has none.
Network readMistral(Config& config) {
    Network net = readLlamaLike(config, {});
    const std::int64_t window = config.has("sliding_window") ? config.count("sliding_window") : 0;
    setWindows(config, net, window, [&](std::size_t) { return window > 0; });
    return net;
}

// models/qwen2, qwen3: a window only where use_sliding_window says so.
Network readQwen(Config& config, const LlamaDefaults& defaults) {
    Network net = readLlamaLike(config, defaults);
    const bool uses = config.flag("use_sliding_window", false);
    const std::int64_t window = config.has("sliding_window") ? config.count("sliding_window") : 0;
    const double from = config.number("max_window_layers", 28);
    setWindows(config, net, uses ? window : 0, [&](std::size_t i) { return uses && double(i) >= from; });
    return net;
}
Network readQwen2(Config& config) { return readQwen(config, {}); }
Network readQwen3(Config& config) {
    refuseBiases(config);
    Network net = readQwen(config, {.headSize = 128});
    net.queryKeyNorm = QueryKeyNorm::PerHead;
    return net;
}

// models/smollm3: every fourth layer does not turn queries and keys.
Network readSmollm3(Config& config) {
    refuseBiases(config);
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

// models/olmo2: no norm before attention and MLP, one after each; norms of queries and keys over the whole projection.
Network readOlmo2(Config& config) {
    refuseBiases(config);
    Network net = readLlamaLike(config, {.epsilon = 1e-5});
    net.queryKeyNorm = QueryKeyNorm::WholeProjection;
    return net;
}

// models/phi3
Network readPhi3(Config& config) {
    config.ignore({"original_max_position_embeddings"}); // read with longrope only
    Network net = readLlamaLike(config, {.epsilon = 1e-5});
    const std::int64_t window = config.has("sliding_window") ? config.count("sliding_window") : 0;
    if (!config.isGguf()) setWindows(config, net, window, [&](std::size_t) { return window > 0; });
    return net;
}

// models/gemma: norms multiply by 1 + weight (GGUF files hold the sum), embeddings by sqrt(hidden); always the tanh GELU.
Network readGemmaLike(Config& config, const LlamaDefaults& defaults) {
    refuseBiases(config);
    Network net = readLlamaLike(config, defaults);
    net.normAddsOne = !config.isGguf();
    net.embeddingScale = float(std::sqrt(double(net.hidden)));
    net.activation = Activation::GeluTanh;
    return net;
}
Network readGemma(Config& config) {
    config.ignore({"hidden_activation"});
    return readGemmaLike(config, {.headSize = 256, .tied = true});
}

// models/gemma2: soft caps; even layers have a window; another scale of attention.
Network readGemma2(Config& config) {
    config.ignore({"hidden_act"});
    Network net = readGemmaLike(config, {.headSize = 256, .tied = true, .activationKey = "hidden_activation"});
    net.attentionScale = float(1 / std::sqrt(config.number("query_pre_attn_scalar", 256)));
    net.attentionCap = config.has("attn_logit_softcapping") ? float(config.number("attn_logit_softcapping", 50)) : 0;
    net.logitCap = config.has("final_logit_softcapping") ? float(config.number("final_logit_softcapping", 30)) : 0;
    const std::int64_t window = config.count("sliding_window", 4096);
    setWindows(config, net, window, [](std::size_t i) { return i % 2 == 0; });
    return net;
}

// models/gemma3: norms of queries and keys; five layers of six have a window and angles of their own.
Network readGemma3(Config& config) {
    config.ignore({"hidden_act", "attn_logit_softcapping"});
    Network net =
        readGemmaLike(config, {.theta = 1e6, .headSize = 256, .tied = true, .activationKey = "hidden_activation"});
    net.queryKeyNorm = QueryKeyNorm::PerHead;
    net.attentionScale = float(1 / std::sqrt(config.number("query_pre_attn_scalar", 256)));
    net.logitCap = config.has("final_logit_softcapping") ? float(config.number("final_logit_softcapping", 30)) : 0;
    const std::int64_t window = config.count("sliding_window", 4096), every = config.count("sliding_window_pattern", 6);
    config.ignore({"_sliding_window_pattern"});
    setWindows(config, net, window, [&](std::size_t i) { return std::int64_t(i + 1) % every != 0; });
    const double local = config.number("rope_local_base_freq", 1e4);
    net.ropes.push_back(hasWindowRope(config) ? readRope(config, net.headSize, local, "sliding_attention")
                                              : plainRope(net.headSize, local));
    for (auto& layer : net.layers) layer.rope = layer.window > 0 ? 1 : 0;
    if (config.flag("use_bidirectional_attention", false))
        config.refuse("attends in both directions, which is not known");
    return net;
}

// models/gpt2: LayerNorm with biases, learned positions, an MLP without a gate.
Network readGpt2(Config& config) {
    Network net;
    net.hidden = config.count(config.isGguf() ? "hidden_size" : "n_embd");
    net.heads = net.keyValueHeads = config.count(config.isGguf() ? "num_attention_heads" : "n_head");
    net.headSize = std::max<std::int64_t>(1, net.hidden / net.heads);
    net.intermediate = config.isGguf()         ? config.count("intermediate_size")
                       : config.has("n_inner") ? config.count("n_inner")
                                               : 4 * net.hidden;
    net.vocabulary = config.count("vocab_size", 0);
    net.positions = config.count(config.isGguf() ? "max_position_embeddings" : "n_positions");
    net.norm = NormKind::Layer;
    net.normEpsilon = float(config.number("layer_norm_epsilon", 1e-5));
    net.activation = config.isGguf() ? Activation::GeluTanh : activationOf(config, "activation_function", "gelu_new");
    net.attentionScale = config.flag("scale_attn_weights", true) ? float(1 / std::sqrt(double(net.headSize))) : 1.0f;
    if (config.flag("scale_attn_by_inverse_layer_idx", false))
        config.refuse("scales attention by the layer, which is not known");
    net.tied = config.flag("tie_word_embeddings", true);
    const std::int64_t layers = config.count(config.isGguf() ? "num_hidden_layers" : "n_layer");
    if (layers > 4096)
        config.refuse("has more than 4096 layers");
    else
        net.layers.resize(std::size_t(layers), {.window = 0, .rope = -1});
    return net;
}

constexpr std::string_view kLlamaTypes[] = {"llama"}, kMistralTypes[] = {"mistral"}, kQwen2Types[] = {"qwen2"},
                           kQwen3Types[] = {"qwen3"}, kSmollm3Types[] = {"smollm3"}, kOlmo2Types[] = {"olmo2"},
                           kPhi3Types[] = {"phi3"}, kGemmaTypes[] = {"gemma"}, kGemma2Types[] = {"gemma2"},
                           kGemma3Types[] = {"gemma3_text"}, kGpt2Types[] = {"gpt2"};

constexpr Architecture kArchitectures[] = {
    {"llama", "Llama 1 to 3", kLlamaTypes, "llama", kPrefixes, "layers", kModelWeights, kLlamaLayer, false, readLlama},
    {"mistral", "Mistral", kMistralTypes, {}, kPrefixes, "layers", kModelWeights, kLlamaLayer, false, readMistral},
    {"qwen2", "Qwen2", kQwen2Types, "qwen2", kPrefixes, "layers", kModelWeights, kQwen2Layer, false, readQwen2},
    {"qwen3", "Qwen3", kQwen3Types, "qwen3", kPrefixes, "layers", kModelWeights, kQwen3Layer, false, readQwen3},
    {"smollm3", "SmolLM3", kSmollm3Types, "smollm3", kPrefixes, "layers", kModelWeights, kLlamaLayer, false,
     readSmollm3},
    {"olmo2", "OLMo2", kOlmo2Types, "olmo2", kPrefixes, "layers", kModelWeights, kOlmo2Layer, false, readOlmo2},
    {"phi3", "Phi-3", kPhi3Types, "phi3", kPrefixes, "layers", kModelWeights, kPhi3Layer, false, readPhi3},
    {"gemma", "Gemma", kGemmaTypes, "gemma", kPrefixes, "layers", kModelWeights, kLlamaLayer, false, readGemma},
    {"gemma2", "Gemma 2", kGemma2Types, "gemma2", kPrefixes, "layers", kModelWeights, kGemma2Layer, false, readGemma2},
    {"gemma3", "Gemma 3", kGemma3Types, "gemma3", kPrefixes, "layers", kModelWeights, kGemma3Layer, false, readGemma3},
    {"gpt2", "GPT-2", kGpt2Types, "gpt2", kGpt2Prefixes, "h", kGpt2Model, kGpt2Layer, true, readGpt2},
};

} // namespace

std::span<const Architecture> architectures() { return kArchitectures; }

Result<Network> readNetwork(const Model& model) {
    auto config = Config::of(model);
    if (!config) return tl::unexpected(config.error());
    const auto row = std::find_if(std::begin(kArchitectures), std::end(kArchitectures), [&](const Architecture& a) {
        return config->isGguf() ? a.gguf == config->modelType()
                                : std::count(a.modelTypes.begin(), a.modelTypes.end(), config->modelType()) > 0;
    });
    if (row == std::end(kArchitectures)) {
        std::vector<std::string_view> known;
        for (const auto& architecture : kArchitectures) known.push_back(architecture.title);
        return fail(fmt::format("{} is a network of type {}, which cannot be evaluated: known are {}.",
                                escapeForPeople(model.path, 200), quotedName(config->modelType()),
                                fmt::join(known, ", ")),
                    model.path);
    }
    Network net = row->read(*config);
    net.architecture = &*row;
    if (auto read = config->finish(); !read) return tl::unexpected(read.error());
    return net;
}

} // namespace qs::eval
