// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The registry of network families. A row says everything by which a family differs from the others: the names of its
// weights and a function that turns its configuration into a Network. Sources: the modeling files of transformers 5.23
// and the conversion scripts of llama.cpp, named at each row. The rows are in families/.

#include "core/eval/network/config.h"
#include "core/eval/network/network.h"

#include <span>

namespace qs::eval {

/// What a weight does. Matrices are [outputs, inputs] unless Architecture::weightsAreInputsFirst.
enum class WeightRole {
    Embedding,         ///< [vocabulary, hidden]
    PositionEmbedding, ///< [positions, hidden]
    TokenTypes,        ///< [token types, hidden]: the first is added to every embedding
    EmbeddingNorm,     ///< [hidden], on embeddings
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
    AfterAttentionNorm, ///< [hidden], on the output of attention or on its sum with the input (Network::normsSums)
    MlpNorm,            ///< [hidden], before the MLP
    Gate,               ///< [intermediate, hidden]
    Up,                 ///< as Gate
    GateUp,             ///< the rows of both in this order
    Down,               ///< [hidden, intermediate]
    Router,             ///< [experts, hidden]: a score of every expert
    ExpertGate,         ///< as Gate of one expert, or of all: [experts, intermediate of an expert, hidden]
    ExpertUp,           ///< as ExpertGate
    ExpertGateUp,       ///< the rows of both in this order, of one expert or of all
    ExpertDown,         ///< [hidden, intermediate of an expert], or of all
    AfterMlpNorm        ///< [hidden], on the output of the MLP; as AfterAttentionNorm
};

/// True for a matrix of one expert or of all experts.
constexpr bool isOfExperts(WeightRole role) {
    return role == WeightRole::ExpertGate || role == WeightRole::ExpertUp || role == WeightRole::ExpertGateUp ||
           role == WeightRole::ExpertDown;
}

/// Which layers have a weight.
enum class Layers { All, Dense, WithExperts };

/// A weight under one of its names. Rows of the same role are names to try one after another.
struct WeightName {
    WeightRole role;
    /// The end of the name, behind the prefix; in a layer behind "layers.N." or "h.N.". "{}" stands for the number of
    /// an expert. Null: files of this kind do not have it.
    const char* name;
    const char* gguf;  ///< name in GGUF files; in a layer behind "blk.N."
    bool bias = false; ///< true: it always has a bias, NAME with ".bias" in place of ".weight"; false: it may have one
    bool mayLack = false; ///< true: most files do not have it, but have weights of other roles in its place
    Layers layers = Layers::All;
};

/// A weight that joins the rows of other weights. A file has either this one or the others.
struct FusedWeight {
    WeightRole whole;
    std::span<const WeightRole> parts;
};
std::span<const FusedWeight> fusedWeights();

struct Architecture {
    const char* id;
    const char* title;
    std::span<const std::string_view> modelTypes; ///< model_type in config.json
    std::string_view gguf;                        ///< general.architecture; "" if there are no such GGUF files
    std::span<const std::string_view> prefixes;   ///< possible prefixes of names; the first that is found is used
    std::string_view layers;                      ///< text between prefix and number of a layer, e.g. "layers"
    std::span<const WeightName> model;            ///< weights outside of layers; the head has no prefix
    std::span<const WeightName> layer;            ///< weights of layers
    Network (*read)(Config& config);              ///< makes the network; problems are stored in the config
    bool weightsAreInputsFirst = false;           ///< matrices of layers are [inputs, outputs] in config.json's folder
    bool hasExperts = false;                      ///< GGUF files that share a name are told apart by this
};
std::span<const Architecture> architectures();

/// The network of a model. Errors: no description, an unknown family (the sentence lists the known ones), keys that
/// contradict each other or that may change arithmetic and are not known.
Result<Network> readNetwork(const Model& model);

} // namespace qs::eval
