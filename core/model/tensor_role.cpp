// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/tensor_role.h"

#include "core/model/model.h"

#include <algorithm>

namespace qs {
namespace {

constexpr RoleRow kRoles[] = {
    {TensorRole::Unknown, "unknown", "matrix", true, ""},
    {TensorRole::Linear, "linear", "linear layer", true, ""},
    {TensorRole::Experts, "experts", "stacked experts", true, ""},
    {TensorRole::Embedding, "embedding", "embedding", true, ""},
    {TensorRole::Head, "head", "output head", true, ""},
    {TensorRole::Router, "router", "router", false, "a router chooses experts, and programs load it unquantized"},
    {TensorRole::Position, "position", "position or bias table", false, "it is a table of positions, not a linear layer"},
    {TensorRole::Convolution, "convolution", "convolution", true, ""},
    {TensorRole::State, "state", "state matrix", false, "it is a state matrix, not a linear layer"},
    {TensorRole::Norm, "norm", "norm", false, "it belongs to a normalization"},
    {TensorRole::Vector, "vector", "vector", false, "it has one axis"},
    {TensorRole::Part, "part", "part of a quantized layer", false, "it is a part of a quantized layer"},
};

} // namespace

std::span<const RoleRow> tensorRoles() { return kRoles; }

const RoleRow& rowOf(TensorRole role) { return kRoles[std::size_t(role)]; }

void assignRoles(Model&) {}

} // namespace qs
