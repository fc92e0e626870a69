// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/network/activation.h"

#include "kernels/network/row_math.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace qs::eval {
namespace {

template<float (*Function)(float)> void applyEach(const float* x, const float* factor, std::size_t n, float* y) {
    for (std::size_t i = 0; i < n; ++i) y[i] = Function(x[i]) * (factor ? factor[i] : 1.0f);
}

void silu(const float* x, const float* factor, std::size_t n, float* y) { rowMath().silu(x, factor, n, y); }
void geluTanh(const float* x, const float* factor, std::size_t n, float* y) { rowMath().geluTanh(x, factor, n, y); }
float geluErf(float x) { return 0.5f * x * (1 + std::erf(x * float(1 / std::numbers::sqrt2))); }
float relu(float x) { return std::max(x, 0.0f); }

constexpr std::string_view kSiluNames[] = {"silu", "swish"}, kTanhNames[] = {"gelu_pytorch_tanh", "gelu_new"},
                           kErfNames[] = {"gelu"}, kReluNames[] = {"relu"};
constexpr Activation kActivations[] = {
    {kSiluNames, silu}, {kTanhNames, geluTanh}, {kErfNames, applyEach<geluErf>}, {kReluNames, applyEach<relu>}};

} // namespace

std::span<const Activation> activations() { return kActivations; }

const Activation* findActivation(std::string_view name) {
    for (const Activation& row : kActivations)
        if (std::count(row.names.begin(), row.names.end(), name) > 0) return &row;
    return nullptr;
}

} // namespace qs::eval
