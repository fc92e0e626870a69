// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Attention of one head over one chunk: out = softmax(scale * q k^T) v by the dense inner loops of products. Lanes are
// queries: scores are computed transposed, [keys, queries], so that no sum crosses lanes. Every sum is added in the
// order of the positions.

#include <cstddef>
#include <vector>

namespace qs {

/// One head of a chunk. Rows of `query`, `key` and `value` are `stride` values apart.
struct AttentionHead {
    const float *query = nullptr, *key = nullptr, *value = nullptr;
    std::size_t stride = 0, length = 0, size = 0; ///< length: tokens; size: values of a head
    std::size_t window = 0;                       ///< a position sees itself and window - 1 positions before; 0: all
    bool isCausal = true;                         ///< a position sees none that follow it
    float scale = 1;                              ///< on the products of queries and keys
    float cap = 0;                                ///< cap * tanh(score / cap) on scaled products; 0: none
};

/// Queries that are computed at once on this processor.
std::size_t attentionQueries();
/// Floats of the packed keys and values of a head.
std::size_t packedHeadSize(std::size_t length, std::size_t size);
/// Packs the keys and values of a head; heads that share them share the result.
void packHead(const AttentionHead& head, float* packed);

/// Working memory of one thread. It grows where a chunk needs more.
struct AttentionScratch {
    std::vector<float> scores, query, sums;
};
/// The outputs of queries [first, first + attentionQueries()) that are below the length. `out`: the row of the first of
/// them; rows are `outStride` values apart.
void attend(const AttentionHead& head, const float* packed, std::size_t first, AttentionScratch& scratch, float* out,
            std::size_t outStride);

} // namespace qs
