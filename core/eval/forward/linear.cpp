// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/forward/linear.h"

#include <algorithm>

namespace qs::eval {

Linear::Linear(WeightMatrix matrix, std::size_t rows, std::size_t outputs, std::size_t inputs,
               std::shared_ptr<ThreadTeam> team)
    : rows_(rows), outputs_(outputs), parts_(matrix.served()) {
    if (parts_.empty())
        own_.emplace(value::ProductWeights(matrix.data(), matrix.element()), rows, outputs, inputs, false,
                     std::move(team));
}

bool Linear::run(const float* x, float* y, const Job& job) { return own_ ? own_->run(x, y, job) : runParts(x, y, job); }

bool Linear::runParts(const float* x, float* y, const Job& job) {
    if (parts_.size() == 1) return parts_.front()->run(x, rows_, y, job);
    std::size_t column = 0;
    for (const auto& part : parts_) {
        const std::size_t width = part->outputs();
        ofPart_.resize(rows_ * width);
        if (!part->run(x, rows_, ofPart_.data(), job)) return false;
        for (std::size_t row = 0; row < rows_; ++row)
            std::copy_n(ofPart_.data() + row * width, width, y + row * outputs_ + column);
        column += width;
    }
    return true;
}

} // namespace qs::eval
