// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Converts problems and tensors of the C interface to those of the kernels.

#include "kernels/matmul.h"
#include "plugins/common/weight_layout.h"

#include <optional>
#include <string>

namespace qs::cpu {

struct Understood {
    MatmulProblem problem;
    plugin::WeightLayout layout; ///< layout of the stored weight
    std::string declined;        ///< why the problem is declined; empty if it is accepted
};
Understood understand(const qs_problem* theirs);

/// The variants that can do a problem, in a fixed order; those made for this M come first. The order is not by speed.
std::vector<const MatmulVariant*> variantsFor(const MatmulProblem& problem, std::string* why);
/// The variant to use if the caller names none. It times the variants that are made for this M and returns the fastest.
/// `variants` is the result of variantsFor().
const MatmulVariant* fastestOf(std::span<const MatmulVariant* const> variants, const MatmulProblem& problem);

struct Operands {
    WeightOperand weight;
    std::string refused; ///< which tensor is wrong and why; empty if all fit
};
Operands operandsOf(const Understood& asked, const qs_tensor* const* in, uint32_t n);

struct Activations {
    MatmulInput input;
    std::string refused;
};
Activations activationsOf(const MatmulProblem& problem, const qs_tensor* const* in, uint32_t n);

/// Sizes in bytes of the outputs "out", "out_scale" and "out_sums"; 0 means that there is no such output.
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
