// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What other weights do to a network's output: the reference and every change of its weights go through the same tokens
// side by side, layer by layer, and their logits are compared at once, so that none are kept. Groups of chunks go one
// after another, as many chunks together as the memory takes. No figure depends on the groups.

#include "core/eval/network/network_weights.h"
#include "core/eval/run/evaluation_text.h"
#include "core/eval/run/scored_text.h"
#include "core/eval/scores/score_summary.h"

namespace qs {
class UnitRun;
}

namespace qs::eval {

/// Logits that are compared, row after row of the vocabulary.
struct LogitRows {
    std::size_t row = 0;                ///< index of the first row among all scored tokens, in the order of the text
    std::span<const std::int32_t> next; ///< the token that each row predicts
    std::span<const float> reference;
    std::optional<std::size_t> change; ///< index of the change; empty: only the reference, before it is compared
    std::span<const float> other;      ///< logits of the change
};

/// Logits of the reference that come from elsewhere, e.g. a file.
struct ReferenceRows {
    std::size_t vocabulary = 0;
    /// Reads the logits of `count` scored tokens from `row` on, [count, vocabulary], in the order of the text.
    std::function<Result<void>(std::size_t row, std::size_t count, std::span<float> out)> read;
};

struct EvaluationPlan {
    EvaluationText text;
    std::size_t context = 512; ///< tokens of a chunk; chunks do not overlap, positions start at 0 in each
    std::size_t chunks = 0;    ///< most chunks to use; 0: all. SecondHalf uses whole chunks only
    Scored scored = Scored::SecondHalf;
    std::uint64_t memory = 0; ///< bytes that the evaluation may hold, see planMemory(); 0: half of what is free
    std::vector<WeightChange> changes;      ///< each makes another network, which is compared with the reference
    std::optional<ReferenceRows> reference; ///< none: a forward pass of the stored weights
    /// Called with logits when they are compared, by the thread that evaluates. An error ends the evaluation.
    std::function<Result<void>(const LogitRows& rows)> compared;
    /// Called by the thread that evaluates as soon as scores are there: the index of the change and its next scores, in
    /// the order of the text.
    std::function<void(std::size_t change, std::span<const TokenScore> scores)> arrived;
    /// Called by the thread that evaluates with the number of chunks that are known, and of all: first when the records
    /// were read, then after each chunk. Its figures are then in the records.
    std::function<void(std::size_t known, std::size_t chunks)> reached = {};
    /// Keeps the units, or shares them with other processes: a unit is a chunk under all changes. `arrived` is called for
    /// scores from records too. If units are left out, the result lacks their scores. Null: all are computed. Not
    /// together with `compared`: records hold no logits.
    UnitRun* units = nullptr;
};

struct Evaluation {
    std::size_t tokens = 0, chunks = 0;          ///< tokens that were inputs
    std::vector<std::vector<TokenScore>> scores; ///< for each change, in the order of the text
    std::vector<std::string> reasons;            ///< for each change: why it has no scores; "" if it has
    std::vector<std::string> servedBy;           ///< for each change: LinearServer::title() of its server; "": none
    /// Of the layers of a reference that is a network; those that are stored quantized. 0 where it is read from
    /// elsewhere.
    std::size_t matrices = 0, quantizedMatrices = 0;
    std::optional<double> floor; ///< result of selfNoise() in nats; empty if it was not asked for
};

/// Errors: there are no tokens to score, a token is not in the vocabulary, the job is cancelled, and the errors of
/// readNetwork() and NetworkWeights::of(). A change that fails gets a reason, and the others go on. A change that is
/// another network must have the same vocabulary.
Result<Evaluation> evaluate(std::shared_ptr<const Model> model, const EvaluationPlan& plan, const Job& job);

} // namespace qs::eval
