// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The score of one token under two networks: a reference, and the same network with other weights. Natural logarithms.

#include <cstddef>
#include <cstdint>
#include <span>

namespace qs::eval {

struct TokenScore {
    std::int32_t token = 0;       ///< the token to predict
    std::size_t chunk = 0;        ///< number of its chunk
    std::size_t position = 0;     ///< position in the chunk of the input before it
    double referenceNll = 0;      ///< -ln p(token) of the reference, nats
    double nll = 0;               ///< the same of the other network
    double divergence = 0;        ///< KL(reference || other) over the vocabulary, nats
    double probabilityChange = 0; ///< p(token) of the other network minus that of the reference
    bool sameTop = false;         ///< both have the largest logit at the same token; of equal logits the first counts
    bool finite = true;           ///< false: a logit is NaN or infinite, and the figures above are not valid
};

/// The kind of values that a reference has.
enum class ReferenceKind {
    Logits,           ///< p is their softmax; minus infinity is a probability of 0
    LogProbabilities, ///< ln p from a base file; minus infinity: the file cuts such small values
};

/// Scores a token from the logits of both networks after the same input. Both have a value for every token of the
/// vocabulary. Sums are f64, in the same order on every processor. KL = sum p (ln p - ln q), p = softmax(reference), q
/// = softmax(other). A logit of the reference may be minus infinity, but not that of `token`. For log-probabilities KL
/// = sum (p (ln p - ln q) - p + q) over the tokens that the file does not cut. No term is below 0. Over all tokens the
/// sum is the KL of two distributions. So cut tokens add nothing, and rounding in the file adds only its square. If p
/// were divided by its sum instead, the KL of two equal networks would not be 0.
TokenScore scoreToken(std::span<const float> reference, std::span<const float> other, std::int32_t token,
                      ReferenceKind kind = ReferenceKind::Logits);

} // namespace qs::eval
