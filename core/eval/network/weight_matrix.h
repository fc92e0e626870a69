// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A matrix of weights in memory: bf16 and f16 stay as they are stored until they are multiplied. Or a matrix that a server
// holds, whose values are not here.

#include "core/eval/network/served_matrix.h"
#include "kernels/matmul.h"

#include <cstdint>
#include <vector>

namespace qs::eval {

/// [outputs, inputs], row after row.
class WeightMatrix {
public:
    WeightMatrix() = default;
    WeightMatrix(std::vector<float> values) : singles_(std::move(values)) {}
    /// `element`: F16 or Bf16.
    WeightMatrix(std::vector<std::uint16_t> values, NumberType element)
        : halves_(std::move(values)), element_(element) {}
    explicit WeightMatrix(std::shared_ptr<ServedMatrix> served) { served_.push_back(std::move(served)); }

    std::size_t size() const;
    bool empty() const { return size() == 0; }
    NumberType element() const { return element_; }
    const void* data() const {
        return element_ == NumberType::F32 ? static_cast<const void*>(singles_.data()) : halves_.data();
    }
    /// The values as f32, which the matrix then holds.
    std::vector<float>& singles();
    /// Adds rows below; both become f32 where they differ in type, and served where one is.
    void append(WeightMatrix rows);
    /// Its parts, one below the other; empty: the values are here.
    const std::vector<std::shared_ptr<ServedMatrix>>& served() const { return served_; }

private:
    std::vector<float> singles_; ///< two of the three are empty
    std::vector<std::uint16_t> halves_;
    std::vector<std::shared_ptr<ServedMatrix>> served_;
    NumberType element_ = NumberType::F32;
};

} // namespace qs::eval
