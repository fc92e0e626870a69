// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/value/operand.h"

#include "core/quant/encode/solved.h"
#include "kernels/small_float.h"

#include <fmt/format.h>

namespace qs::value {

Tensor Operand::value() const { return dense_ ? *dense_ : materialized(*quantized_); }

namespace {

bool isHalf(DType type) { return type == DType::F16 || type == DType::BF16; }

TensorInfo infoOf(const Tensor& tensor) {
    TensorInfo info;
    info.name = tensor.name;
    info.dtype = isHalf(tensor.dtype) ? tensor.dtype : DType::F32;
    info.shape = tensor.shape;
    info.elements = tensor.values.size();
    info.bytes = info.elements * (isHalf(tensor.dtype) ? 2 : 4);
    return info;
}

} // namespace

SharedPlan planFor(const Tensor& tensor, const QuantSpec& spec) {
    return composedPlan(forTensor(spec, infoOf(tensor)));
}

Result<QuantizedTensor> quantized(const Tensor& tensor, const QuantSpec& spec, const Job& job) {
    return quantized(tensor, planFor(tensor, spec), job);
}

Result<QuantizedTensor> quantized(const Tensor& tensor, const SharedPlan& plan, const Job& job) {
    const bool half = isHalf(tensor.dtype);
    std::vector<std::uint16_t> halves(half ? tensor.values.size() : 0);
    for (std::size_t i = 0; i < halves.size(); ++i)
        halves[i] = tensor.dtype == DType::F16 ? f32ToF16(tensor.values[i]) : f32ToBf16(tensor.values[i]);
    const TensorInfo info = infoOf(tensor);
    TensorView view;
    view.info = &info;
    view.bytes = half ? std::as_bytes(std::span(halves)) : std::as_bytes(std::span(tensor.values));
    return quantizeSolved(view, plan, {}, job);
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

Result<StraightThrough> straightThrough(const Tensor& x, const SharedPlan& plan, const Job& job) {
    auto codes = quantized(x, plan, job);
    if (!codes) return tl::unexpected(codes.error());
    return StraightThrough{materialized(*codes)};
}

} // namespace qs::value
