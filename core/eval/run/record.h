// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The part of an evaluation that is kept when its scores are deleted: what was evaluated, the figures and curves of
// every change, and the worst tokens with the text around them.

#include "core/eval/run/embeddings.h"
#include "core/eval/scores/score_profile.h"
#include "core/report/report.h"

namespace qs::eval {

class Tokenizer;

/// A token and the text around it, as bytes. If the text was given as ids, they are ids in brackets.
struct TokenInText {
    std::string before, token, after;
};

struct RecordedChange {
    EvaluationRow row;
    ScoreProfile profile;
    std::vector<TokenInText> worst; ///< the texts for profile.worst, in the same order
};

/// A spec of an encoder, with the cosine of each chunk; NaN: it is not finite.
struct RecordedEmbedding {
    EmbeddingRow row;
    std::vector<double> cosines;
};

struct EvaluationRecord {
    std::string textPath, textSha256;
    bool ids = false;        ///< the file holds token ids
    std::size_t context = 0; ///< tokens of a chunk
    std::size_t wanted = 0;  ///< most chunks that were asked for; 0: all
    Scored scored = Scored::SecondHalf;
    std::size_t tokens = 0, chunks = 0;              ///< inputs
    std::size_t matrices = 0, quantizedMatrices = 0; ///< as in Evaluation
    double seconds = 0;
    std::vector<RecordedChange> changes;
    std::vector<RecordedEmbedding> embeddings; ///< in place of `changes` where the network is an encoder
};

/// There is one of `profiles` for each change. `tokenizer` is null for a text of ids.
EvaluationRecord recordOf(const EvaluationPlan& plan, const Evaluation& result, std::vector<ScoreProfile> profiles,
                          const Tokenizer* tokenizer);

/// The same of an encoder.
EvaluationRecord recordOf(const EvaluationPlan& plan, const EmbeddingEvaluation& result);

/// A part of a report: how the KL changes along the text, and the worst tokens.
Section profileSection(const EvaluationRecord& record);
/// The same, with the figures.
Section recordSection(const EvaluationRecord& record);

struct WorstTokenRow {
    std::string spec;
    TokenScore score;
    TokenInText text;
};
const Columns<WorstTokenRow>& worstTokenColumns();
std::vector<WorstTokenRow> worstTokenRows(const RecordedChange& change);

struct PositionRow {
    std::string spec;
    PositionRange range;
};
const Columns<PositionRow>& positionColumns();
std::vector<PositionRow> positionRows(const EvaluationRecord& record);

} // namespace qs::eval
