// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The inputs of a layer's matrices, seen while a text goes forward.

#include "core/eval/network/architecture.h"

#include <functional>
#include <span>

namespace qs::eval {

/// Called with the inputs of one chunk or less: [rows, inputs of the matrix], in the order of the text. Matrices with the
/// same inputs are called by the role that stands for all of them, see inputsOf(). Empty: nobody looks.
using InputTap = std::function<void(WeightRole role, std::span<const float> inputs)>;

/// The role under which a tap sees the inputs of a matrix: QueryKeyValue for queries, keys and values, GateUp for gate
/// and up, else the role itself.
constexpr WeightRole inputsOf(WeightRole role) {
    switch (role) {
    case WeightRole::Query:
    case WeightRole::Key:
    case WeightRole::Value: return WeightRole::QueryKeyValue;
    case WeightRole::Gate:
    case WeightRole::Up: return WeightRole::GateUp;
    default: return role;
    }
}

} // namespace qs::eval
