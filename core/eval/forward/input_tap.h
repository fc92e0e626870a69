// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The inputs of a layer's matrices, seen while a text goes forward.

#include "core/eval/network/architecture.h"

#include <cstddef>
#include <functional>
#include <span>

namespace qs::eval {

/// A token that goes through an expert.
struct Routed {
    std::size_t token = 0; ///< its row
    float factor = 0;      ///< on the output of the expert
};

/// Inputs of a matrix, or of several that have the same inputs: [rows, inputs of the matrix], in the order of the text.
struct TappedInputs {
    WeightRole role{}; ///< that stands for all of them, see inputsOf()
    std::span<const float> values;
    int expert = -1; ///< whose matrix it is; -1: of no expert, and every token has a row
    /// The token of each row of an expert, counted among the rows that its router has seen last.
    std::span<const Routed> tokens = {};
};
/// Called with the inputs of some chunks or less. The router of a layer comes before its experts. Empty: inputs are not
/// reported.
using InputTap = std::function<void(const TappedInputs& inputs)>;

/// The role under which a tap sees the inputs of a matrix: QueryKeyValue for queries, keys and values, GateUp for gate
/// and up, ExpertGateUp for those of experts, else the role itself.
constexpr WeightRole inputsOf(WeightRole role) {
    switch (role) {
    case WeightRole::Query:
    case WeightRole::Key:
    case WeightRole::Value: return WeightRole::QueryKeyValue;
    case WeightRole::Gate:
    case WeightRole::Up: return WeightRole::GateUp;
    case WeightRole::ExpertGate:
    case WeightRole::ExpertUp: return WeightRole::ExpertGateUp;
    default: return role;
    }
}

} // namespace qs::eval
