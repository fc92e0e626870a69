// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What the machine itself reaches, for bench_scaling: read and write bandwidth of memory and cache, and peak compute
// rates.

#include "kernels/matmul_operands.h"
#include "kernels/roofs.h"
#include "kernels/thread_team.h"

#include <algorithm>

namespace qs::bench {

/// The machine limit that a case is compared with.
enum class Limit { ReadMemory, ReadCache, WriteMemory, F32, Bf16, I8 };

inline bool fromMemory(Limit limit) { return limit == Limit::ReadMemory || limit == Limit::WriteMemory; }

class Probes {
public:
    explicit Probes(std::size_t bytes) : read_(bytes), write_(std::min<std::size_t>(bytes, 256u << 20)) {}
    bool has(Limit limit) const { return limit < Limit::F32 || runPeak(kind(limit), 1) > 0; }
    /// Runs a probe with about this much work, in bytes or operations.
    double run(ThreadTeam& team, Limit limit, double work) {
        if (limit >= Limit::F32) {
            const double one = runPeak(kind(limit), 1);
            const auto steps = std::size_t(work / one / 4 / team.size()) + 1;
            team.run([&](int) { runPeak(kind(limit), steps); });
            return one * double(steps) * team.size();
        }
        const bool cached = limit == Limit::ReadCache;
        Aligned<char>& from = limit == Limit::WriteMemory ? write_ : read_;
        const std::size_t all = from.size(), wanted = cached ? std::size_t(work) / 256 * 256 : std::size_t(64) << 20;
        const std::size_t window = std::clamp<std::size_t>(wanted, 256, all);
        std::size_t& at = at_[limit == Limit::WriteMemory];
        at = cached || at + 2 * window > all ? 0 : at + window;
        const std::size_t times = cached ? 8 : 1;
        for (std::size_t i = 0; i < times; ++i)
            team.run([&](int worker) {
                const auto [begin, end] = shareOf(window, worker, team.size(), 256);
                if (limit == Limit::WriteMemory)
                    writeStream(from.data() + at + begin, end - begin);
                else
                    readStream(from.data() + at + begin, end - begin);
            });
        return double(window * times);
    }

private:
    static PeakKind kind(Limit limit) {
        return limit == Limit::F32 ? PeakKind::F32 : limit == Limit::Bf16 ? PeakKind::Bf16 : PeakKind::I8;
    }
    Aligned<char> read_, write_;
    std::size_t at_[2] = {};
};

} // namespace qs::bench
