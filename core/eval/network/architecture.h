// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The registry of network families. A row says everything by which a family differs from the others: the names of its
// weights and a function that turns its configuration into a Network. Sources: the modeling files of transformers 5.23
// and the conversion scripts of llama.cpp, named at each row.

#include "core/eval/network/config.h"
#include "core/eval/network/network.h"

#include <span>

namespace qs::eval {

/// What a weight does. Matrices are [outputs, inputs] unless Architecture::weightsAreInputsFirst.
enum class WeightRole {
    Embedding,         ///< [vocabulary, hidden]
    PositionEmbedding, ///< [positions, hidden]
    FinalNorm,         ///< [hidden]
    Head,              ///< [vocabulary, hidden]
    AttentionNorm,     ///< [hidden], before attention
    Query,             ///< [heads * head size, hidden]
    Key,               ///< [key/value heads * head size, hidden]
    Value,             ///< as Key
    QueryKeyValue,     ///< the rows of the three in this order
    Output,            ///< [hidden, heads * head size]
    QueryNorm,         ///< [head size], or of the whole projection
    KeyNorm,
    AfterAttentionNorm, ///< [hidden], on the output of attention before it is added
    MlpNorm,            ///< [hidden], before the MLP
    Gate,               ///< [intermediate, hidden]
    Up,                 ///< as Gate
    GateUp,             ///< the rows of both in this order
    Down,               ///< [hidden, intermediate]
    AfterMlpNorm        ///< [hidden], on the output of the MLP before it is added
};

struct WeightName {
    WeightRole role;
    const char* name;  ///< after the prefix; of a layer after "layers.N." or "h.N."
    const char* gguf;  ///< of a layer after "blk.N."
    bool bias = false; ///< the family always has NAME with ".bias" in place of ".weight"
};

struct Architecture {
    const char* id;
    const char* title;
    std::span<const std::string_view> modelTypes; ///< model_type in config.json
    std::string_view gguf;                        ///< general.architecture; empty: GGUF files do not name it
    std::span<const std::string_view> prefixes;   ///< before the names of weights, the first that is found
    std::string_view layers;                      ///< "layers": what is between prefix and number
    std::span<const WeightName> model;            ///< weights outside of layers; the head is without a prefix
    std::span<const WeightName> layer;            ///< weights of every layer
    bool weightsAreInputsFirst = false;           ///< matrices of layers are [inputs, outputs] in config.json's folder
    Network (*read)(Config& config);              ///< problems go to the config
};
std::span<const Architecture> architectures();

/// The network of a model. Errors: no description, an unknown family (the sentence lists the known ones), keys that
/// contradict each other or that may change arithmetic and are not known.
Result<Network> readNetwork(const Model& model);

} // namespace qs::eval
