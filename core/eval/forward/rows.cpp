// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/forward/rows.h"

#include <cmath>

namespace qs::eval {

void normalize(const Network& network, std::span<const float> x, std::size_t width, std::span<const float> factor,
               std::span<const float> bias, float* y) {
    const float one = network.normAddsOne ? 1.0f : 0.0f;
    for (std::size_t begin = 0; begin < x.size(); begin += width) {
        const float* row = x.data() + begin;
        float* out = y + begin;
        double mean = 0, squares = 0;
        if (network.norm == NormKind::Layer) {
            for (std::size_t i = 0; i < width; ++i) mean += double(row[i]);
            mean /= double(width);
        }
        for (std::size_t i = 0; i < width; ++i) squares += (double(row[i]) - mean) * (double(row[i]) - mean);
        const auto inverse = float(1 / std::sqrt(squares / double(width) + double(network.normEpsilon)));
        for (std::size_t i = 0; i < width; ++i)
            out[i] = (row[i] - float(mean)) * inverse * (factor[i] + one) + (bias.empty() ? 0.0f : bias[i]);
    }
}

void addBias(std::span<const float> bias, std::size_t rows, float* y) {
    if (bias.empty()) return;
    for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t i = 0; i < bias.size(); ++i) y[r * bias.size() + i] += bias[i];
}

} // namespace qs::eval
