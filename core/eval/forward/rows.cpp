// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/forward/rows.h"

#include "kernels/network/row_math.h"

#include <cmath>

namespace qs::eval {

void normalize(const Network& network, std::span<const float> x, std::size_t width, std::span<const float> factor,
               std::span<const float> bias, float* y) {
    const RowMath& math = rowMath();
    const float one = network.normAddsOne ? 1.0f : 0.0f;
    for (std::size_t begin = 0; begin < x.size(); begin += width) {
        const float* row = x.data() + begin;
        const double mean = network.norm == NormKind::Layer ? math.sum(row, width) / double(width) : 0;
        const double squares = math.squares(row, width, mean);
        const auto inverse = float(1 / std::sqrt(squares / double(width) + double(network.normEpsilon)));
        math.normed(row, width, float(mean), inverse, factor.data(), one, bias.empty() ? nullptr : bias.data(),
                    y + begin);
    }
}

void addBias(std::span<const float> bias, std::size_t rows, float* y) {
    if (bias.empty()) return;
    for (std::size_t r = 0; r < rows; ++r) rowMath().plus(bias.data(), bias.size(), y + r * bias.size());
}

Linear prepared(WeightMatrix matrix, std::size_t rows, std::size_t outputs, std::size_t inputs,
                const Workers& workers) {
    return {std::move(matrix), rows, outputs, inputs, workers.team()};
}

} // namespace qs::eval
