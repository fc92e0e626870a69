// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A decoder network (a language model) as numbers: what its forward pass must know besides the weights. Made by a row of
// architectures() from config.json or from the keys of a GGUF file. Sizes are counts of elements.

#include <cstdint>
#include <string>
#include <vector>

namespace qs::eval {

struct Architecture;

enum class NormKind { Rms, Layer };
enum class Activation { Silu, GeluTanh, GeluErf, Relu };
/// Normalization of queries and keys before the rotation.
enum class QueryKeyNorm { None, PerHead, WholeProjection };

/// The angles of a rotary position embedding: value pair i of a head is turned by position * frequency[i].
struct Rope {
    std::vector<double> frequency; ///< radians a position; half as many as dimensions that are turned
    double scale = 1;              ///< factor on sine and cosine (longrope, yarn)
};

/// What may differ from layer to layer.
struct LayerPlan {
    std::int64_t window = 0; ///< a position sees itself and window - 1 positions before; 0: all
    int rope = 0;            ///< index into Network::ropes; -1: positions do not turn queries and keys
};

struct Network {
    const Architecture* architecture = nullptr;
    std::int64_t vocabulary = 0; ///< rows of the token embedding
    std::int64_t hidden = 0, intermediate = 0;
    std::int64_t heads = 0, keyValueHeads = 0, headSize = 0;
    std::int64_t positions = 0; ///< the longest context that it was trained for; 0: not said

    NormKind norm = NormKind::Rms;
    float normEpsilon = 1e-5f;
    bool normAddsOne = false; ///< the factor of a norm is 1 + weight
    QueryKeyNorm queryKeyNorm = QueryKeyNorm::None;

    Activation activation = Activation::Silu;
    float embeddingScale = 1;
    float attentionScale = 0; ///< on the products of queries and keys
    float attentionCap = 0;   ///< cap * tanh(score / cap) on scaled products; 0: none
    float logitCap = 0;       ///< the same on logits; 0: none
    std::vector<Rope> ropes;
    bool pairsAreNeighbours = false; ///< rotated pairs are (0, 1), (2, 3) ... as in GGUF's llama; else (i, i + half)
    std::vector<LayerPlan> layers;
    bool tied = false; ///< the head is the token embedding
};

} // namespace qs::eval
