// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/network/weight_matrix.h"

#include "core/base/release.h"
#include "core/value/product.h"
#include "kernels/kernel_set.h"

#include <numeric>
#include <optional>

namespace qs::eval {
namespace {

/// A matrix for our own kernels that stands beside served matrices in one product.
class OwnMatrix final : public ServedMatrix {
public:
    OwnMatrix(WeightMatrix matrix, std::size_t inputs)
        : ServedMatrix(matrix.size() / inputs, inputs), matrix_(std::move(matrix)) {}
    bool run(const float* x, std::size_t rows, float* y, const Job& job) override {
        if (!product_) {
            product_.emplace(value::ProductWeights(matrix_.data(), matrix_.element()), rows, outputs(), inputs(),
                             false);
            matrix_ = {};
        }
        return product_->run(x, y, job);
    }

private:
    WeightMatrix matrix_; ///< until the number of rows is known
    std::optional<value::PreparedProduct> product_;
};

} // namespace

std::size_t WeightMatrix::size() const {
    const auto add = [](std::size_t sum, const auto& part) { return sum + part->outputs() * part->inputs(); };
    if (!served_.empty()) return std::accumulate(served_.begin(), served_.end(), std::size_t(0), add);
    return element_ == NumberType::F32 ? singles_.size() : halves_.size();
}

std::vector<float>& WeightMatrix::singles() {
    if (element_ == NumberType::F32) return singles_;
    singles_.resize(halves_.size());
    const KernelSet& kernels = bestKernels();
    (element_ == NumberType::Bf16 ? kernels.bf16ToF32 : kernels.f16ToF32)(halves_.data(), halves_.size(),
                                                                          singles_.data());
    release(halves_), element_ = NumberType::F32;
    return singles_;
}

void WeightMatrix::append(WeightMatrix rows) {
    if (empty()) {
        *this = std::move(rows);
    } else if (!served_.empty() || !rows.served_.empty()) {
        const std::size_t inputs = (served_.empty() ? rows : *this).served_.front()->inputs();
        if (served_.empty()) *this = WeightMatrix(std::make_shared<OwnMatrix>(std::move(*this), inputs));
        if (rows.served_.empty()) rows = WeightMatrix(std::make_shared<OwnMatrix>(std::move(rows), inputs));
        served_.insert(served_.end(), rows.served_.begin(), rows.served_.end());
    } else if (element_ == rows.element_ && element_ != NumberType::F32) {
        halves_.insert(halves_.end(), rows.halves_.begin(), rows.halves_.end());
    } else {
        const std::vector<float>& more = rows.singles();
        singles().insert(singles_.end(), more.begin(), more.end());
    }
}

} // namespace qs::eval
