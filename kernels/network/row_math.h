// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Functions of rows of values that the forward pass of a network needs besides products. Every instruction set gives
// the same bits: no multiply-add is fused, and f64 sums have sixteen lanes that are added in one order.
//
// Errors, relative, against the exact result (tests/kernels/row_math_test.cpp):
//   exp in f32    2e-7 from -87.3 to 88.7; 0 below, +Inf above
//   tanh in f32   3e-7
//   exp in f64    5e-16 from -700 to 0; 0 below

#include "kernels/kernel_set.h"

#include <cstddef>

namespace qs {

struct RowMath {
    const char* id; ///< of the KernelSet for the same processors
    /// y = exp(x); x and y may be the same. The same of all functions below.
    void (*exps)(const float* x, std::size_t n, float* y);
    /// y = tanh(x / cap) * cap.
    void (*capped)(const float* x, std::size_t n, float cap, float* y);
    /// y = x / (1 + exp(-x)) * factor; a null factor is 1.
    void (*silu)(const float* x, const float* factor, std::size_t n, float* y);
    /// y = x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2 * factor; a null factor is 1.
    void (*geluTanh)(const float* x, const float* factor, std::size_t n, float* y);
    /// Softmax of columns without its division. `x`: [rows, width], width a multiple of 16. x = x * scale, capped where
    /// cap > 0 (-Inf stays), then exp(x - largest of the column). `inverse`: 1 / sum of each column, width of them;
    /// columns of -Inf alone have NaN.
    void (*softmaxColumns)(float* x, std::size_t rows, std::size_t width, float scale, float cap, float* inverse);
    /// y = (x - mean) * inverse * (factor + one) + bias; a null bias is 0.
    void (*normed)(const float* x, std::size_t n, float mean, float inverse, const float* factor, float one,
                   const float* bias, float* y);
    void (*plus)(const float* x, std::size_t n, float* y); ///< y += x

    double (*sum)(const float* x, std::size_t n);
    double (*squares)(const float* x, std::size_t n, double mean);    ///< sum of (x - mean)^2
    float (*largest)(const float* x, std::size_t n);                  ///< n > 0; NaN where one is NaN or +Inf
    double (*sumOfExps)(const float* x, std::size_t n, double shift); ///< sum of exp(x - shift) in f64
    /// Kullback-Leibler divergence of two softmaxes of logits a and b, in nats: sum of exp(a - lnA) ((a - lnA) - (b -
    /// lnB)). lnA, lnB: ln of the sum of all exp of a, of b. Terms with a probability below exp(-700) are 0, whatever b
    /// is: a may be -Inf.
    double (*divergence)(const float* a, double lnA, const float* b, double lnB, std::size_t n);
};
const RowMath& rowMathOf(const KernelSet& kernels);
/// The functions for the same processor as bestKernels().
const RowMath& rowMath();

const RowMath& scalarRowMath();
#if defined(__x86_64__)
const RowMath& avx2RowMath();
const RowMath& avx512RowMath();
#endif

} // namespace qs
