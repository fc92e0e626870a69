// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The registry of solvers: ways to choose codes, scales and column scales of a layer so that its output on calibration
// inputs, not its weights, is kept. They work over any spec; what they decide is a Solved that every layout writes.

#include "core/quant/encode/solved.h"
#include "core/value/tensor.h"

#include <optional>

namespace qs::solve {

/// "gptq:damp=0.01:order=act", "awq:clip=yes". Keys that are not given have the solver's default.
struct Settings {
    std::string solver = "gptq";      ///< a row of solvers()
    std::optional<double> damp;       ///< gptq: share of the mean diagonal that is added to the Hessian; 0.01
    std::optional<bool> byActivation; ///< gptq: order=act, columns by falling mean square of their inputs
    std::optional<int> block;         ///< gptq: columns whose errors are passed on at once; 128
    std::optional<int> grid;          ///< awq: exponents tried, i / grid from 0 on; 20
    std::optional<bool> duo;          ///< awq: weights have a part in the scales
    std::optional<bool> clip;         ///< awq: a search for the best clip of each scale group follows
    bool operator==(const Settings&) const = default;
};
/// The error is one sentence: what is wrong, and the nearest value that works.
Result<Settings> parseSettings(std::string_view text);
std::string settingsText(const Settings& settings);  ///< what was given
std::string canonicalText(const Settings& settings); ///< with every key of the solver

/// A layer: weights [..., K], whose rows are output channels, or [K, N] where isInputsFirst(), and inputs [M, K].
struct Problem {
    TensorView weight;
    const QuantSpec& spec;
    const Settings& settings;
    const value::Tensor& inputs;
    SharedPlan plan = composedPlan(spec);
};
struct Solution {
    std::shared_ptr<const Solved> solved;
    std::vector<float> weight; ///< decoded, C order
    /// ||X (V - W)^T||^2 / ||X W^T||^2 of rounding to nearest and of the solution; none: the output is 0.
    std::optional<double> nearestOutput, output;
    std::optional<double> nearestWeight, weightNmse; ///< ||V - W||^2 / ||W||^2
    std::string remark;                              ///< what was chosen: "exponent 0.45"
    double seconds = 0;
};

struct Solver {
    const char* id;
    const char* title;
    const char* summary;
    const char* options; ///< "[:damp=0.01][:order=given|act][:block=128]"
    const char* keys;    ///< space-separated
    const char* source;
    bool columnScales; ///< its Solved may have them
    bool needsRows;    ///< X^T X is not enough: it needs the inputs as they were
    /// Fails with the reason if the solver cannot take a spec, and names the nearest one that it can.
    Result<void> (*accepts)(const QuantSpec& spec, const Settings& settings);
    Result<Solved> (*run)(const Problem& problem, std::string& remark, const Job& job);
};
std::span<const Solver> solvers();
const Solver* findSolver(std::string_view id);

/// Runs it and measures both outputs. Refuses inputs that do not fit, NaN and Inf.
Result<Solution> solve(const Problem& problem, const Job& job);

} // namespace qs::solve
