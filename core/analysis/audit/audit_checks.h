// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The functions of the checks in auditChecks().

#include "core/analysis/audit/audit.h"

namespace qs {

using Findings = std::vector<Finding>;

void findNotFinite(const AuditedModel& audited, const AuditCheck& self, Findings& out);
void findElementType(const AuditedModel& audited, const AuditCheck& self, Findings& out);
void findCodebook(const AuditedModel& audited, const AuditCheck& self, Findings& out);
void findColumnOrder(const AuditedModel& audited, const AuditCheck& self, Findings& out);
void findLabel(const AuditedModel& audited, const AuditCheck& self, Findings& out);
void findAlreadyQuantized(const AuditedModel& audited, const AuditCheck& self, Findings& out);
void findContradictions(const AuditedModel& audited, const AuditCheck& self, Findings& out);
void findUndecoded(const AuditedModel& audited, const AuditCheck& self, Findings& out);
void findMissing(const AuditedModel& audited, const AuditCheck& self, Findings& out);
void findScales(const AuditedModel& audited, const AuditCheck& self, Findings& out);
void findAlikeScales(const AuditedModel& audited, const AuditCheck& self, Findings& out);
void findZeroPoints(const AuditedModel& audited, const AuditCheck& self, Findings& out);
void findNeighbours(const AuditedModel& audited, const AuditCheck& self, Findings& out);
void findChannels(const AuditedModel& audited, const AuditCheck& self, Findings& out);
void findDuplicates(const AuditedModel& audited, const AuditCheck& self, Findings& out);

/// Sets `facts.grain`, `facts.groups` and `facts.rms` from the sampled rows, then frees the rows.
void condense(TensorFacts& facts);
/// Compares the scales of a quantized layer with its codes.
GroupFit fitOfGroups(const TensorFacts& facts);

} // namespace qs
