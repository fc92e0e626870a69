// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/network/weight_matrix.h"

#include "kernels/kernel_set.h"

namespace qs::eval {

std::vector<float>& WeightMatrix::singles() {
    if (element_ == NumberType::F32) return singles_;
    singles_.resize(halves_.size());
    const KernelSet& kernels = bestKernels();
    (element_ == NumberType::Bf16 ? kernels.bf16ToF32 : kernels.f16ToF32)(halves_.data(), halves_.size(),
                                                                          singles_.data());
    halves_ = {}, element_ = NumberType::F32;
    return singles_;
}

WeightMatrix WeightMatrix::part(std::size_t begin, std::size_t count) const {
    const auto cut = [&](const auto& values) {
        const auto first = values.begin() + std::ptrdiff_t(begin);
        return std::remove_cvref_t<decltype(values)>(first, first + std::ptrdiff_t(count));
    };
    return element_ == NumberType::F32 ? WeightMatrix(cut(singles_)) : WeightMatrix(cut(halves_), element_);
}

void WeightMatrix::append(WeightMatrix rows) {
    if (empty()) {
        *this = std::move(rows);
    } else if (element_ == rows.element_ && element_ != NumberType::F32) {
        halves_.insert(halves_.end(), rows.halves_.begin(), rows.halves_.end());
    } else {
        const std::vector<float>& more = rows.singles();
        singles().insert(singles_.end(), more.begin(), more.end());
    }
}

} // namespace qs::eval
