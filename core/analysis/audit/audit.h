// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The audit: does a checkpoint contain what it claims to contain? One pass over the tensors collects facts; checks read
// them.

#include "core/analysis/audit/audit_facts.h"
#include "core/base/column.h"
#include "core/report/report.h"

#include <functional>
#include <vector>

namespace qs {

class UnitRun;

enum class Severity {
    Note,    ///< worth knowing
    Warning, ///< probably a mistake, or wasted space
    Fault    ///< values are wrong, or differ from what the label says
};
const char* severityId(Severity severity); ///< "note", "warning" or "fault"

struct AuditCheck;
/// One result of a check.
struct Finding {
    const AuditCheck* check = nullptr;
    std::string tensor;   ///< name; "" if the finding concerns the whole checkpoint
    std::string evidence; ///< a sentence with the figures that show it
};

/// Input of a check: facts about tensors, in the order of the model. A check of single tensors gets some of the tensors
/// per call. A check across tensors gets all tensors that can matter to it.
struct AuditedModel {
    std::shared_ptr<const Model> model;
    std::vector<TensorFacts> tensors;
    std::size_t matricesLeftOut = 0; ///< 2-D tensors that are too small for the checks across tensors
};

/// A check. All checks are listed in auditChecks(), and only there.
struct AuditCheck {
    const char* id;
    const char* title;
    Severity severity;
    const char* summary; ///< what it looks for, and what the user can do
    /// Appends findings to `out`.
    void (*find)(const AuditedModel& audited, const AuditCheck& self, std::vector<Finding>& out);
    bool acrossTensors = false; ///< true: compares tensors with each other, or looks at the model
};
std::span<const AuditCheck> auditChecks();

struct AuditResult {
    /// Faults, then warnings, then notes; within these by check, then in the order of the model.
    std::vector<Finding> findings;
    std::uint64_t tensors = 0, bytes = 0; ///< that were read
    double seconds = 0;                   ///< duration of the audit
};
/// Audits all tensors of the model with bounded memory. `units` shares the tensors, see UnitRun; null: all are read.
/// Fails if the job is cancelled, or if a file changed or failed.
Result<AuditResult> auditModel(std::shared_ptr<const Model> model, const Job& job, UnitRun* units = nullptr);

const Columns<Finding>& findingColumns();

/// The result of one check. It is reported for each check, so that the user sees what was looked for.
struct CheckOutcome {
    const AuditCheck* check = nullptr;
    std::size_t findings = 0;
};
std::vector<CheckOutcome> checkOutcomes(const AuditResult& result); ///< one per check, in their order
const Columns<CheckOutcome>& outcomeColumns();

/// The findings as a report. `commandLine`: for the provenance.
Result<Report> auditReport(const Model& model, const AuditResult& result, const std::string& commandLine,
                           const Job& job = {});
/// A summary: "2 faults, 1 warning" or "nothing found".
std::string findingsText(const std::vector<Finding>& findings);

} // namespace qs
