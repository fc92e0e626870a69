// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The dot-general lab: the three products of a layer in training under any mix of specs, and the error of each.
//   Y = X W^T    dX = G W    dW = G^T X        X [M,K]  W [N,K]  G [M,N], as checkpoints store a linear layer
// Every operand is laid out with its contracted axis last before it is quantized, so that scale=channel and blocks lie
// along the sum, as in AQT and qwix.

#include "core/base/column.h"
#include "core/base/job.h"
#include "core/base/machine_memory.h"
#include "core/value/deviation.h"
#include "core/value/operand.h"

#include <array>

namespace qs::value {

/// The order of the six operands in every list.
enum class LabOperand { ForwardX, ForwardW, InputGradientG, InputGradientW, WeightGradientX, WeightGradientG };
inline constexpr std::size_t kLabOperands = 6;
/// "Y: X", "dX: G", ...
const char* title(LabOperand operand);

/// A spec, "keep" (f32), or "forward": the values that the forward product has made (dX: W and dW: X only).
using LabChoices = std::array<std::string, kLabOperands>;

struct LabPreset {
    const char* id;
    const char* title;
    const char* summary;
    std::array<const char*, kLabOperands> choices;
};
std::span<const LabPreset> labPresets();
LabChoices choicesOf(const LabPreset& preset);

struct LabPlan {
    Tensor x, w, g;
    LabChoices choices;
};
struct LabRow {
    std::string product, formula, lhs, rhs; ///< lhs and rhs: the choices as text
    std::optional<Deviation> lhsError, rhsError, error;
    std::string reason; ///< why it was not measured
    std::string kernel; ///< that multiplied
};
const Columns<LabRow>& labColumns();
/// A choice that does not parse, or a spec that refuses its operand, makes a row with the reason. Error: wrong shapes,
/// or cancelled.
/// Of X [M,K], W [N,K] and G [M,N] by M: each also transposed and quantized, and the largest product twice.
MemoryNeed labNeed(std::uint64_t m, std::uint64_t n, std::uint64_t k);
Result<std::vector<LabRow>> runLab(const LabPlan& plan, const Job& job);

} // namespace qs::value
