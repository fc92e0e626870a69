// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Which layer breaks: what each matrix of a network does to its output when it is quantized.
//
// A run is the network with other weights in one unit (a matrix, a role or a layer). Hidden states of the network
// without that change are kept at the borders of layers, so a run begins at its first changed layer. Several runs go
// side by side, so a layer's weights are loaded and prepared once for them, and so are the reference's logits. Every
// finished run is kept in a file: a measurement that was stopped goes on from there. Results do not depend on the
// number of threads, the memory, or what was kept.

#include "core/eval/run/evaluation_text.h"
#include "core/eval/run/scored_text.h"
#include "core/eval/sensitivity/how.h"
#include "core/eval/sensitivity/sensitivity_row.h"
#include "core/eval/sensitivity/units.h"

#include <functional>

namespace qs {
class UnitRun;
}

namespace qs::eval {

/// What runs of changed networks will take: known before they begin.
struct SensitivityCost {
    std::size_t runs = 0; ///< those that are not kept
    std::size_t layerPasses =
        0; ///< of all tokens through one layer: for each run the layers from its first changed one
    std::size_t tokens = 0, scored = 0; ///< of the text; those whose logits are compared, for each run
    /// layerPasses x time of a layer + runs x scored x time of a token's logits and scores; both times are measured in
    /// this run.
    double seconds = 0;
};

struct SensitivityPlan {
    EvaluationText text;
    std::size_t context = 512; ///< as in EvaluationPlan
    std::size_t chunks = 0;    ///< at most; 0: all
    Scored scored = Scored::SecondHalf;
    std::vector<QuantSpec> specs;
    const SensitivityHow* how = &sensitivityHows().front();
    const Grouping* by = &groupings().front();
    SpecScope scope = {}; ///< the matrices to measure, and the layout whose readers give the values
    /// Above 0, of `alone`: a run ends as soon as the standard error by chunk of its mean KL is at most this share of
    /// the mean, and says so by its tokens. It looks after every kChunksToEnd chunks.
    double until = 0;
    std::string cache;                             ///< folder that keeps finished runs; empty: nothing is kept
    std::uint64_t memory = std::uint64_t(1) << 30; ///< bytes for hidden states; more go to a temporary file
    /// Shares the units with other processes: a unit is a run, or a unit of weights under a spec. Those that are left out
    /// have no row. Null: all are measured.
    UnitRun* units = nullptr;
    /// Called by the thread that measures, before several runs begin.
    std::function<void(const SensitivityCost& cost)> expected;
    /// Called by the thread that measures, as soon as a row is known. Rows come in any order.
    std::function<void(const SensitivityRow& row)> arrived;
};

/// Number of chunks if the user gives none. Each chunk costs one pass of every changed network.
constexpr std::size_t kUsualChunks = 16;
constexpr std::size_t kChunksToEnd = 4; ///< see SensitivityPlan::until

struct Sensitivity {
    std::size_t tokens = 0, chunks = 0; ///< tokens that were inputs
    std::vector<SensitivityRow> rows;   ///< by unit in the order of layers, then by spec
    std::vector<Additivity> additivity; ///< by spec, where `how` has it
    std::size_t runs = 0, keptRuns = 0; ///< networks that went forward now; that were found in the cache or the records
    std::size_t endedRuns = 0;          ///< of both, those that ended before the last chunk
    std::vector<const SensitivityHow*> hows;         ///< what was measured, in this order
    std::size_t matrices = 0, quantizedMatrices = 0; ///< that were measured; those that are stored quantized
    std::vector<std::string> refusals;               ///< sentences: specs that `quantize` refuses for the model

    /// Adds what was measured in another way on the same units and text.
    void add(Sensitivity other);
    std::vector<SensitivityRow> rowsOf(const SensitivityHow& how) const;
};

/// Errors: those of evaluate(); no matrix to measure; a spec is needed and there is none; a cache that cannot be
/// written; cancelled. A unit that fails has a row with its reason, and the others go on.
Result<Sensitivity> sensitivity(std::shared_ptr<const Model> model, const SensitivityPlan& plan, const Job& job);

/// The default folder for finished runs: XDG_CACHE_HOME/quantscope/sensitivity. Empty: there is no such folder.
std::string defaultSensitivityCache();

} // namespace qs::eval
