// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A dense tensor in memory, the other side of a quantized one: f32 values in C order. `dtype` says what they are
// rounded to (F32, F16, BF16), or Bool for what a comparison gives: 0 and 1.

#include "core/base/result.h"
#include "core/model/model.h"

#include <cstdint>
#include <span>
#include <vector>

namespace qs::value {

using Shape = std::vector<std::int64_t>;

struct Tensor {
    Shape shape;
    std::vector<float> values;
    DType dtype = DType::F32;
    std::string name = {}; ///< of the tensor of a file, for sentences; results of operations have none
    std::size_t rank() const { return shape.size(); }
};

/// Product of the dimensions; 1 for rank 0.
std::int64_t elementsOf(std::span<const std::int64_t> shape);
/// Steps between neighbours along each axis, in elements, C order.
Shape stridesOf(std::span<const std::int64_t> shape);
/// Counts through a shape in C order: the next index, or false after the last one.
bool nextIndex(Shape& index, std::span<const std::int64_t> shape);

/// A tensor of a file as f32 (F64 is rounded once); keeps F16 and BF16 as dtype.
Result<Tensor> loadTensor(const TensorView& view);
/// Values rounded to nearest even in F16 or BF16; F32 leaves them.
Tensor rounded(Tensor tensor, DType dtype);
/// Of an operation on both: the same one, else F32.
DType promoted(DType a, DType b);

/// 0 <= axis < rank after counting negative ones from the end.
Result<int> axisOf(int axis, std::size_t rank);

} // namespace qs::value
