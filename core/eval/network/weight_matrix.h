// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A matrix of weights in memory: bf16 and f16 stay as they are stored until they are multiplied.

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

    std::size_t size() const { return element_ == NumberType::F32 ? singles_.size() : halves_.size(); }
    bool empty() const { return size() == 0; }
    NumberType element() const { return element_; }
    const void* data() const {
        return element_ == NumberType::F32 ? static_cast<const void*>(singles_.data()) : halves_.data();
    }
    /// The values as f32, which the matrix then holds.
    std::vector<float>& singles();
    /// A copy of `count` values.
    WeightMatrix part(std::size_t begin, std::size_t count) const;
    /// Adds rows below; both become f32 where they differ in type.
    void append(WeightMatrix rows);

private:
    std::vector<float> singles_; ///< one of the two is empty
    std::vector<std::uint16_t> halves_;
    NumberType element_ = NumberType::F32;
};

} // namespace qs::eval
