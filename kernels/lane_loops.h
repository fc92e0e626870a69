// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Code that the loops over panels share.

#include "kernels/lane_input.h"
#include "kernels/lane_matmul.h"

#include <algorithm>
#include <atomic>

namespace qs {

/// Writes lanes of a panel to the result: y = value * scale of the row + bias of the channel.
class LaneOutput {
public:
    LaneOutput(const MatmulProblem& problem, const LaneKernels& kernels, const LaneWeights& weights,
               const LaneInput& input, const MatmulOutput& out)
        : m_kernels(kernels), m_weights(weights), m_input(input), m_n(problem.n), m_type(problem.out), m_out(out.out) {}

    /// Stores `count` lanes of row `row`, from lane `firstLane` (counted over all panels) on.
    void store(const float* lanes, std::size_t row, std::size_t firstLane, std::size_t count) const;
    /// Prefetches the cache lines that store() will write.
    void announce(std::size_t row, std::size_t firstLane, std::size_t count) const {
        const std::size_t size = m_type == NumberType::F32 ? 4 : 2;
        const char* y = static_cast<const char*>(m_out) + (row * m_n + firstLane) * size;
        for (std::size_t i = 0; i < count * size; i += 64) __builtin_prefetch(y + i, 1);
    }

private:
    const LaneKernels& m_kernels;
    const LaneWeights& m_weights;
    const LaneInput& m_input;
    std::size_t m_n;
    NumberType m_type;
    void* m_out;
};

/// Distributes items among worker threads. Every item has the same number of parts. A worker first takes the items of
/// its own share in order, each as a whole; only the last one part by part. Then it takes parts that other workers have
/// not started, from the last item backwards. So no worker waits longer than one part takes.
class Shares {
public:
    Shares(std::size_t count, int workers, std::size_t parts = 1)
        : m_taken(count), m_workers(workers), m_parts(std::uint32_t(parts)) {}
    /// Calls work(i, first part, end of the parts) until it returns false; then returns false. Returns true when no
    /// parts are left.
    template<class Work> bool each(int worker, const Work& work) {
        const auto take = [&](std::size_t i, std::uint32_t atOnce) {
            // A plain read does not take the cache line from other workers
            if (m_taken[i].load(std::memory_order_relaxed) >= m_parts) return true;
            for (std::uint32_t from; (from = m_taken[i].fetch_add(atOnce)) < m_parts;)
                if (!work(i, std::size_t(from), std::size_t(std::min(from + atOnce, m_parts)))) return false;
            return true;
        };
        const auto [begin, end] = shareOf(m_taken.size(), worker, m_workers);
        for (std::size_t i = begin; i < end; ++i)
            if (!take(i, i + 1 < end ? m_parts : 1)) return false;
        for (std::size_t i = m_taken.size(); i-- > 0;)
            if (!take(i, 1)) return false;
        return true;
    }

private:
    std::vector<std::atomic<std::uint32_t>> m_taken; ///< parts taken of each item; may exceed m_parts
    int m_workers;
    std::uint32_t m_parts;
};

/// A product with LaneWeights: what the loops for few and for many rows have in common.
class LaneMatmul : public PreparedMatmul {
public:
    LaneMatmul(const MatmulProblem& problem, const WeightOperand& operand, const LaneKernels& kernels,
               LaneProducts products, ThreadTeam& team)
        : m_problem(problem), m_kernels(&kernels), m_weights(problem, operand, products, -kernels.int8Bias, team) {}
    std::size_t weightBytes() const override { return m_weights.bytes(); }

protected:
    MatmulProblem m_problem;
    const LaneKernels* m_kernels;
    LaneWeights m_weights;
};

std::unique_ptr<PreparedMatmul> prepareLaneGemm(const MatmulProblem& problem, const WeightOperand& operand,
                                                const LaneKernels& kernels, LaneProducts products, ThreadTeam& team);

} // namespace qs
