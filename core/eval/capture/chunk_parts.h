// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What the inputs of each place give in each chunk, from a forward pass or from the records of several processes.

#include "core/eval/capture/input_pass.h"
#include "core/eval/run/chunk_units.h"

#include <set>

namespace qs::eval {

constexpr WeightRole lastOf(WeightRole) { return WeightRole::AfterMlpNorm; }
template<class Archive, archive::Of<InputPlace> T> void fieldsOf(Archive& archive, T& place) {
    archive(place.layer, place.role, place.expert);
}

/// A key for all that the parts of a chunk depend on, besides its tokens. `kind`: what a part is, with its settings.
Result<std::string> keyOfParts(const InputPass& pass, const CapturePlan& plan, const std::string& kind, const Job& job);
/// The error of records that lack a part of a chunk.
tl::unexpected<Error> partIsMissing(std::size_t chunk);

/// A part that was read, with what it must be of: `width` values of an input, at most `tokens` inputs.
template<class Part> struct ReadPart {
    const Part& part;
    const InputPlace& place;
    std::size_t chunk = 0, width = 0, tokens = 0;
};

/// `Part` is made of the inputs of one place in one chunk.
template<class Part> class ChunkParts {
public:
    /// Adds inputs to a part. Rows come in the order of the text.
    using Add = std::function<void(Part& part, const ChunkInputs& inputs)>;
    using Take = std::function<Result<void>(const InputPlace& place, std::size_t chunk, const Part& part)>;
    /// True if a part that was read from a record has the sizes and counts of its place.
    using Fits = std::function<bool(const ReadPart<Part>& read)>;

    ChunkParts(const InputPass& pass, const CapturePlan& plan, std::string kind, Add add, Fits fits)
        : pass_(pass), plan_(plan), kind_(std::move(kind)), add_(std::move(add)), fits_(std::move(fits)) {}

    /// With CapturePlan::units, computes the missing chunks of this process. False: this process writes no file.
    Result<bool> prepare(const Job& job) {
        UnitRun* units = plan_.units;
        if (!units) return true;
        auto key = keyOfParts(pass_, plan_, kind_, job);
        if (!key) return tl::unexpected(key.error());
        key_ = std::move(*key);
        units->begin(double(pass_.chunks()));
        std::vector<std::size_t> missing;
        for (std::size_t chunk = 0; chunk < pass_.chunks(); ++chunk) {
            const bool isMine = units->takes(1);
            places_.emplace_back();
            const auto fits = [&](const std::vector<InputPlace>& read) {
                return pass_.areOfChunk({read.begin(), read.end()});
            };
            if (auto known = units->find<std::vector<InputPlace>>(keyOf(chunk), fits))
                places_.back() = {known->begin(), known->end()};
            else if (isMine)
                missing.push_back(chunk);
            else
                units->leaveOut("the inputs in chunk " + std::to_string(chunk + 1));
        }
        const std::size_t together = std::max<std::size_t>(1, kTokensTogether / plan_.context);
        for (std::size_t begin = 0; begin < missing.size(); begin += together)
            if (auto done = compute(std::span(missing).subspan(begin, std::min(together, missing.size() - begin)), job);
                !done)
                return tl::unexpected(done.error());
        return units->isWhole() && !units->isPart();
    }

    /// Hands over all parts, layer by layer, each place in the order of the chunks, experts one after another. Needs
    /// prepare(), with true.
    Result<void> each(const Take& take, const InputPass::LayerDone& layerDone, const Job& job) const {
        if (plan_.units) return eachRecord(take, layerDone, job);
        std::vector<std::size_t> all(pass_.chunks());
        for (std::size_t chunk = 0; chunk < all.size(); ++chunk) all[chunk] = chunk;
        return passed(all, take, layerDone, job);
    }

private:
    /// Tokens of chunks that are computed together where records are kept: a stop loses at most these.
    static constexpr std::size_t kTokensTogether = 8192;
    struct Open {
        InputPlace place;
        std::size_t chunk = 0;
        Part part;
    };

    /// A forward pass over some chunks.
    Result<void> passed(std::span<const std::size_t> chunks, const Take& take, const InputPass::LayerDone& layerDone,
                        const Job& job) const {
        std::map<WeightRole, Open> open; // of one layer
        const auto sees = [&](const ChunkInputs& inputs) -> Result<void> {
            Open& one = open.try_emplace(inputs.place.role, Open{inputs.place, inputs.chunk, {}}).first->second;
            if (one.place != inputs.place || one.chunk != inputs.chunk) {
                if (auto done = take(one.place, one.chunk, one.part); !done) return done;
                one = {inputs.place, inputs.chunk, {}};
            }
            add_(one.part, inputs);
            return {};
        };
        const auto closes = [&](std::size_t layer) -> Result<void> {
            for (const auto& [role, one] : open)
                if (auto done = take(one.place, one.chunk, one.part); !done) return done;
            open.clear();
            return layerDone(layer);
        };
        return pass_.run(chunks, sees, closes, job);
    }

    /// Keeps the parts of some chunks.
    Result<void> compute(std::span<const std::size_t> chunks, const Job& job) {
        const auto take = [&](const InputPlace& place, std::size_t chunk, const Part& part) {
            places_[chunk].insert(place);
            return plan_.units->keepPart(keyOf(chunk, place), part);
        };
        const auto nothing = [](std::size_t) { return Result<void>(); };
        if (auto done = passed(chunks, take, nothing, job); !done) return done;
        for (const std::size_t chunk : chunks)
            if (auto kept = plan_.units->keep(keyOf(chunk),
                                              std::vector<InputPlace>(places_[chunk].begin(), places_[chunk].end()));
                !kept)
                return kept;
        return {};
    }

    Result<void> eachRecord(const Take& take, const InputPass::LayerDone& layerDone, const Job& job) const {
        std::set<InputPlace> all;
        for (const auto& places : places_) all.insert(places.begin(), places.end());
        auto place = all.begin();
        for (std::size_t layer = 0; layer < pass_.network().layers.size(); ++layer) {
            for (; place != all.end() && place->layer == layer; ++place)
                for (std::size_t chunk = 0; chunk < places_.size(); ++chunk) {
                    if (job.cancelled()) return cancelledError();
                    if (!places_[chunk].contains(*place)) continue; // no token of the chunk goes through the expert
                    const auto part = plan_.units->template findPart<Part>(keyOf(chunk, *place), [&](const Part& read) {
                        return fits_({read, *place, chunk, *pass_.widthOf(*place), plan_.context});
                    });
                    if (!part) return partIsMissing(chunk);
                    if (auto done = take(*place, chunk, *part); !done) return done;
                }
            if (auto done = layerDone(layer); !done) return done;
        }
        return {};
    }

    std::string keyOf(std::size_t chunk) const { return key_ + keyOfChunk(plan_.text.tokens, plan_.context, chunk); }
    std::string keyOf(std::size_t chunk, const InputPlace& place) const {
        return keyOf(chunk) + "\n" + archive::bytesOf(place);
    }

    const InputPass& pass_;
    const CapturePlan& plan_;
    std::string kind_, key_;
    Add add_;
    Fits fits_;
    std::vector<std::set<InputPlace>> places_; ///< that have a part, by chunk
};

} // namespace qs::eval
