// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/scores/token_score.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace qs::eval {
namespace {

constexpr float kNone = -std::numeric_limits<float>::infinity();

struct Logits {
    double largest = 0, logSum = 0; ///< logSum: ln of the sum of exp(logit - largest)
    std::size_t top = 0;
    bool finite = true;
    /// `mayBeNone`: minus infinity stands for a probability of 0.
    explicit Logits(std::span<const float> values, bool mayBeNone) {
        top = std::size_t(std::max_element(values.begin(), values.end()) - values.begin());
        largest = double(values[top]);
        double sum = 0;
        for (const float value : values) {
            sum += std::exp(double(value) - largest);
            finite &= std::isfinite(value) || (mayBeNone && value == kNone);
        }
        finite &= std::isfinite(largest);
        logSum = std::log(sum);
    }
    double logProbability(float logit) const { return double(logit) - largest - logSum; }
};

} // namespace

TokenScore scoreToken(std::span<const float> reference, std::span<const float> other, std::int32_t token) {
    TokenScore score;
    score.token = token;
    const Logits p(reference, true), q(other, false);
    score.finite = p.finite && q.finite && std::isfinite(reference[std::size_t(token)]);
    if (!score.finite) return score;
    score.referenceNll = -p.logProbability(reference[std::size_t(token)]);
    score.nll = -q.logProbability(other[std::size_t(token)]);
    double sum = 0;
    for (std::size_t v = 0; v < reference.size(); ++v) {
        if (reference[v] == kNone) continue;
        const double logP = p.logProbability(reference[v]);
        sum += std::exp(logP) * (logP - q.logProbability(other[v]));
    }
    score.divergence = sum;
    score.probabilityChange = std::exp(-score.nll) - std::exp(-score.referenceNll);
    score.sameTop = p.top == q.top;
    return score;
}

} // namespace qs::eval
