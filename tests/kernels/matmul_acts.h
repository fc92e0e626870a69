// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Activations of a product: as stored in the operand and as the product uses them. Also the result in f64.

#include "kernels/kernel_set.h"
#include "tests/kernels/matmul_case.h"

#include <algorithm>
#include <cfloat>

namespace qs::test {

struct Acts {
    std::vector<float> f32;        ///< [M,K], as the product uses them, without the scale of the row
    std::vector<double> scale;     ///< [M], the scale of each row
    std::vector<std::uint8_t> raw; ///< as stored in the operand
    std::vector<float> rawScale;
};

inline Acts makeActs(MatmulProblem& p, NumberType act, bool dynamic, unsigned seed) {
    p.act = act, p.dynamicAct = dynamic;
    Acts a;
    const std::size_t count = p.m * p.k;
    a.f32.resize(count), a.scale.assign(p.m, 1.0), a.rawScale.assign(p.m, 1.0f);
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    for (float& v : a.f32) v = normal(random);
    if (act == NumberType::F32 || dynamic) {
        a.raw.resize(count * 4);
        std::memcpy(a.raw.data(), a.f32.data(), count * 4);
    }
    if (act == NumberType::Bf16) {
        a.raw.resize(count * 2);
        for (std::size_t i = 0; i < count; ++i) {
            const std::uint16_t half = f32ToBf16(a.f32[i]);
            std::memcpy(&a.raw[2 * i], &half, 2);
            a.f32[i] = bf16ToF32(half);
        }
    }
    if (act == NumberType::I8) {
        if (!dynamic) a.raw.resize(count);
        for (std::size_t m = 0; m < p.m; ++m) {
            float most = 0;
            for (std::size_t i = 0; i < p.k; ++i) most = std::max(most, std::fabs(a.f32[m * p.k + i]));
            const float s = most / 127.0f + FLT_MIN;
            a.scale[m] = double(s), a.rawScale[m] = s;
            for (std::size_t i = m * p.k; i < (m + 1) * p.k; ++i) {
                a.f32[i] = std::nearbyint(a.f32[i] / s);
                if (!dynamic) a.raw[i] = std::uint8_t(std::int8_t(a.f32[i]));
            }
        }
    }
    if (act == NumberType::Fp8E4m3) // round to the nearest fp8 value, ties to even
        for (std::size_t m = 0; m < p.m; ++m) {
            float most = 0;
            for (std::size_t i = 0; i < p.k; ++i) most = std::max(most, std::fabs(a.f32[m * p.k + i]));
            const float s = most / 448.0f != 0 ? most / 448.0f : 1.0f;
            a.scale[m] = double(s);
            for (std::size_t i = m * p.k; i < (m + 1) * p.k; ++i) {
                const float v = std::clamp(a.f32[i] / s, -448.0f, 448.0f);
                const float step = std::ldexp(1.0f, std::max(v == 0 ? -6 : std::ilogb(v), -6) - 3);
                a.f32[i] = std::nearbyint(v / step) * step;
            }
        }
    return a;
}

/// Result y [M,N] in f64. `spread` gets the sum of the squares of all single products. One y can be small because terms
/// cancel, and no kernel can be exact then. So errors are compared with the larger of both.
inline std::vector<double> expected(const Weight& w, const Acts& a, double* spread = nullptr) {
    const MatmulProblem& p = w.problem;
    double squares = 0;
    std::vector<double> y(p.m * p.n);
    for (std::size_t m = 0; m < p.m; ++m)
        for (std::size_t n = 0; n < p.n; ++n) {
            double sum = 0;
            for (std::size_t k = 0; k < p.k; ++k) {
                const double product = double(a.f32[m * p.k + k]) * double(w.dense[n * p.k + k]);
                sum += product, squares += product * product * a.scale[m] * a.scale[m];
            }
            y[m * p.n + n] = sum * a.scale[m] + (p.bias ? double(w.bias[n]) : 0);
        }
    if (spread) *spread = squares;
    return y;
}

} // namespace qs::test
