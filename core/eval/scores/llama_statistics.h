// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The figures of llama.cpp's `llama-perplexity --kl-divergence`, with its steps in f32 and f64, so that the same logits
// give the same printed digits. They differ from ScoreSummary: the reference is not renormalized, tokens below e^-16 of
// it do not count, percentiles are computed in f32. Source: tools/perplexity/perplexity.cpp of llama.cpp.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace qs::eval {

struct LlamaScore {
    float nll = 0, baseNll = 0;  ///< -ln p(token), nats
    double divergence = 0;       ///< nats
    float probabilityChange = 0; ///< p(token) minus p(token) of the base
    bool sameTop = false;
};
/// `base` is ln p of every token, decoded from a base file (see files/base_logits.h). `logits` are those of the other
/// network.
LlamaScore scoreAsLlama(std::span<const float> base, std::span<const float> logits, std::int32_t token);

class LlamaStatistics {
public:
    void add(const LlamaScore& score);
    std::size_t count() const { return divergences_.size(); }
    /// One line of running figures, for a table with chunkHeader(). `chunk` counts from 0. Call add() before.
    std::string chunkLine(std::size_t chunk) const;
    static std::string chunkHeader();
    /// The three blocks at the end. llama.cpp prints them only from 100 tokens on, this function from 1 token on.
    std::string summary() const;

private:
    struct Sums {
        double sum = 0, squares = 0;
        void add(double value, double square) { sum += value, squares += square; }
    };
    struct Mean {
        double value = 0, error = 0;
    };
    Mean mean(const Sums& sums) const;
    double covariance() const; ///< covariance of the two mean nll
    Mean logRatio() const;
    Mean rms() const;
    Mean sameTop() const;

    Sums nll_, baseNll_, divergence_, change_, changeSquared_;
    double products_ = 0; ///< sum of the products of the two nll
    std::size_t sameTop_ = 0;
    std::vector<float> divergences_, changes_;
};

} // namespace qs::eval
