// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/quant/encode/half_quadratic.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace qs {
namespace {

/// The generalised soft threshold: nearer to 0 by |e|^(p-1) / beta, at most to 0.
float shrunk(float error, float beta, float p) {
    const float size = std::fabs(error);
    if (size == 0) return 0; // 0^(p-1) is infinite
    const float left = size - std::pow(size, p - 1) / beta;
    return left > 0 ? std::copysign(left, error) : 0.0f;
}

} // namespace

HalfQuadratic halfQuadraticOf(std::span<const double> numbers) {
    HalfQuadratic out;
    if (numbers.size() > 0) out.p = numbers[0];
    if (numbers.size() > 1) out.beta = numbers[1];
    if (numbers.size() > 2) out.kappa = numbers[2];
    if (numbers.size() > 3) out.iterations = int(std::clamp(numbers[3], -1.0, 1e6));
    return out;
}

float halfQuadraticZero(std::span<const float> values, float scale, float lowest, float highest,
                        const HalfQuadratic& how) {
    float zero = lowest - *std::ranges::min_element(values) / scale;
    double beta = how.beta, least = std::numeric_limits<double>::infinity();
    for (int i = 0; i < how.iterations; ++i, beta *= how.kappa) {
        double error = 0, sum = 0;
        for (const float w : values) {
            const float q = std::clamp(std::nearbyint(w / scale + zero), lowest, highest);
            const float e = w - (q - zero) * scale;
            error += std::fabs(double(e));
            sum += double(q - (w - shrunk(e, float(beta), float(how.p))) / scale);
        }
        zero = float(sum / double(values.size()));
        if (!(error < least)) break;
        least = error;
    }
    return zero;
}

} // namespace qs
