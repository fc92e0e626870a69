// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What plugins/abi/quantscope_backend.h asks of every backend, asked of one: for the tests, and for who writes one
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
    std::string detail; ///< what was seen; of a failed one what is wrong, of a skipped one why
};
const Columns<ConformanceCheck>& conformanceColumns();

struct ConformancePlan {
    std::vector<std::string> specs; ///< empty: every format by its defaults
    double seconds = 60; ///< for products at tail shapes, three times that for one shape of each; the rest is skipped
    Deadlines deadlines;
};
/// In a worker of its own. A backend that cannot run here is asked what it can be asked, the rest is skipped. Only a
/// cancelled job and a bad plan are errors.
Result<void> checkConformance(const BackendSource& source, const ConformancePlan& plan, const Job& job,
                              const std::function<void(const ConformanceCheck&)>& onCheck);

} // namespace qs
