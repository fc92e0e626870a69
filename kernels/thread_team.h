// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Workers that stay: each pinned to a CPU of its own, because unpinned pairs may share one. The caller is worker 0.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

namespace qs {

class ThreadTeam {
public:
    /// 0: one for each CPU that this thread may use.
    explicit ThreadTeam(int threads = 0);
    ~ThreadTeam();
    ThreadTeam(const ThreadTeam&) = delete;
    ThreadTeam& operator=(const ThreadTeam&) = delete;

    int size() const { return int(m_threads.size()) + 1; }
    /// work(worker) on every worker; returns when all are done. Not from within work.
    template<class Work> void run(const Work& work) {
        runAll([](const void* w, int worker) { (*static_cast<const Work*>(w))(worker); }, &work);
    }

    /// Keeps the calling thread on the CPU of worker 0; gives it its old mask back at the end.
    class Pin {
    public:
        explicit Pin(const ThreadTeam& team);
        ~Pin();
        Pin(const Pin&) = delete;
        Pin& operator=(const Pin&) = delete;

    private:
        std::vector<unsigned char> m_before;
    };

private:
    using Call = void (*)(const void*, int);
    void runAll(Call call, const void* work);
    void serve(int worker);

    std::vector<int> m_cpus; ///< one per worker; empty: not pinned
    std::vector<std::thread> m_threads;
    Call m_call = nullptr;
    const void* m_work = nullptr;
    alignas(64) std::atomic<std::uint32_t> m_round{0};
    alignas(64) std::atomic<std::uint32_t> m_busy{0};
    std::atomic<bool> m_end{false};
};

/// Part `worker` of `count` things, in units of `unit`.
inline std::pair<std::size_t, std::size_t> shareOf(std::size_t count, int worker, int workers, std::size_t unit = 1) {
    const std::size_t units = (count + unit - 1) / unit;
    const auto at = [&](int w) {
        const std::size_t i = units * std::size_t(w) / std::size_t(workers) * unit;
        return i < count ? i : count;
    };
    return {at(worker), at(worker + 1)};
}

} // namespace qs
