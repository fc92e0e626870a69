// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/kept_json.h"
#include "core/session/kept_results.h"

#include <algorithm>

namespace qs {
namespace kept {
namespace {

struct FindingKept {
    std::string check, tensor, evidence;
};
struct AuditKept {
    std::vector<FindingKept> findings;
    std::uint64_t tensors = 0, bytes = 0;
    double seconds = 0;
};

} // namespace

template<class Io> static void fields(Io& io, FindingKept& one) {
    io("check", one.check);
    io("tensor", one.tensor);
    io("evidence", one.evidence);
}
template<class Io> static void fields(Io& io, AuditKept& all) {
    io("findings", all.findings);
    io("tensors", all.tensors);
    io("bytes", all.bytes);
    io("seconds", all.seconds);
}

} // namespace kept

std::string keptAudit(const AuditResult& result) {
    kept::AuditKept all{{}, result.tensors, result.bytes, result.seconds};
    for (const auto& finding : result.findings)
        all.findings.push_back({finding.check->id, finding.tensor, finding.evidence});
    return kept::textOf(all);
}

Result<AuditResult> auditKept(const std::string& text) {
    auto all = kept::fromText<kept::AuditKept>(text);
    if (!all) return fail("the kept audit is damaged: " + all.error());
    AuditResult result{{}, all->tensors, all->bytes, all->seconds};
    for (auto& one : all->findings) {
        const auto check = std::find_if(auditChecks().begin(), auditChecks().end(),
                                        [&](const AuditCheck& known) { return one.check == known.id; });
        if (check == auditChecks().end()) return fail("the kept audit is of other checks");
        result.findings.push_back({&*check, std::move(one.tensor), std::move(one.evidence)});
    }
    return result;
}

} // namespace qs
