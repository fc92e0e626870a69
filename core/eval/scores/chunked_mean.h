// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/eval/scores/score_summary.h"

namespace qs::eval {

/// An Estimate of values that come chunk after chunk and are not kept. Equal to estimate() but for the order of sums.
class ChunkedMean {
public:
    void add(double value, std::size_t chunk); ///< chunks do not descend
    std::size_t count() const { return count_; }
    Estimate estimate() const; ///< count() > 0

private:
    struct Sums { ///< over chunks: of n_g^2, n_g S_g and S_g^2, where S_g is the sum of the n_g values of chunk g
        double counts = 0, mixed = 0, sums = 0;
        std::size_t chunks = 0;
        void take(double n, double s) { counts += n * n, mixed += n * s, sums += s * s, ++chunks; }
    };
    std::size_t count_ = 0, chunk_ = 0, inChunk_ = 0;
    double sum_ = 0, squares_ = 0, chunkSum_ = 0;
    Sums before_; ///< the chunks before the one that is open
};

} // namespace qs::eval
