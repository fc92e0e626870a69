// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// An operand of an operation: a dense or a quantized tensor. The operations are those of eformer's arrays (ArrayNF4,
// Array8B, Array1B), for every format: add mul div max lt exp log sqrt integer_pow reduce conv gather concatenate
// decode quantized operands; transpose reshape broadcast_in_dim decode and quantize again with the same spec;
// converted() only changes the dtype that materialized() gives.

#include "core/quant/encode/encode_plan.h"
#include "core/quant/encode/quantizer.h"
#include "core/value/tensor.h"

namespace qs::value {

/// Refers to a tensor, which must outlive the operand.
class Operand {
public:
    Operand(const Tensor& tensor) : dense_(&tensor) {}
    Operand(const QuantizedTensor& tensor) : quantized_(&tensor) {}
    bool isQuantized() const { return quantized_ != nullptr; }
    const QuantizedTensor& quantized() const { return *quantized_; }
    const Tensor& dense() const { return *dense_; }
    const Shape& shape() const { return dense_ ? dense_->shape : quantized_->shape; }
    std::size_t rank() const { return shape().size(); }
    DType dtype() const { return dense_ ? dense_->dtype : quantized_->sourceDtype; }
    Tensor value() const; ///< a copy, or materialized()

private:
    const Tensor* dense_ = nullptr;
    const QuantizedTensor* quantized_ = nullptr;
};

/// How a tensor of this shape and dtype is quantized under a spec.
SharedPlan planFor(const Tensor& tensor, const QuantSpec& spec);
Result<QuantizedTensor> quantized(const Tensor& tensor, const QuantSpec& spec, const Job& job = {});
Result<QuantizedTensor> quantized(const Tensor& tensor, const SharedPlan& plan, const Job& job = {});
/// The decoded values, cropped to the shape and rounded to the dtype of the tensor.
Tensor materialized(const QuantizedTensor& tensor);
/// convert_element_type: codes and scales do not change.
Result<QuantizedTensor> converted(QuantizedTensor tensor, DType dtype);

/// Forward: x quantized and decoded. Backward: the identity, so that gradients reach the latent weights. (eformer's
/// straight_through truncates raw floats for 1-bit formats; here they are quantized first.)
struct StraightThrough {
    Tensor value;
    const Tensor& gradient(const Tensor& ofValue) const { return ofValue; }
};
Result<StraightThrough> straightThrough(const Tensor& x, const SharedPlan& plan, const Job& job = {});

} // namespace qs::value
