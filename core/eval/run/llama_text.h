// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Makes the text that `llama-perplexity --kl-divergence` would print for the changes of a plan.

#include "core/eval/run/evaluate.h"
#include "core/eval/scores/llama_statistics.h"

namespace qs::eval {

class LlamaText {
public:
    explicit LlamaText(const EvaluationPlan& plan);
    /// Pass this function to EvaluationPlan::compared. A reference from a forward pass is first rounded to the 16 bits
    /// of a base file, because llama.cpp would read it from such a file.
    void take(const LogitRows& rows);
    /// The text for a change: a line for each chunk, and the three blocks. Empty if the change has no scores.
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
