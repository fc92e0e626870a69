// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Findings at which an audit fails: those of a severity, and those of a check.

#include "core/analysis/audit/audit.h"
#include "core/base/limit.h"

namespace qs {

/// The severities, each with those that are worse, and the checks.
std::span<const LimitKind> auditLimits();
/// The end of a sentence about the first limit that is not kept: "the audit found 2 faults (--fail-on fault)"; "" if all
/// are kept.
std::string brokenLimit(const AuditResult& result, std::span<const Limit> limits);

} // namespace qs
