// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A team of worker threads that stay alive between calls. Each is pinned to its own CPU, because two unpinned threads
// may share one. The calling thread is worker 0.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

namespace qs {

/// The team. Not thread-safe: one thread at a time may call run().
class ThreadTeam {
public:
    /// threads: number of workers with the caller; 0: one for each CPU that this thread may use.
    explicit ThreadTeam(int threads = 0);
    ~ThreadTeam();
    ThreadTeam(const ThreadTeam&) = delete;
    ThreadTeam& operator=(const ThreadTeam&) = delete;

    /// Number of workers, the caller included.
    int size() const { return int(threads_.size()) + 1; }
    /// Calls work(worker) on every worker and returns when all have finished. Must not be called from within `work`.
    template<class Work> void run(const Work& work) {
        runAll([](const void* w, int worker) { (*static_cast<const Work*>(w))(worker); }, &work);
    }

    /// Pins the calling thread to the CPU of worker 0. The destructor restores its previous CPU mask.
    class Pin {
    public:
        explicit Pin(const ThreadTeam& team);
        ~Pin();
        Pin(const Pin&) = delete;
        Pin& operator=(const Pin&) = delete;

    private:
        std::vector<unsigned char> before_;
    };

private:
    using Call = void (*)(const void*, int);
    void runAll(Call call, const void* work);
    void serve(int worker);

    std::vector<int> cpus_; ///< one per worker; empty: workers are not pinned
    std::vector<std::thread> threads_;
    Call call_ = nullptr;
    const void* work_ = nullptr;
    alignas(64) std::atomic<std::uint32_t> round_{0};
    alignas(64) std::atomic<std::uint32_t> busy_{0};
    std::atomic<bool> end_{false};
};

/// The range [begin, end) of `count` items that belongs to one worker. Its limits are multiples of `unit`.
inline std::pair<std::size_t, std::size_t> shareOf(std::size_t count, int worker, int workers, std::size_t unit = 1) {
    const std::size_t units = (count + unit - 1) / unit;
    const auto at = [&](int w) {
        const std::size_t i = units * std::size_t(w) / std::size_t(workers) * unit;
        return i < count ? i : count;
    };
    return {at(worker), at(worker + 1)};
}

} // namespace qs
