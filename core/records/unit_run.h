// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A computation whose units (a tensor under a spec, a chunk of a text) are shared by several processes. There is one
// code path: a computation goes through all its units in order. It takes the result of a unit from its record, computes
// it if the unit belongs to this process, or leaves it out. Only a run in which no unit is left out has a result. Results
// are put together in the order of the units, so they equal those of one process bit for bit, on processors with the
// same instruction set.

#include "core/records/archive.h"
#include "core/records/record_files.h"
#include "core/records/shard.h"

#include <functional>
#include <memory>

namespace qs {

class UnitRun {
public:
    struct Settings {
        RecordsOrigin origin;
        std::vector<std::string> places; ///< files and folders with records
        std::string folder;              ///< of new records; empty: none are written
        Shard shard;
        bool isPart = false;  ///< the process only keeps records, also when no unit is left out
        bool isMerge = false; ///< nothing is computed
    };
    /// Errors: those of RecordFiles::open().
    static Result<std::unique_ptr<UnitRun>> open(Settings settings);

    /// Begins a list of units. `total`: the sum of their weights, which stand for the time that they take.
    void begin(double total) { dealer_ = ShardDealer(settings_.shard, total); }
    /// True if this process computes the next unit of the list. Call it for every unit, in order, also for those that
    /// have records.
    bool takes(double weight);
    /// The record of a unit, counted as found. Records come from files that anybody may have written: one that cannot be
    /// read as T, or that `fits` refuses, is passed over. `fits` checks all that the bytes do not: sizes, indices, and
    /// figures that must be finite.
    template<class T, class Fits> std::optional<T> find(const std::string& key, const Fits& fits) {
        auto value = findPart<T>(key, fits);
        found_ += value ? 1 : 0;
        return value;
    }
    /// Keeps the result of a unit that was computed.
    template<class T> Result<void> keep(const std::string& key, const T& value) {
        ++computed_;
        return keepPart(key, value);
    }
    /// The same for a part of a large result, which is not counted.
    template<class T, class Fits> std::optional<T> findPart(const std::string& key, const Fits& fits) const {
        std::optional<T> out;
        files_.find(key, [&](const std::string& bytes) {
            out = archive::valueOf<T>(bytes);
            if (out && !fits(std::as_const(*out))) out.reset();
            return out.has_value();
        });
        return out;
    }
    template<class T> Result<void> keepPart(const std::string& key, const T& value) {
        return files_.add(key, archive::bytesOf(value));
    }
    /// Says that a unit has no result. `name` is for people.
    void leaveOut(std::string name);

    /// Says that this process needs the records of other parts too, because what it computes depends on them.
    void needOthers() { needsOthers_ = true; }

    /// All of the above for one unit. Nullopt: it was left out. `keyOf` is not called where the unit belongs to another
    /// part, because a key may need the hash of a large file.
    template<class T, class Fits>
    Result<std::optional<T>> unit(const std::function<Result<std::string>()>& keyOf, const std::string& name,
                                  double weight, const std::function<Result<T>()>& compute, const Fits& fits) {
        const bool isMine = takes(weight);
        if (!isMine && isPart() && !needsOthers_) {
            leaveOut(name);
            return std::nullopt;
        }
        const auto key = keyOf();
        if (!key) return tl::unexpected(key.error());
        if (auto known = find<T>(*key, fits)) return known;
        if (!isMine) {
            leaveOut(name);
            return std::nullopt;
        }
        auto value = compute();
        if (!value) return tl::unexpected(value.error());
        if (auto kept = keep(*key, *value); !kept) return tl::unexpected(kept.error());
        return std::optional<T>(std::move(*value));
    }

    bool isPart() const { return settings_.isPart; }
    bool isMerge() const { return settings_.isMerge; }
    const std::string& folder() const { return settings_.folder; }
    std::vector<std::string> folders() const;             ///< all folders with records of this run
    std::size_t records() const { return files_.size(); } ///< that were there when the run was opened, or are in files
    /// See RecordFiles::forget().
    Result<void> forget() { return files_.forget(); }
    std::size_t computed() const { return computed_; }
    std::size_t found() const { return found_; }
    std::size_t leftOut() const { return leftOut_; }
    bool isWhole() const { return leftOut_ == 0; }

    /// Writes the records that wait. True: the result is whole and wanted. False: this process has done its part, see
    /// shardText(). Error of a merge: units are missing; it names the first ones.
    Result<bool> finish();
    /// "Shard 2 of 4: 12 units computed, 0 were there, 36 are of other shards."
    std::string shardText() const;

private:
    explicit UnitRun(Settings settings) : settings_(std::move(settings)) {}
    Settings settings_;
    RecordFiles files_;
    ShardDealer dealer_{{}, 0};
    bool needsOthers_ = false;
    std::size_t computed_ = 0, found_ = 0, leftOut_ = 0;
    std::vector<std::string> firstLeftOut_; ///< names, at most 3
};

/// The result of a unit, with or without a run that shares units.
template<class T, class Fits>
Result<std::optional<T>> unitOf(UnitRun* run, const std::function<Result<std::string>()>& keyOf,
                                const std::string& name, double weight, const std::function<Result<T>()>& compute,
                                const Fits& fits) {
    if (run) return run->unit<T>(keyOf, name, weight, compute, fits);
    auto value = compute();
    if (!value) return tl::unexpected(value.error());
    return std::optional<T>(std::move(*value));
}

} // namespace qs
