// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/plan/target.h"

#include "core/base/text.h"
#include "core/bench/run/operands.h"
#include "core/bench/run/shapes.h"

#include <fmt/format.h>

namespace qs::plan {
namespace {

bool isTaken(RowState status) { return status == RowState::Ok || status == RowState::CompileOnly; }

/// The backend could not be asked: it was not opened, or its worker ended.
bool isUnasked(const Capability& row) {
    return row.device.empty() || row.status == RowState::Crashed || row.status == RowState::Hung;
}

} // namespace

std::string Target::whyNot(const TensorInfo& tensor, const std::string& canonical) const {
    if (tensor.shape.size() != 2) return {};
    const auto found = answers.find({tensor.shape[0], tensor.shape[1], canonical});
    return found == answers.end() ? std::string() : found->second;
}

Result<Target> askTarget(const TargetRequest& request, const Job& job) {
    Target out;
    out.backend = request.source.id, out.m = request.m, out.specs = request.specs;
    BenchmarkPlan plan;
    plan.backends = {request.source}, plan.open = request.open;
    plan.shapes = benchShapes(modelShapes(*request.model), std::span(&request.m, 1));
    for (BenchShape& shape : plan.shapes) shape.tensor.clear(); // values do not matter to a question
    if (plan.shapes.empty())
        return fail("The model has no float matrix, so no backend can be its target.", request.model->path);
    for (const QuantSpec& spec : request.specs) plan.specs.emplace_back(canonicalText(spec), spec);
    const auto rows = capabilitiesOfShapes(plan, job);
    if (!rows) return tl::unexpected(rows.error());
    for (const Capability& row : *rows) {
        if (isUnasked(row))
            return fail(fmt::format("The backend {} is {} and cannot say what it runs: {}",
                                    escapeForPeople(request.source.id, 60), rowStateText(row.status), row.reason));
        // Of several devices one that takes it is enough.
        auto [at, isNew] = out.answers.try_emplace({row.n, row.k, row.spec}, row.reason);
        if (isTaken(row.status))
            at->second.clear();
        else if (isNew && at->second.empty())
            at->second = "it declines";
    }
    return out;
}

} // namespace qs::plan
