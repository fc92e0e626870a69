// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// y[M,N] = x[M,K] w^T with w stored [N,K], or x w with w stored [K,N]: f32 products and sums by the fastest kernel here,
// which is measured. Those that compete add in the same order, so that results repeat.

#include "core/base/job.h"
#include "kernels/matmul.h"

namespace qs::value {

/// Kernels of f32 products and sums for this problem, the expected fastest first.
std::vector<const MatmulVariant*> productCandidates(const MatmulProblem& problem);

/// Keeps its own copy of w, repacked: for many products with one w.
class PreparedProduct {
public:
    PreparedProduct(const float* w, std::size_t m, std::size_t n, std::size_t k, bool weightIsKn);
    /// False when the job was cancelled.
    bool run(const float* x, float* y, const Job& job);
    /// Which kernel multiplies; "" for an empty shape.
    std::string kernel() const { return variant_ ? variant_->id : ""; }

private:
    MatmulProblem problem_;
    const MatmulVariant* variant_ = nullptr;
    ThreadTeam team_;
    std::unique_ptr<PreparedMatmul> prepared_; ///< null: an empty shape
};

/// `kernel`: which one multiplied, when that is wanted.
bool product(const float* x, const float* w, std::size_t m, std::size_t n, std::size_t k, bool weightIsKn, float* y,
             const Job& job, std::string* kernel = nullptr);

} // namespace qs::value
