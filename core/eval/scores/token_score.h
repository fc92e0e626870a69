// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What one scored token says of two networks: a reference and the same network with other weights. Natural logarithms.

#include <cstddef>
#include <cstdint>
#include <span>

namespace qs::eval {

struct TokenScore {
    std::int32_t token = 0;       ///< the one to predict
    std::size_t chunk = 0;        ///< of the text
    std::size_t position = 0;     ///< in its chunk, of the token that is the last input
    double referenceNll = 0;      ///< -ln p(token) of the reference, nats
    double nll = 0;               ///< the same of the other network
    double divergence = 0;        ///< KL(reference || other) over the vocabulary, nats
    double probabilityChange = 0; ///< p(token) of the other network minus that of the reference
    bool sameTop = false;         ///< both have their largest logit at the same token, the first of equals
    bool finite = true;           ///< false: a logit is NaN or infinite; no figure above means anything
};

/// From the logits of both networks after the same input; both have a value for every token of the vocabulary.
/// Sums are f64, in one order whatever the processor is. KL = sum p (ln p - ln q), p = softmax(reference), q = softmax(other). A
/// logit of the reference may be minus infinity, a probability of 0, but not that of `token`.
TokenScore scoreToken(std::span<const float> reference, std::span<const float> other, std::int32_t token);

} // namespace qs::eval
