// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The product of rows with a matrix of a layer. Our own kernels compute it, or the server of the matrix does.

#include "core/eval/network/weight_matrix.h"
#include "core/value/product.h"

#include <optional>

namespace qs::eval {

class Linear {
public:
    /// Takes the matrix [outputs, inputs]. Every run has `rows` rows. `team` are the threads of our own kernels.
    Linear(WeightMatrix matrix, std::size_t rows, std::size_t outputs, std::size_t inputs,
           std::shared_ptr<ThreadTeam> team);

    /// y[rows, outputs] = x[rows, inputs] W^T. Returns false if the job is cancelled or the server has failed
    /// (LinearServer::failure()).
    bool run(const float* x, float* y, const Job& job);

private:
    bool runParts(const float* x, float* y, const Job& job);
    std::size_t rows_, outputs_;
    std::optional<value::PreparedProduct> own_;
    std::vector<std::shared_ptr<ServedMatrix>> parts_; ///< used if own_ is empty
    std::vector<float> ofPart_;
};

} // namespace qs::eval
