// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A finished evaluation of the model's output as a text of a session file; see kept_results.h.

#include "core/eval/run/record.h"

namespace qs {

std::string keptEvidence(const eval::EvaluationRecord& record);
Result<eval::EvaluationRecord> evidenceKept(const std::string& text);

} // namespace qs
