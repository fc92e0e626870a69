// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A base-logits file of llama.cpp as the reference of an evaluation, and an evaluation that writes one.

#include "core/eval/files/base_logits.h"
#include "core/eval/run/evaluate.h"

namespace qs::eval {

/// Makes the file the reference of the plan. If the plan has no tokens, it gets those of the file. Errors: the plan has
/// another context, other tokens, or predictions that the file does not hold. evaluate() checks the vocabulary.
Result<void> takeReference(EvaluationPlan& plan, std::shared_ptr<const BaseFile> base);

/// Writes the logits of a plan's reference.
class BaseSaver {
public:
    /// Error: the plan scores tokens that such a file cannot hold.
    static Result<BaseSaver> of(const std::string& path, const EvaluationPlan& plan, Replace replace = Replace::Any);
    /// Pass this function to EvaluationPlan::compared.
    Result<void> take(const LogitRows& rows);
    Result<void> finish(const Job& job);

private:
    BaseSaver(std::string path, const EvaluationPlan& plan, Replace replace)
        : path_(std::move(path)), plan_(&plan), replace_(replace) {}
    std::string path_;
    const EvaluationPlan* plan_;
    Replace replace_;
    std::optional<BaseWriter> writer_;
};

} // namespace qs::eval
