// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/value/synthetic.h"

#include "core/base/parallel.h"
#include "core/base/random.h"

#include <cmath>

namespace qs::value {
namespace {

constexpr std::size_t kFactors = 8;
enum Stream : std::uint64_t { Values = 11, Loadings, Factors, Outliers, Gradients, Sizes };

template<class Fill> Tensor filled(std::int64_t rows, std::int64_t columns, const Fill& fill) {
    Tensor out{{rows, columns}, std::vector<float>(std::size_t(rows * columns))};
    parallelFor(std::size_t(rows), 16, [&](std::size_t begin, std::size_t end, unsigned) {
        for (std::size_t row = begin; row < end; ++row) fill(row, out.values.data() + row * std::size_t(columns));
    });
    return out;
}

} // namespace

Tensor syntheticInputs(std::int64_t rows, std::int64_t columns, std::uint64_t seed) {
    const auto count = std::size_t(columns);
    std::vector<float> size(count, 1), loadings(count * kFactors);
    bool any = false;
    for (std::size_t i = 0; i < loadings.size(); ++i) loadings[i] = 0.3f * normalVariate(seed, Loadings, i);
    for (std::size_t c = 0; c < count; ++c)
        if (randomBits(seed, Outliers, c) % 64 == 0) size[c] = 10, any = true;
    if (!any && count >= 32) size[randomBits(seed, Outliers, count) % count] = 10;
    return filled(rows, columns, [&](std::size_t row, float* out) {
        float factors[kFactors];
        for (std::size_t f = 0; f < kFactors; ++f) factors[f] = normalVariate(seed, Factors, row * kFactors + f);
        for (std::size_t c = 0; c < count; ++c) {
            float sum = 0.5f * normalVariate(seed, Values, row * count + c);
            for (std::size_t f = 0; f < kFactors; ++f) sum += factors[f] * loadings[c * kFactors + f];
            out[c] = size[c] * sum;
        }
    });
}

Tensor syntheticGradients(std::int64_t rows, std::int64_t columns, std::uint64_t seed) {
    const auto count = std::size_t(columns);
    return filled(rows, columns, [&](std::size_t row, float* out) {
        const float size = 1e-3f * std::exp2(float(randomBits(seed, Sizes, row) % 5) - 2);
        for (std::size_t c = 0; c < count; ++c) out[c] = size * normalVariate(seed, Gradients, row * count + c);
    });
}

} // namespace qs::value
