// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Runs of changed networks, and those whose scores are known: from the records of several processes, or from the cache.

#include "core/eval/run/scored_text.h"
#include "core/eval/sensitivity/chunk_scores.h"
#include "core/eval/sensitivity/records.h"
#include "core/eval/sensitivity/sensitivity.h"
#include "core/records/unit_run.h"

namespace qs::eval {

/// A network that differs from its base in some layers.
struct Branch {
    WeightChange change;          ///< change of the stored weights; includes the changes of the base
    std::set<std::size_t> layers; ///< layers in which it differs from the base; one behind the last: the head
    std::string key;              ///< names all that its scores depend on, besides model, text and program
    std::string name;             ///< for people
    std::string kept = {};        ///< why none of its weights changes: then it does not run; "": some do
    bool hasEmbedding = false;    ///< it differs in the embedding
    /// The first layer that must be computed.
    std::size_t first() const { return hasEmbedding || layers.empty() ? 0 : *layers.begin(); }
};

struct BranchResult {
    RunScores scores;
    std::string reason; ///< why there are no scores; empty if there are
};

/// Takes the result of a branch, given by its index.
using BranchDone = std::function<Result<void>(std::size_t branch, const BranchResult& result)>;

class KnownRuns {
public:
    /// `about`: all that every run depends on. `layers`: of the network. Errors: those of Records::open().
    static Result<KnownRuns> open(const SensitivityPlan& plan, const std::string& about, std::size_t layers,
                                  const ScoredText& scored);

    Records& records() { return records_; }
    /// The key of a unit for SensitivityPlan::units. `key`: as in Branch.
    std::string unitKey(const std::string& key) const { return about_ + key; }

    /// Hands over the results that are known. Returns the branches to compute.
    Result<std::vector<std::size_t>> take(std::span<const Branch> branches, const BranchDone& done, double until);
    /// Keeps the result of a run that was computed. `ended`: before the last chunk.
    Result<void> keep(const Branch& branch, const BranchResult& result, bool ended, double until);
    std::size_t found() const { return found_; } ///< runs whose scores were known
    std::size_t ended() const { return ended_; } ///< of all runs, those that ended before the last chunk

private:
    KnownRuns(UnitRun* units, Records records, std::string about, std::size_t layers, const ScoredText& scored);
    bool fits(const RunScores& scores, bool ended) const;

    UnitRun* units_; ///< null: the run is not shared
    Records records_;
    std::string about_; ///< a hash
    std::size_t layers_, chunks_, found_ = 0, ended_ = 0;
    std::vector<std::size_t> tokens_; ///< scored ones of each chunk, up to the last chunk that has some
};

} // namespace qs::eval
