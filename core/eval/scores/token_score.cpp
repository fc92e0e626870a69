// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/scores/token_score.h"

#include "kernels/network/row_math.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace qs::eval {
namespace {

/// Logits of which some may be minus infinity: a probability of 0.
struct Logits {
    std::span<const float> values;
    double lnSum = 0; ///< ln of the sum of exp(logit)
    std::size_t top = 0;
    bool finite = true; ///< none is NaN or infinity, and not all are minus infinity
    explicit Logits(std::span<const float> logits) : values(logits) {
        const float largest = rowMath().largest(values.data(), values.size());
        finite = std::isfinite(largest);
        if (!finite) return;
        top = std::size_t(std::find(values.begin(), values.end(), largest) - values.begin());
        lnSum = double(largest) + std::log(rowMath().sumOfExps(values.data(), values.size(), double(largest)));
    }
    double nll(std::int32_t token) const { return lnSum - double(values[std::size_t(token)]); }
};

/// The sum of q over the tokens that the reference does not cut.
double shareOfKnown(const Logits& p, const Logits& q) {
    if (std::ranges::none_of(p.values, [](float value) { return std::isinf(value); })) return 1;
    thread_local std::vector<float> known;
    known.assign(q.values.begin(), q.values.end());
    for (std::size_t i = 0; i < known.size(); ++i)
        if (std::isinf(p.values[i])) known[i] = -std::numeric_limits<float>::infinity();
    return rowMath().sumOfExps(known.data(), known.size(), q.lnSum);
}

} // namespace

TokenScore scoreToken(std::span<const float> reference, std::span<const float> other, std::int32_t token,
                      ReferenceKind kind) {
    TokenScore score;
    score.token = token;
    Logits p(reference);
    const Logits q(other);
    score.finite = p.finite && q.finite;
    if (!score.finite) return score;
    double more = 0;
    if (kind == ReferenceKind::LogProbabilities) more = shareOfKnown(p, q) - std::exp(std::exchange(p.lnSum, 0.0));
    const double referenceNll = p.nll(token), nll = q.nll(token);
    // The KL is infinite if the other network excludes a token that the reference does not exclude.
    const double divergence =
        more + rowMath().divergence(reference.data(), p.lnSum, other.data(), q.lnSum, reference.size());
    score.finite = std::isfinite(referenceNll) && std::isfinite(nll) && std::isfinite(divergence);
    if (!score.finite) return score;
    score.referenceNll = referenceNll, score.nll = nll, score.divergence = divergence;
    score.probabilityChange = std::exp(-score.nll) - std::exp(-score.referenceNll);
    score.sameTop = p.top == q.top;
    return score;
}

} // namespace qs::eval
