// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/scores/chunked_mean.h"

#include <algorithm>
#include <cmath>

namespace qs::eval {

void ChunkedMean::add(double value, std::size_t chunk) {
    if (count_ > 0 && chunk != chunk_) {
        before_.take(double(inChunk_), chunkSum_);
        inChunk_ = 0, chunkSum_ = 0;
    }
    chunk_ = chunk;
    ++count_, ++inChunk_;
    sum_ += value, chunkSum_ += value, squares_ += value * value;
}

Estimate ChunkedMean::estimate() const {
    Estimate out;
    const auto n = double(count_);
    out.mean = sum_ / n;
    if (count_ > 10) out.independent = std::sqrt(std::max(0.0, squares_ / n - out.mean * out.mean) / (n - 1));
    Sums all = before_;
    all.take(double(inChunk_), chunkSum_);
    if (all.chunks < 2) return out;
    // sum_g (S_g - n_g mean)^2
    const double total = all.sums - 2 * out.mean * all.mixed + out.mean * out.mean * all.counts;
    const auto g = double(all.chunks);
    out.byChunk = std::sqrt(std::max(0.0, total) * g / (g - 1)) / n;
    return out;
}

} // namespace qs::eval
