// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A tap sees the inputs of a layer's matrices during a forward pass.

#include "core/eval/network/architecture.h"

#include <cstddef>
#include <functional>
#include <span>

namespace qs::eval {

/// A token that goes through an expert.
struct Routed {
    std::size_t token = 0; ///< row of the token
    float factor = 0;      ///< the output of the expert is multiplied by it
};

/// The inputs of a matrix, or of several matrices with the same inputs: [rows, inputs], in the order of the text.
struct TappedInputs {
    WeightRole role{}; ///< one role for all of these matrices, see inputsOf()
    std::span<const float> values;
    int expert = -1; ///< number of the expert; -1: no expert, and every token has a row
    /// For an expert: the token of each row. It counts the rows of the last call for the router.
    std::span<const Routed> tokens = {};
};
/// Called with the inputs of some chunks or fewer. The router of a layer comes before its experts. If the function is
/// empty, inputs are not reported.
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
