// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/solve/solver.h"

#include "core/base/rows.h"
#include "core/base/text.h"
#include "core/model/output_axis.h"
#include "core/solve/problem.h"
#include "core/value/deviation.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>

namespace qs::solve {
namespace {

constexpr Solver kSolvers[] = {
    {"gptq", "GPTQ",
     "Rounds column after column and lets the columns to come make up for each one's error, by the inverse Hessian of "
     "the inputs.",
     "[:damp=0.01][:order=given|act][:block=128]", "damp order block",
     "Frantar et al. 2022, arXiv 2210.17323; groups as in AutoGPTQ, with order=act those of the unchanged weights",
     false, false, gptqAccepts, runGptq},
    {"awq", "AWQ",
     "Multiplies the columns of strong inputs by a power of their mean magnitude before rounding, and divides them "
     "again "
     "after; of the powers from 0 to 1 the one with the best output.",
     "[:grid=20][:duo=no|yes][:clip=no|yes]", "grid duo clip",
     "Lin et al. 2023, arXiv 2306.00978; duo=yes and clip=yes as in AutoAWQ", true, true, awqAccepts, runAwq},
};

} // namespace

std::span<const Solver> solvers() { return kSolvers; }

const Solver* findSolver(std::string_view id) { return rowOf(kSolvers, id); }

Result<Solution> solve(const Problem& asked, const Job& job) {
    const auto started = std::chrono::steady_clock::now();
    const QuantSpec spec = forTensor(asked.spec, *asked.weight.info); // solvers go on with values in f32
    const Problem problem{asked.weight, spec, asked.settings, asked.inputs};
    const Solver& solver = *findSolver(problem.settings.solver);
    if (auto ok = checkProblem(problem); !ok) return tl::unexpected(ok.error());
    if (auto ok = solver.accepts(problem.spec, problem.settings); !ok) return tl::unexpected(ok.error());
    const TensorInfo& layer = *problem.weight.info;
    if (solver.columnScales && isInputsFirst(layer))
        return fail(
            fmt::format("tensor '{}' is stored [inputs, outputs]: {} scales columns of inputs, which are its rows: "
                        "use gptq",
                        escapeForPeople(layer.name, 80), solver.id));
    const std::vector<float> w = weightsOf(problem.weight);
    Solution out;
    auto solved = solver.run(problem, out.remark, job);
    if (!solved) return tl::unexpected(solved.error());
    solved->info.name = problem.weight.info->name;
    out.solved = std::make_shared<const Solved>(std::move(*solved));
    out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();

    const auto nearest = decodedOf(problem, {}, job);
    if (!nearest) return tl::unexpected(nearest.error());
    auto decoded = decodedOf(problem, *out.solved, job);
    if (!decoded) return tl::unexpected(decoded.error());
    out.weight = std::move(*decoded);
    const std::vector<float> rows = outputsFirst(layer, w);
    const auto whole = outputPower(problem.inputs, rows, {}, job);
    const auto before = outputPower(problem.inputs, rows, outputsFirst(layer, *nearest), job);
    const auto after = outputPower(problem.inputs, rows, outputsFirst(layer, out.weight), job);
    if (!whole || !before || !after) return cancelledError();
    if (*whole > 0) out.nearestOutput = *before / *whole, out.output = *after / *whole;
    out.nearestWeight = value::deviation(w, *nearest).nmse();
    out.weightNmse = value::deviation(w, out.weight).nmse();
    return out;
}

} // namespace qs::solve
