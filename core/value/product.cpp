// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/value/product.h"

#include "core/value/kept_variants.h"
#include "kernels/matmul_operands.h"

#include <algorithm>

namespace qs::value {
// Variants for this number of rows. All of them add in the same order, so that the choice changes no bit of the result.
std::vector<const MatmulVariant*> productCandidates(const MatmulProblem& problem) {
    const auto variants = matmulVariants();
    std::vector<const MatmulVariant*> found;
    for (const MatmulVariant* variant : variants.subspan(1)) {
        if (variant->compute != NumberType::F32 || variant->fromM > problem.m) continue;
        if (!variant->supported() || variant->declines(problem)) continue;
        if (!found.empty() && variant->fromM < found.front()->fromM) continue;
        if (!found.empty() && variant->fromM > found.front()->fromM) found.clear();
        found.push_back(variant);
    }
    if (found.empty()) found.push_back(variants.front()); // the reference supports every problem
    return found;
}

PreparedProduct::PreparedProduct(ProductWeights w, std::size_t m, std::size_t n, std::size_t k, bool weightIsKn,
                                 std::shared_ptr<ThreadTeam> team)
    : team_(team ? std::move(team) : std::make_shared<ThreadTeam>()) {
    problem_.m = m, problem_.n = n, problem_.k = k, problem_.weightIsKn = weightIsKn;
    problem_.compute = NumberType::F32;
    problem_.weight.element = w.element;
    problem_.weight.bits = int(8 * bytesOf(w.element));
    problem_.weight.id = w.element == NumberType::Bf16 ? "bf16" : w.element == NumberType::F16 ? "f16" : "f32";
    if (whyImpossible(problem_)) return;
    WeightOperand operand;
    operand.codes = w.values;
    operand.rowBytes = problem_.cols() * bytesOf(w.element);
    variant_ = &variantChoices().fastest(productCandidates(problem_), problem_);
    prepared_ = variant_->prepare(problem_, operand, *team_);
}

bool PreparedProduct::run(const float* x, float* y, const Job& job) {
    if (!prepared_) {
        std::fill_n(y, problem_.m * problem_.n, 0.0f);
        return !job.cancelled();
    }
    const StopRequest stop{[](const void* user) { return static_cast<const Job*>(user)->cancelled(); }, &job};
    return prepared_->run({x, nullptr}, {y, nullptr}, *team_, stop);
}

bool product(const float* x, const float* w, std::size_t m, std::size_t n, std::size_t k, bool weightIsKn, float* y,
             const Job& job, std::string* kernel) {
    PreparedProduct prepared(w, m, n, k, weightIsKn);
    if (kernel) *kernel = prepared.kernel();
    return prepared.run(x, y, job);
}

} // namespace qs::value
