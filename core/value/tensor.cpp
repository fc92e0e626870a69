// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/value/tensor.h"

#include "core/base/text.h"
#include "core/model/computed_type.h"
#include "core/quant/encode/quantizer.h"
#include "kernels/small_float.h"

#include <fmt/format.h>

namespace qs::value {

std::int64_t elementsOf(std::span<const std::int64_t> shape) {
    std::int64_t count = 1;
    for (const std::int64_t size : shape) count *= size;
    return count;
}

Shape stridesOf(std::span<const std::int64_t> shape) {
    Shape strides(shape.size());
    std::int64_t step = 1;
    for (std::size_t i = shape.size(); i-- > 0; step *= shape[i]) strides[i] = step;
    return strides;
}

bool nextIndex(Shape& index, std::span<const std::int64_t> shape) {
    for (std::size_t i = index.size(); i-- > 0;) {
        if (++index[i] < shape[i]) return true;
        index[i] = 0;
    }
    return false;
}

Result<Tensor> loadTensor(const TensorView& view) {
    const TensorInfo& tensor = *view.info;
    if (!info(tensor.dtype).quantizable)
        return fail(fmt::format("tensor '{}' is {}: only floats of 8 to 64 bits are values",
                                escapeForPeople(tensor.name), tensor.typeId()));
    Tensor out{tensor.shape, std::vector<float>(tensor.elements),
               tensor.dtype == DType::F64 ? DType::F32 : computedType(tensor.dtype), tensor.name};
    loadF32(view, 0, out.values.size(), out.values.data());
    return out;
}

Tensor rounded(Tensor tensor, DType dtype) {
    if (dtype == DType::F16)
        for (float& v : tensor.values) v = f16ToF32(f32ToF16(v));
    else if (dtype == DType::BF16)
        for (float& v : tensor.values) v = bf16ToF32(f32ToBf16(v));
    tensor.dtype = dtype;
    return tensor;
}

DType promoted(DType a, DType b) { return a == b && a != DType::Bool ? a : DType::F32; }

Result<int> axisOf(int axis, std::size_t rank) {
    const int n = int(rank);
    if (axis >= -n && axis < n) return axis < 0 ? axis + n : axis;
    if (n == 0) return fail(fmt::format("there is no axis {}: the tensor has rank 0", axis));
    return fail(fmt::format("there is no axis {} in rank {}: axes are {} to {}", axis, n, -n, n - 1));
}

} // namespace qs::value
