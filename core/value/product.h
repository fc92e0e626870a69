// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// f32 products y[M,N] = x[M,K] w^T with w stored [N,K], or x w with w stored [K,N]. Uses the fastest kernel of this
// processor, which is measured. The candidates add in the same order, so that results do not depend on the choice.

#include "core/base/job.h"
#include "kernels/matmul.h"

namespace qs::value {

/// Kernels with f32 products and sums for this problem, the expected fastest first.
std::vector<const MatmulVariant*> productCandidates(const MatmulProblem& problem);

/// Weights as they are stored: f32, or f16 or bf16, whose values are multiplied as f32 and never stored as such.
struct ProductWeights {
    ProductWeights(const float* values) : values(values) {}
    ProductWeights(const void* values, NumberType element) : values(values), element(element) {}
    const void* values;
    NumberType element = NumberType::F32;
};

/// Holds a repacked copy of w, for many products with the same w.
class PreparedProduct {
public:
    /// `team`: its threads prepare and multiply; other products of the same thread may share it. Null: an own one.
    PreparedProduct(ProductWeights w, std::size_t m, std::size_t n, std::size_t k, bool weightIsKn,
                    std::shared_ptr<ThreadTeam> team = nullptr);
    /// False if the job was cancelled.
    bool run(const float* x, float* y, const Job& job);
    /// Id of the kernel in use; "" for an empty shape.
    std::string kernel() const { return variant_ ? variant_->id : ""; }

private:
    MatmulProblem problem_;
    const MatmulVariant* variant_ = nullptr;
    std::shared_ptr<ThreadTeam> team_;
    std::unique_ptr<PreparedMatmul> prepared_; ///< null for an empty shape
};

/// `kernel`: if not null, receives the id of the kernel that was used.
bool product(const float* x, const float* w, std::size_t m, std::size_t n, std::size_t k, bool weightIsKn, float* y,
             const Job& job, std::string* kernel = nullptr);

} // namespace qs::value
