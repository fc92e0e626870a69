// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The products of bench_matmul and bench_scaling, with random weights.

#include "kernels/matmul.h"
#include "kernels/matmul_operands.h"

namespace qs::bench {

struct MatmulCase {
    const char* name;
    WeightFormat format;
    NumberType act;
};
std::vector<MatmulCase> matmulCases();

struct MatmulShape {
    std::size_t m = 1, n = 4096, k = 4096;
    bool kn = false; ///< true: y = x W with W [K,N]; false: y = x W^T with W [N,K]
};
MatmulProblem problemOf(const MatmulCase& c, const MatmulShape& shape);

/// Random codes of finite values, with scales around 0.015.
class RandomWeight {
public:
    explicit RandomWeight(const MatmulProblem& problem);
    WeightOperand operand() const;

private:
    std::size_t rowBytes_, scaleCols_;
    Aligned<std::uint8_t> codes_;
    Aligned<float> scales_;
};
Aligned<float> randomRows(std::size_t m, std::size_t k); ///< values between -1 and 1

} // namespace qs::bench
