// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// y[M,N] = x[M,K] w^T with w stored [N,K], or x w with w stored [K,N]: f32 products and sums by the fastest kernel here.

#include "core/base/job.h"
#include "kernels/matmul.h"

namespace qs::value {

/// Keeps its own copy of w, repacked: for many products with one w.
class PreparedProduct {
public:
    PreparedProduct(const float* w, std::size_t m, std::size_t n, std::size_t k, bool weightIsKn);
    /// False when the job was cancelled.
    bool run(const float* x, float* y, const Job& job);

private:
    MatmulProblem problem_;
    ThreadTeam team_;
    std::unique_ptr<PreparedMatmul> prepared_; ///< null: an empty shape
};

bool product(const float* x, const float* w, std::size_t m, std::size_t n, std::size_t k, bool weightIsKn, float* y,
             const Job& job);

} // namespace qs::value
