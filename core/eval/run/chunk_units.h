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
    /// Without EvaluationPlan::units all chunks are computed. `fits(record, chunk)`: a record that was read is one of
    /// this plan's chunk.
    template<class Fits>
    static Result<ChunkUnits> of(const Model& model, const EvaluationPlan& plan, std::size_t chunks, const Fits& fits,
                                 const Job& job) {
        ChunkUnits out(plan, chunks);
        if (plan.units) {
            auto key = keyOfChunks(model, plan, job);
            if (!key) return tl::unexpected(key.error());
            out.key_ = std::move(*key);
            plan.units->begin(double(chunks));
        }
        for (std::size_t chunk = 0; plan.units && chunk < chunks; ++chunk) {
            One& one = out.all_[chunk];
            one.isComputed = plan.units->takes(1);
            one.known = plan.units->template find<Record>(out.keyOf(chunk),
                                                          [&](const Record& record) { return fits(record, chunk); });
            if (one.known) ++out.count_;
            if (!one.known && !one.isComputed) plan.units->leaveOut(nameOfChunk(plan, chunk));
        }
        out.tell();
        return out;
    }

    /// Chunks to compute together: at most `most` neighbours.
    std::vector<ChunkRange> groups(std::size_t most) const {
        std::vector<ChunkRange> out;
        for (std::size_t i = 0; i < all_.size(); ++i) {
            if (all_[i].known || !all_[i].isComputed) continue;
            if (out.empty() || out.back().end != i || out.back().count() == most) out.push_back({i, i});
            ++out.back().end;
        }
        return out;
    }
    /// The figures of a chunk that are known; they may be asked for once.
    std::optional<Record> take(std::size_t chunk) { return std::exchange(all_[chunk].known, std::nullopt); }
    /// A chunk is computed. `figures` returns its record; it is called where records are kept.
    template<class Figures> Result<void> keep(std::size_t chunk, const Figures& figures) {
        if (plan_->units)
            if (Result<void> kept = plan_->units->keep(keyOf(chunk), figures()); !kept) return kept;
        ++count_;
        tell();
        return {};
    }

private:
    struct One {
        std::optional<Record> known = {};
        bool isComputed = true;
    };
    ChunkUnits(const EvaluationPlan& plan, std::size_t chunks) : plan_(&plan), all_(chunks) {}
    void tell() const {
        if (plan_->reached) plan_->reached(count_, all_.size());
    }
    std::string keyOf(std::size_t chunk) const { return key_ + keyOfChunk(plan_->text.tokens, plan_->context, chunk); }
    const EvaluationPlan* plan_;
    std::string key_;
    std::size_t count_ = 0; ///< chunks that are known
    std::vector<One> all_;
};

} // namespace qs::eval
