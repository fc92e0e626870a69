// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The chunks of a text as units, which several processes share.

#include "core/eval/run/evaluate.h"
#include "core/records/unit_run.h"

#include <utility>

namespace qs::eval {

/// Neighbouring chunks.
struct ChunkRange {
    std::size_t begin = 0, end = 0;
    std::size_t count() const { return end - begin; }
};

/// A key for all that the figures of a plan's chunks depend on, besides the tokens of a chunk: the model, its changes,
/// the context and which predictions are scored.
Result<std::string> keyOfChunks(const Model& model, const EvaluationPlan& plan, const Job& job);
/// What the figures of a chunk depend on besides. The token after the chunk is one of them.
std::string keyOfChunk(std::span<const std::int32_t> tokens, std::size_t context, std::size_t chunk);
/// For people: "chunk 3 under nf4:block=64 and 2 more".
std::string nameOfChunk(const EvaluationPlan& plan, std::size_t chunk);

/// Decides for every chunk whether its figures are known, computed here, or left out. `Record` holds the figures of one
/// chunk under all changes.
template<class Record> class ChunkUnits {
public:
    /// Without EvaluationPlan::units all chunks are computed.
    static Result<ChunkUnits> of(const Model& model, const EvaluationPlan& plan, ChunkRange chunks, const Job& job) {
        ChunkUnits out(plan, chunks);
        if (!plan.units) return out;
        auto key = keyOfChunks(model, plan, job);
        if (!key) return tl::unexpected(key.error());
        out.key_ = std::move(*key);
        plan.units->begin(double(chunks.count()));
        for (std::size_t chunk = chunks.begin; chunk < chunks.end; ++chunk) {
            One& one = out.all_[chunk - chunks.begin];
            one.isComputed = plan.units->takes(1);
            one.known = plan.units->template find<Record>(out.keyOf(chunk));
            if (!one.known && !one.isComputed) plan.units->leaveOut(nameOfChunk(plan, chunk));
        }
        return out;
    }

    /// Chunks to compute together: at most `most` neighbours.
    std::vector<ChunkRange> groups(std::size_t most) const {
        std::vector<ChunkRange> out;
        for (std::size_t i = 0; i < all_.size(); ++i) {
            if (all_[i].known || !all_[i].isComputed) continue;
            const std::size_t chunk = chunks_.begin + i;
            if (out.empty() || out.back().end != chunk || out.back().count() == most) out.push_back({chunk, chunk});
            ++out.back().end;
        }
        return out;
    }
    /// The figures of a chunk that are known; they may be asked for once.
    std::optional<Record> take(std::size_t chunk) {
        return std::exchange(all_[chunk - chunks_.begin].known, std::nullopt);
    }
    bool keeps() const { return plan_->units; }
    Result<void> keep(std::size_t chunk, const Record& record) {
        return plan_->units ? plan_->units->keep(keyOf(chunk), record) : Result<void>();
    }

private:
    struct One {
        std::optional<Record> known = {};
        bool isComputed = true;
    };
    ChunkUnits(const EvaluationPlan& plan, ChunkRange chunks) : plan_(&plan), chunks_(chunks), all_(chunks.count()) {}
    std::string keyOf(std::size_t chunk) const { return key_ + keyOfChunk(plan_->text.tokens, plan_->context, chunk); }
    const EvaluationPlan* plan_;
    ChunkRange chunks_;
    std::string key_;
    std::vector<One> all_;
};

} // namespace qs::eval
