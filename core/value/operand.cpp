// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/value/operand.h"

#include "kernels/small_float.h"

#include <fmt/format.h>

namespace qs::value {

Tensor Operand::value() const { return dense_ ? *dense_ : materialized(*quantized_); }

Result<QuantizedTensor> quantized(const Tensor& tensor, const QuantSpec& spec, const Job& job) {
    const bool half = tensor.dtype == DType::F16 || tensor.dtype == DType::BF16;
    std::vector<std::uint16_t> halves(half ? tensor.values.size() : 0);
    for (std::size_t i = 0; i < halves.size(); ++i)
        halves[i] = tensor.dtype == DType::F16 ? f32ToF16(tensor.values[i]) : f32ToBf16(tensor.values[i]);
    TensorInfo info;
    info.name = tensor.name;
    info.dtype = half ? tensor.dtype : DType::F32;
    info.shape = tensor.shape;
    info.elements = tensor.values.size();
    TensorView view;
    view.info = &info;
    view.bytes = half ? std::as_bytes(std::span(halves)) : std::as_bytes(std::span(tensor.values));
    info.bytes = view.bytes.size();
    return quantizeTensor(view, spec, job);
}

Tensor materialized(const QuantizedTensor& tensor) {
    return rounded(Tensor{tensor.shape, materialize(tensor)},
                   tensor.sourceDtype == DType::F64 ? DType::F32 : tensor.sourceDtype);
}

Result<QuantizedTensor> converted(QuantizedTensor tensor, DType dtype) {
    if (dtype != DType::F32 && dtype != DType::F16 && dtype != DType::BF16)
        return fail(fmt::format("a quantized tensor materializes as F32, F16 or BF16, not {}", info(dtype).id));
    tensor.sourceDtype = dtype;
    return tensor;
}

Result<StraightThrough> straightThrough(const Tensor& x, const QuantSpec& spec, const Job& job) {
    auto codes = quantized(x, spec, job);
    if (!codes) return tl::unexpected(codes.error());
    return StraightThrough{materialized(*codes)};
}

} // namespace qs::value
