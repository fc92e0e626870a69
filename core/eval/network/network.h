// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A decoder network (a language model) as numbers: what its forward pass must know besides the weights. Made by a row of
// architectures() from config.json or from the keys of a GGUF file. Sizes are counts of elements.

#include <cstdint>
#include <string>
#include <vector>

namespace qs::eval {

struct Activation;
struct Architecture;

enum class NormKind { Rms, Layer };
/// Normalization of queries and keys before the rotation.
enum class QueryKeyNorm { None, PerHead, WholeProjection };

/// The angles of a rotary position embedding: value pair i of a head is turned by position * frequency[i].
struct Rope {
    std::vector<double> frequency; ///< radians a position; half as many as dimensions that are turned
    double scale = 1;              ///< factor on sine and cosine (longrope)
    /// In place of `frequency` in chunks of more than `shortPositions` tokens (longrope). Empty: one set for all.
    std::vector<double> longFrequency = {};
    std::int64_t shortPositions = 0; ///< the longest context that `frequency` holds for; 0: any
    /// Whether a chunk of so many tokens has the other frequencies.
    bool isLong(std::size_t tokens) const { return !longFrequency.empty() && std::int64_t(tokens) > shortPositions; }
};

/// What may differ from layer to layer.
struct LayerPlan {
    std::int64_t window = 0; ///< a position sees itself and window - 1 positions before; 0: all
    int rope = 0;            ///< index into Network::ropes; -1: positions do not turn queries and keys
    bool hasExperts = false; ///< its MLP is a mixture of experts
};

/// MLPs of which every token goes through a few. A router scores them; the scores go through a softmax over all experts,
/// the largest are the factors of their experts' outputs.
struct Mixture {
    std::int64_t experts = 0, used = 0; ///< of a layer; of them for a token
    std::int64_t intermediate = 0;      ///< of one expert
    bool sumsToOne = true;              ///< the factors that are used are divided by their sum
};

struct Network {
    const Architecture* architecture = nullptr;
    std::int64_t vocabulary = 0; ///< rows of the token embedding
    std::int64_t hidden = 0, intermediate = 0;
    std::int64_t heads = 0, keyValueHeads = 0, headSize = 0;
    std::int64_t positions = 0; ///< the longest context that it was trained for; 0: not said

    std::int64_t tokenTypes = 0; ///< rows of the embedding of token types; 0: there is none
    bool isEncoder = false;      ///< a token sees all tokens of its chunk, and there is no head

    NormKind norm = NormKind::Rms;
    float normEpsilon = 1e-5f;
    bool normAddsOne = false; ///< the factor of a norm is 1 + weight
    bool normsSums = false;   ///< norms after attention and MLP are of the sum with what went in
    QueryKeyNorm queryKeyNorm = QueryKeyNorm::None;

    const Activation* activation = nullptr;
    float embeddingScale = 1;
    float attentionScale = 0; ///< on the products of queries and keys
    float attentionCap = 0;   ///< cap * tanh(score / cap) on scaled products; 0: none
    float logitCap = 0;       ///< the same on logits; 0: none
    std::vector<Rope> ropes;
    bool pairsAreNeighbours = false; ///< rotated pairs are (0, 1), (2, 3) ... as in GGUF's llama; else (i, i + half)
    Mixture mixture;
    std::vector<LayerPlan> layers;
    bool hasAttentionBiases = false, hasMlpBiases = false; ///< the configuration says so: they must be there
    bool tied = false;                                     ///< the head is the token embedding
};

} // namespace qs::eval
