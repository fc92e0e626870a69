// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Is a checkpoint what it says it is? One pass over memory gathers facts about every tensor; checks read the facts.

#include "core/analysis/audit/audit_facts.h"
#include "core/base/column.h"
#include "core/report/report.h"

#include <functional>
#include <vector>

namespace qs {

enum class Severity {
    Note,    ///< worth knowing
    Warning, ///< likely a mistake, or wasted
    Fault    ///< the values are wrong, or not what the label says
};
const char* severityId(Severity severity); ///< "note"

struct AuditCheck;
struct Finding {
    const AuditCheck* check = nullptr;
    std::string tensor;   ///< "" when it is about the whole checkpoint
    std::string evidence; ///< a sentence with the figures that say so
};

/// What checks look at: facts in the model's order. A check of each tensor by itself sees some of them at a time, one
/// across tensors all that can have a part in what it finds.
struct AuditedModel {
    std::shared_ptr<const Model> model;
    std::vector<TensorFacts> tensors;
    std::size_t matricesLeftOut = 0; ///< too small for any check across tensors
};

/// THE list of checks.
struct AuditCheck {
    const char* id;
    const char* title;
    Severity severity;
    const char* summary; ///< what it looks for, and what to do about it
    void (*find)(const AuditedModel& audited, const AuditCheck& self, std::vector<Finding>& out);
    bool acrossTensors = false; ///< compares tensors with each other, or looks at the model
};
std::span<const AuditCheck> auditChecks();

struct AuditResult {
    std::vector<Finding> findings; ///< faults first, then warnings, notes; each in the checks' and the model's order
    std::uint64_t tensors = 0, bytes = 0; ///< read
    double seconds = 0;
};
/// Every tensor of the model. Cancellable; bounded memory. An Error is a cancelled job or a file that changed.
Result<AuditResult> auditModel(std::shared_ptr<const Model> model, const Job& job);

const Columns<Finding>& findingColumns();

/// What became of one check: "nothing found" is worth what was looked for.
struct CheckOutcome {
    const AuditCheck* check = nullptr;
    std::size_t findings = 0;
};
std::vector<CheckOutcome> checkOutcomes(const AuditResult& result); ///< of every check, in the checks' order
const Columns<CheckOutcome>& outcomeColumns();

Result<Report> auditReport(const Model& model, const AuditResult& result, const std::string& commandLine,
                           const Job& job = {});
/// "2 faults, 1 warning", "nothing found".
std::string findingsText(const std::vector<Finding>& findings);

} // namespace qs
