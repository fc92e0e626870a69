// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A dense tensor in memory: f32 values in C order. `dtype` is the type that they are rounded to (F32, F16, BF16), or
// Bool for the result of a comparison: 0 and 1.

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
    std::string name = {}; ///< name in its file, for messages; results of operations have none
    std::size_t rank() const { return shape.size(); }
};

/// Product of the dimensions; 1 for rank 0.
std::int64_t elementsOf(std::span<const std::int64_t> shape);
/// Distance of neighbours along each axis in elements, for C order.
Shape stridesOf(std::span<const std::int64_t> shape);
/// Advances an index through a shape in C order; false after the last element.
bool nextIndex(Shape& index, std::span<const std::int64_t> shape);

/// The values of a tensor of a file as f32 (F64 is rounded once); F16 and BF16 stay the dtype.
Result<Tensor> loadTensor(const TensorView& view);
/// Rounds values to the nearest F16 or BF16, ties to even; F32 changes nothing.
Tensor rounded(Tensor tensor, DType dtype);
/// The dtype of a result: the common dtype, else F32.
DType promoted(DType a, DType b);

/// The axis as 0 <= axis < rank; negative axes count from the end.
Result<int> axisOf(int axis, std::size_t rank);

} // namespace qs::value
