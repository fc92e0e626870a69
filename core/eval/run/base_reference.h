// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A base-logits file of llama.cpp as the reference of an evaluation, and an evaluation that writes one.

#include "core/eval/files/base_logits.h"
#include "core/eval/run/evaluate.h"

namespace qs::eval {

/// Puts the file in the place of the plan's reference; takes its tokens where the plan has none. The plan's context must
/// be the file's. Errors: another context, other tokens, predictions that the file does not hold. The vocabulary is
/// checked by evaluate().
Result<void> takeReference(EvaluationPlan& plan, std::shared_ptr<const BaseFile> base);

/// Writes the logits of a plan's reference.
class BaseSaver {
public:
    /// Error: the plan scores other tokens than such a file holds.
    static Result<BaseSaver> of(const std::string& path, const EvaluationPlan& plan);
    /// For EvaluationPlan::compared.
    Result<void> take(const LogitRows& rows);
    Result<void> finish(const Job& job);

private:
    BaseSaver(std::string path, const EvaluationPlan& plan) : path_(std::move(path)), plan_(&plan) {}
    std::string path_;
    const EvaluationPlan* plan_;
    std::optional<BaseWriter> writer_;
};

} // namespace qs::eval
