// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/bench/backend/capabilities.h"

#include "core/bench/run/opened.h"
#include "core/bench/run/operands.h"
#include "plugins/abi/quantscope_backend.h"

#include <algorithm>

namespace qs {
namespace {

Result<Problem> questionFor(const BenchmarkPlan& plan, const QuantSpec& spec) {
    const auto* op = findBenchOp(plan.ops.front());
    const auto* act = findBenchAct(plan.acts.front());
    // A small weight has the same format as a large one; the shape is set for each question.
    auto values = weightValues(64, 64, plan.seed, nullptr);
    if (!values) return tl::unexpected(values.error());
    auto weights = makeWeights(spec, 64, 64, *values, {});
    if (!weights) return tl::unexpected(weights.error());
    auto operands = makeOperands({op, act, 1, 64, 64, plan.bias, plan.seed}, *weights);
    if (!operands) return tl::unexpected(operands.error());
    return operands->problem;
}

Problem atShape(Problem problem, const BenchShape& shape, const std::string& op) {
    problem.m = findBenchOp(op)->product ? shape.m : 1;
    problem.n = shape.n, problem.k = shape.k;
    return problem;
}

void putAnswer(Capability& row, OpenedBackend& opened, std::uint32_t device, const Problem& problem) {
    const auto answer = opened.backend->query(device, problem);
    if (!answer) {
        opened.note(answer.error());
        row.status = answer.error().state, row.reason = answer.error().reason;
        return;
    }
    const bool compiles = opened.devices[device].kind == QS_DEVICE_COMPILE_ONLY;
    row.status = answer->level == QS_SUPPORT_NO ? RowState::Declined : compiles ? RowState::CompileOnly : RowState::Ok;
    row.emulated = answer->level == QS_SUPPORT_EMULATED, row.reason = answer->reason;
    for (const auto& variant : answer->variants) row.variants.push_back(variant.title);
}

Result<std::vector<Capability>> askAll(const BenchmarkPlan& plan, std::span<const BenchShape> shapes, const Job& job,
                                       const std::function<void(const Capability&)>& onRow) {
    if (auto usable = checkPlan(plan); !usable) return tl::unexpected(usable.error());
    std::vector<Capability> rows;
    const auto add = [&](Capability row) {
        if (onRow) onRow(row);
        rows.push_back(std::move(row));
    };
    std::vector<std::pair<std::string, Result<Problem>>> questions;
    for (const auto& [text, spec] : plan.specs) questions.emplace_back(text, questionFor(plan, spec));

    for (const auto& source : plan.backends) {
        if (job.cancelled()) return cancelledError();
        OpenedBackend opened = openForBenchmark(plan, source, job);
        if (!opened.backend) {
            for (const BenchShape& shape : shapes)
                for (const auto& [text, question] : questions)
                    add({source.id,
                         {},
                         text,
                         opened.failure.state,
                         false,
                         opened.failure.reason,
                         {},
                         shape.n,
                         shape.k});
            continue;
        }
        for (std::uint32_t d = 0; d < opened.devices.size(); ++d)
            for (const BenchShape& shape : shapes)
                for (const auto& [text, question] : questions) {
                    Capability row{source.id, opened.devices[d].id, text, RowState::Declined, false, {}, {}, shape.n,
                                   shape.k};
                    if (!opened.backend) { // it crashed on an earlier question
                        row.status = opened.failure.state, row.reason = opened.failure.reason;
                    } else if (!question)
                        row.reason = question.error().sentence();
                    else
                        putAnswer(row, opened, d, atShape(*question, shape, plan.ops.front()));
                    add(std::move(row));
                }
    }
    return rows;
}

} // namespace

Result<std::vector<Capability>> capabilities(const BenchmarkPlan& plan, const Job& job,
                                             const std::function<void(const Capability&)>& onRow) {
    return askAll(plan, std::span(plan.shapes).first(std::min<std::size_t>(1, plan.shapes.size())), job, onRow);
}

Result<std::vector<Capability>> capabilitiesOfShapes(const BenchmarkPlan& plan, const Job& job) {
    return askAll(plan, plan.shapes, job, {});
}

} // namespace qs
