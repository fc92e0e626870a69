// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Operations that only move values. For a quantized tensor, transpose, reshape and broadcast decode, move, and quantize
// again with the same spec: blocks then contain other values, so that each operation can cause error.

#include "core/value/operand.h"

namespace qs::value {

Result<Tensor> transpose(const Tensor& x, std::span<const int> permutation);
Result<Tensor> reshape(const Tensor& x, Shape shape);
/// broadcast_in_dim: axis i of x becomes axis `dimensions[i]` of `shape`; its size is that of the new axis, or 1.
Result<Tensor> broadcastInDim(const Tensor& x, const Shape& shape, std::span<const int> dimensions);
/// The elements [begin, limit) of every axis.
Result<Tensor> slice(const Operand& x, const Shape& begin, const Shape& limit);

Result<QuantizedTensor> transpose(const QuantizedTensor& x, std::span<const int> permutation, const Job& job = {});
Result<QuantizedTensor> reshape(const QuantizedTensor& x, Shape shape, const Job& job = {});
Result<QuantizedTensor> broadcastInDim(const QuantizedTensor& x, const Shape& shape, std::span<const int> dimensions,
                                       const Job& job = {});

/// Moves codes and scales without quantizing again, hence without error, as eformer's Array8B does. For scales per
/// tensor, channel or axes. The spec of the result has the moved axes.
Result<QuantizedTensor> transposeCodes(const QuantizedTensor& x, std::span<const int> permutation);

} // namespace qs::value
