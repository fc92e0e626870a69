// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A finished evaluation of the model's output as a text of a session file; see kept_results.h.

#include "core/eval/run/record.h"

namespace qs {

std::string keptEvidence(const eval::EvaluationRecord& record);
Result<eval::EvaluationRecord> evidenceKept(const std::string& text);

/// What the user had chosen for an evaluation, or a measurement of each tensor, that has not ended.
struct BegunEvaluation {
    std::string path, base, backend;
    bool ids = false, recipe = false; ///< recipe: of the session
    eval::Scored scored = eval::Scored::SecondHalf;
    std::size_t context = 512, chunks = 0;
    std::vector<std::string> specs;
    std::string how; ///< id of a row of sensitivityHows(); empty: an evaluation
};
std::string keptBegun(const BegunEvaluation& begun);
Result<BegunEvaluation> begunKept(const std::string& text);

} // namespace qs
