// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The backends of a run. Each is opened once, and removed when it crashes or hangs.

#include "core/bench/run/bench_row.h"

#include <map>

namespace qs {

struct OpenedBackend {
    BackendSource source;
    std::unique_ptr<Backend> backend; ///< null: not opened, or crashed
    std::vector<DeviceInfo> devices;
    std::string description; ///< JSON
    Failure failure;         ///< why `backend` is null

    /// Removes a backend whose worker crashed or hung.
    void note(const Failure& happened);
};
OpenedBackend openForBenchmark(const BenchmarkPlan& plan, const BackendSource& source, const Job& job);

/// The measured roofs of all devices of a run.
class Roofs {
public:
    static constexpr const char* kKinds[] = {"read_bw", "f32", "bf16", "i8"};
    static constexpr const char* kWarm = "cache_bw"; ///< the roof of warm runs

    /// Upper limit in bytes for the memory that measuring a roof uses; 0: the backend decides.
    void limitMemory(std::uint64_t bytes) { memoryBytes_ = bytes; }

    /// Measures all kinds of a device, once; the roof of the cache only if times are `warm`.
    void measure(OpenedBackend& opened, std::uint32_t device, bool warm = false);
    /// Measures one kind again, before a time is called impossible: other load may have disturbed the first
    /// measurement. False: it was measured often enough in this run.
    bool again(OpenedBackend& opened, std::uint32_t device, const std::string& kind);
    /// One short sample of a roof, which may raise it: operations or bytes per second.
    std::optional<double> probe(OpenedBackend& opened, std::uint32_t device, const char* kind);
    /// The best value of the device; devices of the host share one machine and so one roof. nullopt: not measured.
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
        int again = 0; ///< number of repetitions
        std::size_t order = 0;
    };
    std::optional<double> sample(OpenedBackend& opened, std::uint32_t device, const std::string& kind,
                                 RunOptions options);
    std::map<Key, Entry> entries_;
    std::uint64_t memoryBytes_ = 0;
};

} // namespace qs
