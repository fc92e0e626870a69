// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A decoder network (a language model) as numbers: what its forward pass must know besides the weights. Made by a row
// of architectures() from config.json or from the keys of a GGUF file. Sizes are counts of elements.

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
    /// Used in place of `frequency` for chunks of more than `shortPositions` tokens (longrope). If it is empty, all
    /// chunks use `frequency`.
    std::vector<double> longFrequency = {};
    std::int64_t shortPositions = 0; ///< most tokens for which `frequency` is used; 0: no limit
    /// True if a chunk of this many tokens uses longFrequency.
    bool isLong(std::size_t tokens) const { return !longFrequency.empty() && std::int64_t(tokens) > shortPositions; }
};

/// The properties of a layer that may differ from those of other layers.
struct LayerPlan {
    std::int64_t window = 0; ///< a position sees itself and the window - 1 positions before it; 0: all before it
    int rope = 0;            ///< index into Network::ropes; -1: positions do not turn queries and keys
    bool hasExperts = false; ///< its MLP is a mixture of experts
};

/// A mixture of experts: each token goes through a few of many MLPs. A router scores all experts, and a softmax over
/// all scores follows. The experts with the largest values are used; these values are the factors of their outputs.
struct Mixture {
    std::int64_t experts = 0, used = 0; ///< experts of a layer; experts that a token uses
    std::int64_t intermediate = 0;      ///< values between the two products of an expert
    bool sumsToOne = true;              ///< true: the factors that are used are divided by their sum
};

struct Network {
    const Architecture* architecture = nullptr;
    std::int64_t vocabulary = 0; ///< rows of the token embedding
    std::int64_t hidden = 0, intermediate = 0;
    std::int64_t heads = 0, keyValueHeads = 0, headSize = 0;
    std::int64_t positions = 0; ///< the longest context that it was trained for; 0: not known

    std::int64_t tokenTypes = 0; ///< rows of the embedding of token types; 0: there is none
    bool isEncoder = false;      ///< true: a token sees all tokens of its chunk, and there is no head

    NormKind norm = NormKind::Rms;
    float normEpsilon = 1e-5f;
    bool normAddsOne = false; ///< the factor of a norm is 1 + weight
    bool normsSums = false;   ///< true: the norm after attention or MLP is applied to input + output, not to the output
    QueryKeyNorm queryKeyNorm = QueryKeyNorm::None;

    const Activation* activation = nullptr;
    float embeddingScale = 1;
    float attentionScale = 0; ///< products of queries and keys are multiplied by it
    float attentionCap = 0;   ///< scaled products become cap * tanh(product / cap); 0: no cap
    float logitCap = 0;       ///< the same for logits; 0: no cap
    std::vector<Rope> ropes;
    bool pairsAreNeighbours = false; ///< rotated pairs are (0, 1), (2, 3) ... as in GGUF's llama; else (i, i + half)
    Mixture mixture;
    std::vector<LayerPlan> layers;
    bool hasAttentionBiases = false, hasMlpBiases = false; ///< true: the configuration requires these biases
    bool tied = false;                                     ///< the head is the token embedding
};

} // namespace qs::eval
