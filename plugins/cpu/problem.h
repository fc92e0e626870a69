// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The interface's problems and tensors as the kernels take them.

#include "kernels/matmul.h"
#include "plugins/common/weight_layout.h"

#include <optional>
#include <string>

namespace qs::cpu {

struct Understood {
    MatmulProblem problem;
    plugin::WeightLayout layout; ///< of the stored weight
    std::string declined;        ///< why not; empty when understood
};
Understood understand(const qs_problem* theirs);

/// Variants that do it: those meant for this M first, in a fixed order. Which is the fastest only a clock says.
std::vector<const MatmulVariant*> variantsFor(const MatmulProblem& problem, std::string* why);
/// The one to take when nobody names one, of what variantsFor() gave: the fastest here that is meant for this M.
const MatmulVariant* fastestOf(std::span<const MatmulVariant* const> variants, const MatmulProblem& problem);

struct Operands {
    WeightOperand weight;
    std::string refused; ///< a tensor that does not fit
};
Operands operandsOf(const Understood& asked, const qs_tensor* const* in, uint32_t n);

struct Activations {
    MatmulInput input;
    std::string refused;
};
Activations activationsOf(const MatmulProblem& problem, const qs_tensor* const* in, uint32_t n);

/// Bytes of the outputs "out", "out_scale" and "out_sums" (0: none).
struct OutputSizes {
    std::size_t out = 0, scale = 0;
    const char* outType = "f32";
    std::size_t sums = 0;
};
OutputSizes outputSizes(const MatmulProblem& problem);
struct Outputs {
    MatmulOutput output;
    std::string refused;
};
Outputs outputsOf(const MatmulProblem& problem, qs_tensor* const* outs, uint32_t n);

} // namespace qs::cpu
