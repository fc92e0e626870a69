// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/value/product.h"

#include <algorithm>

namespace qs::value {
namespace {

const MatmulVariant& bestVariant(const MatmulProblem& problem) {
    const auto variants = matmulVariants();
    const MatmulVariant* best = variants.front(); // the reference does everything
    for (const MatmulVariant* variant : variants.subspan(1)) {
        if (variant->compute != NumberType::F32 || !variant->supported() || variant->declines(problem)) continue;
        if (variant->fromM > problem.m || (best != variants.front() && variant->fromM <= best->fromM)) continue;
        best = variant;
    }
    return *best;
}

} // namespace

PreparedProduct::PreparedProduct(const float* w, std::size_t m, std::size_t n, std::size_t k, bool weightIsKn) {
    problem_.m = m, problem_.n = n, problem_.k = k, problem_.weightIsKn = weightIsKn;
    problem_.compute = NumberType::F32;
    problem_.weight.id = "f32";
    if (whyImpossible(problem_)) return;
    WeightOperand operand;
    operand.codes = w;
    operand.rowBytes = problem_.cols() * sizeof(float);
    prepared_ = bestVariant(problem_).prepare(problem_, operand, team_);
}

bool PreparedProduct::run(const float* x, float* y, const Job& job) {
    if (!prepared_) {
        std::fill_n(y, problem_.m * problem_.n, 0.0f);
        return !job.cancelled();
    }
    const StopRequest stop{[](const void* user) { return static_cast<const Job*>(user)->cancelled(); }, &job};
    return prepared_->run({x, nullptr}, {y, nullptr}, team_, stop);
}

bool product(const float* x, const float* w, std::size_t m, std::size_t n, std::size_t k, bool weightIsKn, float* y,
             const Job& job) {
    return PreparedProduct(w, m, n, k, weightIsKn).run(x, y, job);
}

} // namespace qs::value
