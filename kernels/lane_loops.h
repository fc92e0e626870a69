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
        : kernels_(kernels), weights_(weights), input_(input), n_(problem.n), type_(problem.out), out_(out.out) {}

    /// Stores `count` lanes of row `row`, from lane `firstLane` (counted over all panels) on.
    void store(const float* lanes, std::size_t row, std::size_t firstLane, std::size_t count) const;
    /// Whether sums are results as they are: store() would neither convert nor scale them.
    bool takesSums(std::size_t rows) const;
    /// Where sums may then be written at once, in rows of rowLength(); null: some are no channels.
    float* place(std::size_t row, std::size_t firstLane, std::size_t count) const {
        return firstLane + count <= n_ ? static_cast<float*>(out_) + row * n_ + firstLane : nullptr;
    }
    std::size_t rowLength() const { return n_; }
    /// Prefetches the cache lines that store() will write.
    void announce(std::size_t row, std::size_t firstLane, std::size_t count) const {
        const std::size_t size = type_ == NumberType::F32 ? 4 : 2;
        const char* y = static_cast<const char*>(out_) + (row * n_ + firstLane) * size;
        for (std::size_t i = 0; i < count * size; i += 64) __builtin_prefetch(y + i, 1);
    }

private:
    const LaneKernels& kernels_;
    const LaneWeights& weights_;
    const LaneInput& input_;
    std::size_t n_;
    NumberType type_;
    void* out_;
};

/// Distributes items among worker threads. Every item has the same number of parts. A worker first takes the items of
/// its own share in order, each as a whole; only the last one part by part. Then it takes parts that other workers have
/// not started, from the last item backwards. So no worker waits longer than one part takes.
class Shares {
public:
    Shares(std::size_t count, int workers, std::size_t parts = 1)
        : taken_(count), workers_(workers), parts_(std::uint32_t(parts)) {}
    /// Calls work(i, first part, end of the parts) until it returns false; then returns false. Returns true when no
    /// parts are left.
    template<class Work> bool each(int worker, const Work& work) {
        const auto take = [&](std::size_t i, std::uint32_t atOnce) {
            // A plain read does not take the cache line from other workers
            if (taken_[i].load(std::memory_order_relaxed) >= parts_) return true;
            for (std::uint32_t from; (from = taken_[i].fetch_add(atOnce)) < parts_;)
                if (!work(i, std::size_t(from), std::size_t(std::min(from + atOnce, parts_)))) return false;
            return true;
        };
        const auto [begin, end] = shareOf(taken_.size(), worker, workers_);
        for (std::size_t i = begin; i < end; ++i)
            if (!take(i, i + 1 < end ? parts_ : 1)) return false;
        for (std::size_t i = taken_.size(); i-- > 0;)
            if (!take(i, 1)) return false;
        return true;
    }

private:
    std::vector<std::atomic<std::uint32_t>> taken_; ///< parts taken of each item; may exceed parts_
    int workers_;
    std::uint32_t parts_;
};

/// A product with LaneWeights: what the loops for few and for many rows have in common.
class LaneMatmul : public PreparedMatmul {
public:
    LaneMatmul(const MatmulProblem& problem, const WeightOperand& operand, const LaneKernels& kernels,
               LaneProducts products, ThreadTeam& team)
        : problem_(problem), kernels_(&kernels), weights_(problem, operand, products, -kernels.int8Bias, team) {}
    std::size_t weightBytes() const override { return weights_.bytes(); }

protected:
    MatmulProblem problem_;
    const LaneKernels* kernels_;
    LaneWeights weights_;
};

std::unique_ptr<PreparedMatmul> prepareLaneGemm(const MatmulProblem& problem, const WeightOperand& operand,
                                                const LaneKernels& kernels, LaneProducts products, ThreadTeam& team);

} // namespace qs
