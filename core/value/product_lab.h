// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The dot-general lab: the three products of a layer in training with a spec for each operand, and the error of each. Y
// = X W^T, dX = G W, dW = G^T X with X [M,K], W [N,K], G [M,N], as checkpoints store a linear layer. The contracted
// axis of each operand is moved to the end before it is quantized, so that scale=channel and blocks run along the sum,
// as in AQT and qwix.

#include "core/base/column.h"
#include "core/base/job.h"
#include "core/base/machine_memory.h"
#include "core/value/deviation.h"
#include "core/value/operand.h"

#include <array>

namespace qs::value {

/// Operands in the order of every list.
enum class LabOperand { ForwardX, ForwardW, InputGradientG, InputGradientW, WeightGradientX, WeightGradientG };
inline constexpr std::size_t kLabOperands = 6;
/// "Y: X", "dX: G", ...
const char* title(LabOperand operand);

/// A spec, "keep" (f32), or "forward": the values as the forward product quantized them (only W of dX and X of dW).
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
    std::string kernel; ///< the kernel that was used
};
const Columns<LabRow>& labColumns();
/// Memory for X [M,K], W [N,K] and G [M,N], each also transposed and quantized, and twice the largest product; grows
/// with M.
MemoryNeed labNeed(std::uint64_t m, std::uint64_t n, std::uint64_t k);
/// A choice that does not parse, or a spec that refuses its operand, gives a row with the reason. Error: wrong shapes,
/// or cancelled.
Result<std::vector<LabRow>> runLab(const LabPlan& plan, const Job& job);

} // namespace qs::value
