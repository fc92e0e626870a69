// SPDX-License-Identifier: GPL-3.0-or-later
// The reference for products. Decoded weights are level * scale, rounded to f32. The scale of an activation row is
// applied after the sum. Products and sums are f64. The result is rounded once to f32; for bf16 then from f32 to bf16.

#include "kernels/reference/matmul.h"

#include "kernels/coders_op.h"
#include "kernels/matmul_operands.h"
#include "kernels/small_float.h"
#include "kernels/stored_weight.h"

#include <atomic>

namespace qs {
namespace {

constexpr std::size_t kColumns = 16; ///< output channels decoded at a time

bool always() { return true; }

const char* declines(const MatmulProblem& problem) {
    if (const char* reason = whyImpossible(problem)) return reason;
    if (problem.op == MatmulOp::Quantize) return whyNotCoded(problem);
    if (problem.compute != NumberType::None && problem.compute != NumberType::F32)
        return "the reference multiplies decoded values only";
    if (problem.accum != NumberType::None && problem.accum != NumberType::F32) return "the reference sums in f64 only";
    return nullptr;
}

/// Keeps the weight in its stored form and decodes it in every run.
class ReferenceMatmul final : public PreparedMatmul {
public:
    ReferenceMatmul(const MatmulProblem& problem, const WeightOperand& operand)
        : problem_(problem), stored_(problem, operand) {}

    bool run(const MatmulInput& in, const MatmulOutput& out, ThreadTeam& team, const StopRequest& stop) override {
        const std::size_t m = problem_.m, n = problem_.n, k = problem_.k;
        const ActivationRows rows(problem_, in);
        const StoredWeight weight(problem_, stored_.operand());
        std::atomic<bool> stopped{false};
        team.run([&](int worker) {
            const auto [begin, end] = shareOf(n, worker, team.size());
            std::vector<float> w(kColumns * k);
            for (std::size_t j = begin; j < end && !stopped; j += kColumns) {
                const std::size_t last = std::min(j + kColumns, end);
                weight.decode(j, last, w.data());
                for (std::size_t i = 0; i < m; ++i) {
                    if (stopped || stop()) return stopped.store(true);
                    for (std::size_t c = j; c < last; ++c) {
                        const double bias = problem_.bias ? double(stored_.bias()[c]) : 0;
                        const double y = dot(rows.x(i), w.data() + (c - j) * k, k) * double(rows.scale(i)) + bias;
                        storeOutput(problem_.out, out.out, i * n + c, float(y));
                    }
                }
            }
        });
        return !stopped;
    }
    std::unique_ptr<PreparedMatmul> clone() const override { return std::make_unique<ReferenceMatmul>(*this); }
    std::size_t weightBytes() const override { return stored_.bytes(); }

private:
    static double dot(const float* x, const float* w, std::size_t k) {
        double sums[4] = {};
        std::size_t i = 0;
        for (; i + 4 <= k; i += 4)
            for (std::size_t lane = 0; lane < 4; ++lane) sums[lane] += double(x[i + lane]) * double(w[i + lane]);
        for (; i < k; ++i) sums[0] += double(x[i]) * double(w[i]);
        return (sums[0] + sums[1]) + (sums[2] + sums[3]);
    }

    MatmulProblem problem_;
    StoredCopy stored_;
};

/// dequantize: the decoded weight in its stored orientation.
class ReferenceDequantize final : public PreparedMatmul {
public:
    ReferenceDequantize(const MatmulProblem& problem, const WeightOperand& operand)
        : problem_(problem), stored_(problem, operand) {
        problem_.weightIsKn = false; // decode the rows in stored order
        problem_.n = problem.rows(), problem_.k = problem.cols();
    }
    bool run(const MatmulInput&, const MatmulOutput& out, ThreadTeam& team, const StopRequest& stop) override {
        const std::size_t cols = problem_.k;
        const StoredWeight weight(problem_, stored_.operand());
        std::atomic<bool> stopped{false};
        team.run([&](int worker) {
            const auto [begin, end] = shareOf(problem_.n, worker, team.size());
            std::vector<float> w(cols);
            for (std::size_t r = begin; r < end; ++r) {
                if (stopped || stop()) return stopped.store(true);
                weight.decode(r, r + 1, w.data());
                if (problem_.out == NumberType::F32)
                    std::memcpy(static_cast<float*>(out.out) + r * cols, w.data(), cols * sizeof(float));
                else
                    bestKernels().f32ToBf16(w.data(), cols, static_cast<std::uint16_t*>(out.out) + r * cols);
            }
        });
        return !stopped;
    }
    std::unique_ptr<PreparedMatmul> clone() const override { return std::make_unique<ReferenceDequantize>(*this); }
    std::size_t weightBytes() const override { return stored_.bytes(); }

private:
    MatmulProblem problem_;
    StoredCopy stored_;
};

std::unique_ptr<PreparedMatmul> prepare(const MatmulProblem& problem, const WeightOperand& operand, ThreadTeam&) {
    if (problem.op == MatmulOp::Matmul) return std::make_unique<ReferenceMatmul>(problem, operand);
    if (problem.op == MatmulOp::Dequantize) return std::make_unique<ReferenceDequantize>(problem, operand);
    return prepareCoded(problem, operand, scalarKernels());
}

} // namespace

const MatmulVariant& referenceMatmul() {
    static const MatmulVariant variant = {.id = "reference",
                                          .title = "Plain C++",
                                          .note = "f64 products and sums of f32 decoded weights",
                                          .shape = "one column at a time, 4 sums",
                                          .flags = 0,
                                          .nmseLimit = 0,
                                          .compute = NumberType::F32,
                                          .fromM = 0,
                                          .supported = always,
                                          .declines = declines,
                                          .prepare = prepare};
    return variant;
}

} // namespace qs
