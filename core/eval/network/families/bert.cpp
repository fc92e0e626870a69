// SPDX-License-Identifier: GPL-3.0-or-later
// BERT: an encoder. Every token sees its whole chunk; norms are of the sum of a part of a layer with what went in; learned
// positions and token types; biases everywhere. There is no head here: its output is embeddings of tokens.
#include "core/eval/network/families/family.h"

#include <algorithm>
#include <cmath>

namespace qs::eval {
namespace {

constexpr std::string_view kBertPrefixes[] = {"bert.", ""};
constexpr WeightName kBertModel[] = {
    {WeightRole::Embedding, "embeddings.word_embeddings.weight", "token_embd.weight"},
    {WeightRole::PositionEmbedding, "embeddings.position_embeddings.weight", "position_embd.weight"},
    {WeightRole::TokenTypes, "embeddings.token_type_embeddings.weight", "token_types.weight"},
    {WeightRole::EmbeddingNorm, "embeddings.LayerNorm.weight", "token_embd_norm.weight", true}};
constexpr WeightName kBertLayer[] = {
    {WeightRole::QueryKeyValue, nullptr, "attn_qkv.weight", true, true},
    {WeightRole::Query, "attention.self.query.weight", "attn_q.weight", true},
    {WeightRole::Key, "attention.self.key.weight", "attn_k.weight", true},
    {WeightRole::Value, "attention.self.value.weight", "attn_v.weight", true},
    {WeightRole::Output, "attention.output.dense.weight", "attn_output.weight", true},
    {WeightRole::AfterAttentionNorm, "attention.output.LayerNorm.weight", "attn_output_norm.weight", true},
    {WeightRole::Up, "intermediate.dense.weight", "ffn_up.weight", true},
    {WeightRole::Down, "output.dense.weight", "ffn_down.weight", true},
    {WeightRole::AfterMlpNorm, "output.LayerNorm.weight", "layer_output_norm.weight", true}};

// models/bert
Network readBert(Config& config) {
    Network net;
    net.isEncoder = net.normsSums = true;
    net.hidden = config.count("hidden_size");
    net.intermediate = config.count("intermediate_size");
    net.heads = net.keyValueHeads = config.count("num_attention_heads");
    net.headSize = std::max<std::int64_t>(1, net.hidden / net.heads);
    net.vocabulary = config.count("vocab_size", 0);
    net.positions = config.count("max_position_embeddings");
    net.tokenTypes = config.count("type_vocab_size", 2);
    net.norm = NormKind::Layer;
    net.normEpsilon = float(config.number(config.isGguf() ? "layer_norm_epsilon" : "layer_norm_eps", 1e-12, kEpsilons));
    net.activation = activationOf(config, "hidden_act", "gelu");
    net.attentionScale = float(1 / std::sqrt(double(net.headSize)));
    if (config.text("position_embedding_type", "absolute") != "absolute")
        config.refuse("has positions that are not absolute, which this family is read without");
    if (config.flag("is_decoder", false)) config.refuse("says that it is a decoder, which this family is read without");
    if (config.flag("attention.causal", false))
        config.refuse("has causal attention, which this family is read without");
    config.ignore({"num_key_value_heads", "pooling_type", "classifier_dropout", "hidden_dropout_prob",
                   "attention_probs_dropout_prob", "tie_word_embeddings"});
    setLayers(config, net, config.count("num_hidden_layers"), {.rope = -1});
    return net;
}

constexpr std::string_view kBertTypes[] = {"bert"};

} // namespace

const Architecture kBertRow = {.id = "bert",
                               .title = "BERT (embeddings)",
                               .modelTypes = kBertTypes,
                               .gguf = "bert",
                               .prefixes = kBertPrefixes,
                               .layers = "encoder.layer",
                               .model = kBertModel,
                               .layer = kBertLayer,
                               .read = readBert};

} // namespace qs::eval
