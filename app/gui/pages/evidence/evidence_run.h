// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// One evaluation as the page asks for it, on a worker: the text is read, scores are gathered as they come, and where it
// cannot be done, what would work is said as a fact beside the sentence.

#include "app/gui/session_recipe.h"
#include "app/gui/task.h"
#include "core/eval/run/record.h"
#include "core/quant/spec/spec.h"

#include <QStringList>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

namespace qs::gui {

struct EvidenceSettings {
    std::string path; ///< of the text
    bool ids = false; ///< it holds token ids
    std::size_t context = 512, chunks = 0;
    eval::Scored scored = eval::Scored::SecondHalf;
    std::vector<QuantSpec> specs;
    std::shared_ptr<const SessionRecipe> recipe = {}; ///< is evaluated before the specs; null: none
    std::string base = {};    ///< a base-logits file of llama.cpp as the reference, and as the text if there is none
    std::string backend = {}; ///< evaluates every spec once more as it would serve the network; empty: none does
    bool hasText() const { return !path.empty() || !base.empty(); }
    bool hasChanges() const { return recipe || !specs.empty(); }
    bool operator==(const EvidenceSettings&) const = default;
    /// How the rows are called, in their order.
    QStringList names() const;
};

/// Why there is no evaluation, and what would work.
struct EvidenceTrouble {
    enum class Remedy { AnotherModel, AnotherText, TokenIds, Context, NoBackend, NoBase };
    std::string sentence;
    Remedy remedy = Remedy::AnotherText;
    std::size_t context = 0; ///< Remedy::Context: one that works
};

/// What the model allows, before any text is chosen.
struct EvidenceGround {
    std::optional<EvidenceTrouble> trouble;  ///< no evaluation at all
    std::string noTokenizer;                 ///< why only token ids can be evaluated; empty: texts too
    std::size_t positions = 0;               ///< the longest context; 0: not said
    bool isEncoder = false;                  ///< it makes embeddings: there are cosines in place of KL
    std::size_t matrices = 0, quantized = 0; ///< of its layers; those that are stored quantized
};
EvidenceGround evidenceGround(const std::shared_ptr<const Model>& model);

/// The profiles so far, one for each spec.
using EvidenceMail = std::vector<eval::ScoreProfile>;

/// Chunks of an evaluation: those whose figures are known, of all.
struct EvidenceReach {
    std::size_t done = 0, chunks = 0;
};
/// What a page and its run share.
struct EvidenceShared {
    std::atomic<std::size_t> done = 0, chunks = 0; ///< how far the run has come
    std::atomic<bool> keeps = false;               ///< the figures are in records
    EvidenceReach reach() const { return {done, chunks}; }
};

struct EvidenceAnswer {
    std::shared_ptr<const eval::EvaluationRecord> record; ///< null: trouble
    EvidenceTrouble trouble;
};
/// `goesOn`: behind the chunks whose figures are in the records; false: from the first one on. The records are deleted
/// when there is an answer. An Error only when it was cancelled.
Result<EvidenceAnswer> runEvidence(const std::shared_ptr<const Model>& model, const EvidenceSettings& settings,
                                   bool goesOn, EvidenceShared& shared, const Job& job, Inbox<EvidenceMail>& inbox);

} // namespace qs::gui
