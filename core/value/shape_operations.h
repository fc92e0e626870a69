// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Operations that only move values. Of a quantized tensor transpose, reshape and broadcast materialize, move, and
// quantize again with the same spec: blocks hold other neighbours afterwards, so that each may cost accuracy.

#include "core/value/operand.h"

namespace qs::value {

Result<Tensor> transpose(const Tensor& x, std::span<const int> permutation);
Result<Tensor> reshape(const Tensor& x, Shape shape);
/// broadcast_in_dim: axis i of x becomes axis `dimensions[i]` of `shape`, where it has its size or 1.
Result<Tensor> broadcastInDim(const Tensor& x, const Shape& shape, std::span<const int> dimensions);
/// Elements [begin, limit) of every axis.
Result<Tensor> slice(const Operand& x, const Shape& begin, const Shape& limit);

Result<QuantizedTensor> transpose(const QuantizedTensor& x, std::span<const int> permutation, const Job& job = {});
Result<QuantizedTensor> reshape(const QuantizedTensor& x, Shape shape, const Job& job = {});
Result<QuantizedTensor> broadcastInDim(const QuantizedTensor& x, const Shape& shape, std::span<const int> dimensions,
                                       const Job& job = {});

/// Codes and scales moved as they are, without error, as eformer's Array8B does: for scales per tensor, channel or axes.
/// The reduced axes of the result's spec are the moved ones.
Result<QuantizedTensor> transposeCodes(const QuantizedTensor& x, std::span<const int> permutation);

} // namespace qs::value
