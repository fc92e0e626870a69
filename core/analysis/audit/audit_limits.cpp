// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/analysis/audit/audit_limits.h"

#include <fmt/format.h>

namespace qs {
namespace {

constexpr Severity kWorstFirst[] = {Severity::Fault, Severity::Warning, Severity::Note};

bool isMeant(const Finding& finding, const std::string& id) {
    for (const Severity least : kWorstFirst)
        if (id == severityId(least)) return finding.check->severity >= least;
    return finding.check->id == id;
}

} // namespace

std::span<const LimitKind> auditLimits() {
    static const std::vector<LimitKind> kinds = [] {
        std::vector<LimitKind> out;
        for (const Severity one : kWorstFirst) out.push_back({severityId(one), "findings at least as severe"});
        for (const AuditCheck& check : auditChecks()) out.push_back({check.id, check.title});
        return out;
    }();
    return kinds;
}

std::string brokenLimit(const AuditResult& result, std::span<const Limit> limits) {
    for (const Limit& limit : limits) {
        std::vector<Finding> failures;
        for (const Finding& one : result.findings)
            if (isMeant(one, auditLimits()[limit.kind].id)) failures.push_back(one);
        if (double(failures.size()) > limit.most)
            return fmt::format("the audit found {} (--fail-on {})", findingsText(failures), limit.text);
    }
    return {};
}

} // namespace qs
