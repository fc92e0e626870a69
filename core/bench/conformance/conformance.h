// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Checks a backend against the requirements of plugins/abi/quantscope_backend.h: for tests, and for authors of backends
// (`backends --check`).

#include "core/base/column.h"
#include "core/bench/backend/backend.h"

#include <functional>

namespace qs {

enum class CheckResult { Passed, Failed, Skipped };

struct ConformanceCheck {
    std::string backend; ///< id
    std::string check;   ///< "repeated query"
    CheckResult result = CheckResult::Failed;
    std::string detail; ///< what was observed; for a failed check the fault, for a skipped one the reason
};
const Columns<ConformanceCheck>& conformanceColumns();

struct ConformancePlan {
    std::vector<std::string> specs; ///< empty: every format with its defaults
    /// for products at tail shapes, and three times that for one shape of each variant; the rest is skipped
    double seconds = 60;
    Deadlines deadlines;
};
/// Runs in its own worker. If the backend cannot run here, questions are checked and the rest is skipped. Only a
/// cancelled job and an invalid plan are errors.
Result<void> checkConformance(const BackendSource& source, const ConformancePlan& plan, const Job& job,
                              const std::function<void(const ConformanceCheck&)>& onCheck);

} // namespace qs
