// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Effects of single tensors on the model's output as a text of a session file; see kept_results.h.

#include "core/eval/sensitivity/sensitivity.h"

namespace qs {

std::string keptSensitivity(const eval::Sensitivity& known);
/// Rows of tensors and additivity. Errors: the text is damaged.
Result<eval::Sensitivity> sensitivityKept(const std::string& text);

} // namespace qs
