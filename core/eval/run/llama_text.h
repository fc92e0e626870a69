// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What `llama-perplexity --kl-divergence` would print for the changes of a plan.

#include "core/eval/run/evaluate.h"
#include "core/eval/scores/llama_statistics.h"

namespace qs::eval {

class LlamaText {
public:
    explicit LlamaText(const EvaluationPlan& plan);
    /// For EvaluationPlan::compared. A reference from a forward pass is put into the 16 bits of a base file first, as
    /// llama.cpp would have read it.
    void take(const LogitRows& rows);
    /// A line for each chunk and the three blocks; empty for a change without scores.
    std::string text(std::size_t change) const;

private:
    struct Figures {
        LlamaStatistics statistics;
        std::string lines;
    };
    const EvaluationPlan* plan_;
    std::vector<float> base_;
    std::vector<Figures> figures_;
};

} // namespace qs::eval
