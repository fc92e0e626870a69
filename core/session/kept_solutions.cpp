// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/quant/encode/pass.h"
#include "core/quant/spec/code_set.h"
#include "core/quant/spec/scale_type.h"
#include "core/session/kept_lab.h"
#include "core/session/kept_labs.h"
#include "core/solve/problem.h"

#include <algorithm>

namespace qs {
namespace kept {
namespace {

struct SolutionKept {
    std::string values, params, columnScales; ///< f32; of a group its scale and what its encoder needs
    std::vector<float> levels;                ///< of a learned codebook
    float tensorScale = 1;
};
struct SolutionsKept {
    std::string tensor, spec;
    std::vector<solve::SolveRow> rows;
    std::optional<SolutionKept> solution;
};

} // namespace

template<class Io> static void fields(Io& io, SolutionKept& one) {
    io.longText("values", one.values);
    io.longText("params", one.params);
    io.longText("column_scales", one.columnScales);
    io("levels", one.levels);
    io("tensor_scale", one.tensorScale);
}
template<class Io> static void fields(Io& io, solve::SolveRow& row) {
    io("tensor", row.tensor);
    io("spec", row.spec);
    io("solver", row.solver);
    io("inputs", row.inputs);
    io("nearest_output", row.nearestOutput);
    io("output", row.output);
    io("nearest_weight", row.nearestWeight);
    io("weight_nmse", row.weightNmse);
    io("seconds", row.seconds);
    io("remark", row.remark);
}
template<class Io> static void fields(Io& io, SolutionsKept& all) {
    io("tensor", all.tensor);
    io("spec", all.spec);
    io("rows", all.rows);
    io("solution", all.solution);
}

constexpr std::size_t kFloatsOfGroup = 3; ///< scale, aux, bias

namespace {

SolutionKept solutionOf(const Solved& solved) {
    std::vector<float> params;
    for (const GroupParams& p : solved.params) params.insert(params.end(), {p.scale, p.aux, p.bias});
    return {textOfFloats(solved.values), textOfFloats(params), textOfFloats(solved.columnScales),
            solved.levels ? solved.levels->levels : std::vector<float>(), solved.tensorScale};
}

bool isWithin(const solve::SolveRow& row) {
    return areWords({&row.tensor, &row.spec, &row.solver, &row.inputs, &row.remark}) && isMeasure(row.nearestOutput) &&
           isMeasure(row.output) && isMeasure(row.nearestWeight) && isMeasure(row.weightNmse) && isMeasure(row.seconds);
}

/// Null unless it is what a solver can have decided: what encodes it looks at nothing again.
std::shared_ptr<const Solved> solvedOf(const SolutionKept& one, const TensorInfo& tensor, const QuantSpec& asked) {
    const auto spec = forTensor(asked, tensor);
    const auto grid = scaleGrid(spec, tensor);
    if (!grid || tensor.shape.size() < 2 || tensor.elements == 0) return nullptr;
    auto solved = std::make_shared<Solved>();
    solved->info = solve::f32Info(tensor);
    if (!floatsOf(one.values, tensor.elements, solved->values) || !areFinite(std::span<const float>(solved->values)))
        return nullptr;
    solved->tensorScale = one.tensorScale;
    if (!(std::isfinite(one.tensorScale) && one.tensorScale > 0)) return nullptr;
    if (!one.params.empty()) {
        const auto groups = std::size_t(std::max<std::int64_t>(1, grid->scales));
        std::vector<float> params;
        if (!solve::gptqAccepts(asked, {}) || !floatsOf(one.params, kFloatsOfGroup * groups, params)) return nullptr;
        for (std::size_t i = 0; i < params.size(); i += kFloatsOfGroup)
            solved->params.push_back({params[i], params[i + 1], params[i + 2]});
        const bool inByte = hasZeroPoints(spec) && storedZeroType(spec) == DType::I8;
        const auto fits = [&](const GroupParams& p) {
            return std::isfinite(p.scale * one.tensorScale) && std::isfinite(p.bias) &&
                   (!inByte || (p.aux >= -128 && p.aux <= 127));
        };
        if (!areUsable(EncodePlan(spec), solved->params) || !std::ranges::all_of(solved->params, fits)) return nullptr;
    }
    const auto columns = std::size_t(tensor.lastAxis());
    if (!one.columnScales.empty() && !floatsOf(one.columnScales, columns, solved->columnScales)) return nullptr;
    for (const float scale : solved->columnScales)
        if (!(std::isfinite(scale) && scale > 0)) return nullptr;
    if (one.levels.size() != (isLearned(spec) ? std::size_t(1) << spec.codeBits() : 0)) return nullptr;
    if (!areFinite(std::span(one.levels)) || !std::ranges::is_sorted(one.levels)) return nullptr;
    if (isLearned(spec)) solved->levels = std::make_shared<const LearnedLevels>(withBoundaries(one.levels));
    return solved;
}

} // namespace
} // namespace kept

bool fitsKept(const Solved& solved) {
    const auto& values = solved.values;
    return values.size() + kept::kFloatsOfGroup * solved.params.size() + solved.columnScales.size() <=
               kMostKeptFloats &&
           kept::areFinite(std::span(values));
}

std::string keptSolutions(const KeptSolutions& solutions) {
    kept::SolutionsKept all{solutions.tensor, specText(solutions.spec), solutions.rows, {}};
    if (all.rows.size() > kept::kMostLabRows) all.rows.erase(all.rows.begin(), all.rows.end() - kept::kMostLabRows);
    if (solutions.solved && fitsKept(*solutions.solved)) all.solution = kept::solutionOf(*solutions.solved);
    return kept::textOf(all);
}

Result<std::shared_ptr<const KeptSolutions>> solutionsKept(const std::string& text, const Model& model) {
    constexpr const char* what = "solutions are";
    auto lab = kept::readLab<kept::SolutionsKept>(text, model, what);
    if (!lab) return tl::unexpected(lab.error());
    auto& [all, tensor, spec] = *lab;
    if (auto fine = checkQuantizable(*tensor); !fine) return tl::unexpected(fine.error());
    if (all.rows.empty() || all.rows.size() > kept::kMostLabRows || !std::ranges::all_of(all.rows, kept::isWithin))
        return kept::damaged(what, "a row");
    auto solutions =
        std::make_shared<KeptSolutions>(KeptSolutions{tensor->name, std::move(spec), std::move(all.rows), nullptr});
    if (all.solution && !(solutions->solved = kept::solvedOf(*all.solution, *tensor, solutions->spec)))
        return kept::damaged(what, "what was solved");
    return solutions;
}

} // namespace qs
