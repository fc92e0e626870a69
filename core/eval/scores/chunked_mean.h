// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/eval/scores/score_summary.h"

namespace qs::eval {

/// Computes an Estimate of values that arrive chunk after chunk and are not stored. The result is that of estimate(),
/// except for the order of sums.
class ChunkedMean {
public:
    void add(double value, std::size_t chunk); ///< `chunk` must not be smaller than before
    std::size_t count() const { return count_; }
    Estimate estimate() const; ///< needs count() > 0

private:
    struct Sums { ///< sums over chunks g of n_g^2, n_g S_g and S_g^2; S_g is the sum of the n_g values of chunk g
        double counts = 0, mixed = 0, sums = 0;
        std::size_t chunks = 0;
        void take(double n, double s) { counts += n * n, mixed += n * s, sums += s * s, ++chunks; }
    };
    std::size_t count_ = 0, chunk_ = 0, inChunk_ = 0;
    double sum_ = 0, squares_ = 0, chunkSum_ = 0;
    Sums before_; ///< sums of all chunks before the current one
};

} // namespace qs::eval
