// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The backends of a run: opened once, and out of it once they crash or hang.

#include "core/bench/run/bench_row.h"

#include <map>

namespace qs {

struct OpenedBackend {
    BackendSource source;
    std::unique_ptr<Backend> backend; ///< null: not opened, or dead
    std::vector<DeviceInfo> devices;
    std::string description; ///< JSON
    Failure failure;         ///< why `backend` is null

    /// Crashed and hung workers are gone: nothing more is asked of them.
    void note(const Failure& happened);
};
OpenedBackend openForBenchmark(const BenchmarkPlan& plan, const BackendSource& source, const Job& job);

/// The measured roofs of all devices of a run.
class Roofs {
public:
    static constexpr const char* kKinds[] = {"read_bw", "f32", "bf16", "i8"};
    static constexpr const char* kWarm = "cache_bw"; ///< what a warm run is held against

    /// The most that what a backend reads may take; 0: as it likes.
    void limitMemory(std::uint64_t bytes) { memoryBytes_ = bytes; }

    /// Measures all kinds of a device, once; the cache's when `warm` times are to be judged.
    void measure(OpenedBackend& opened, std::uint32_t device, bool warm = false);
    /// Measures one kind again: before a time is called impossible, for something else may have run beside the first try.
    /// False: it has been measured often enough in this run.
    bool again(OpenedBackend& opened, std::uint32_t device, const std::string& kind);
    /// One quick sample of a roof, which may raise it: operations or bytes a second.
    std::optional<double> probe(OpenedBackend& opened, std::uint32_t device, const char* kind);
    /// Best seen on the device; host devices share one machine and so one roof. nullopt: not measured.
    std::optional<double> best(const OpenedBackend& opened, std::uint32_t device, std::string_view kind) const;
    std::vector<MeasuredRoof> list() const;

private:
    struct Key {
        std::string backend, device, kind;
        auto operator<=>(const Key&) const = default;
    };
    struct Entry {
        MeasuredRoof roof;
        bool host = false;
        int again = 0; ///< how often
        std::size_t order = 0;
    };
    std::optional<double> sample(OpenedBackend& opened, std::uint32_t device, const std::string& kind,
                                 RunOptions options);
    std::map<Key, Entry> entries_;
    std::uint64_t memoryBytes_ = 0;
};

} // namespace qs
