// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What the loops over panels share.

#include "kernels/lane_input.h"
#include "kernels/lane_matmul.h"

#include <algorithm>
#include <atomic>

namespace qs {

/// Lanes of a panel to the result: y = value * scale of the row + bias.
class LaneOutput {
public:
    LaneOutput(const MatmulProblem& problem, const LaneKernels& kernels, const LaneWeights& weights,
               const LaneInput& input, const MatmulOutput& out)
        : m_kernels(kernels), m_weights(weights), m_input(input), m_n(problem.n), m_type(problem.out), m_out(out.out) {}

    void store(const float* lanes, std::size_t row, std::size_t firstLane, std::size_t count) const;
    /// Asks for the cache lines that store() will write.
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

/// Things of equal parts that workers take from both ends: each those of its own share, in order and whole but for the
/// last, whose parts it takes singly; then the parts that others have left. So nobody waits longer than for a part.
class Shares {
public:
    Shares(std::size_t count, int workers, std::size_t parts = 1)
        : m_taken(count), m_workers(workers), m_parts(std::uint32_t(parts)) {}
    /// Until work(i, first part, end of the parts) is false.
    template<class Work> bool each(int worker, const Work& work) {
        const auto take = [&](std::size_t i, std::uint32_t atOnce) {
            if (m_taken[i].load(std::memory_order_relaxed) >= m_parts) return true; // a read leaves its line shared
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
    std::vector<std::atomic<std::uint32_t>> m_taken; ///< parts, or more
    int m_workers;
    std::uint32_t m_parts;
};

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
