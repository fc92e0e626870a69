// SPDX-License-Identifier: GPL-3.0-or-later
// The operations quantize-activations and dequantize: the worker threads of a team call the kernel set row by row.

#include "kernels/coders_op.h"

#include "kernels/matmul_operands.h"
#include "kernels/quantize_op.h"

#include <atomic>
#include <cmath>
#include <limits>

namespace qs {
namespace {

/// An operation whose rows do not depend on each other.
class RowCoder : public PreparedMatmul {
public:
    bool run(const MatmulInput& in, const MatmulOutput& out, ThreadTeam& team, const StopRequest& stop) override {
        std::atomic<bool> stopped{false};
        team.run([&](int worker) {
            const auto [begin, end] = shareOf(rows(), worker, team.size());
            std::vector<float> scratch;
            for (std::size_t r = begin; r < end; ++r) {
                if (stopped || stop()) return stopped.store(true);
                row(r, in, out, scratch);
            }
        });
        return !stopped;
    }

protected:
    virtual std::size_t rows() const = 0;
    virtual void row(std::size_t r, const MatmulInput& in, const MatmulOutput& out, std::vector<float>& scratch) = 0;
};

/// f32 activations [M,K] to int8, one scale per row. A row with NaN or Inf gets codes 0 and the scale NaN.
class QuantizeAct final : public RowCoder {
public:
    QuantizeAct(const MatmulProblem& problem, const KernelSet& kernels)
        : m_(problem.m), k_(problem.k), kernels_(&kernels) {}
    std::unique_ptr<PreparedMatmul> clone() const override { return std::make_unique<QuantizeAct>(*this); }
    std::size_t weightBytes() const override { return 0; }
    std::vector<InnerLoop> innerLoops() const override {
        return {{"quantizes a row", reinterpret_cast<const void*>(kernels_->quantizeInt8Stored)}};
    }

private:
    std::size_t rows() const override { return m_; }
    void row(std::size_t r, const MatmulInput& in, const MatmulOutput& out, std::vector<float>&) override {
        const float* x = static_cast<const float*>(in.x) + r * k_;
        auto* q = static_cast<std::int8_t*>(out.out) + r * k_;
        float* scale = static_cast<float*>(out.scale) + r;
        if (std::isfinite(kernels_->absMax(x, k_, false))) return kernels_->quantizeInt8Stored(x, k_, k_, q, scale);
        std::memset(q, 0, k_);
        *scale = std::numeric_limits<float>::quiet_NaN();
    }

    std::size_t m_, k_;
    const KernelSet* kernels_;
};

/// nf4 or another table of 16 levels, packed two codes per byte, to f32 or bf16.
class DequantizeNf4 final : public RowCoder {
public:
    DequantizeNf4(const MatmulProblem& problem, const WeightOperand& operand, const KernelSet& kernels)
        : problem_(problem), stored_(problem, operand), kernels_(&kernels) {}
    std::unique_ptr<PreparedMatmul> clone() const override { return std::make_unique<DequantizeNf4>(*this); }
    std::size_t weightBytes() const override { return stored_.bytes(); }
    std::vector<InnerLoop> innerLoops() const override {
        return {{"decodes a row", reinterpret_cast<const void*>(kernels_->dequantizeNf4Packed)}};
    }

private:
    std::size_t rows() const override { return problem_.rows(); }
    void row(std::size_t r, const MatmulInput&, const MatmulOutput& out, std::vector<float>& scratch) override {
        const std::size_t cols = problem_.cols(), even = cols / 2 * 2, block = problem_.weight.block;
        const WeightOperand stored = stored_.operand();
        const auto* codes = static_cast<const std::uint8_t*>(stored.codes) + r * stored.rowBytes;
        const auto* scales = static_cast<const float*>(stored.scales) + r * stored.scaleCols;
        const bool direct = problem_.out == NumberType::F32;
        scratch.resize(direct ? 0 : cols);
        float* into = direct ? static_cast<float*>(out.out) + r * cols : scratch.data();
        const float* levels = problem_.weight.levels.data();
        kernels_->dequantizeNf4Packed(codes, even, block, scales, levels, into);
        if (even != cols) into[even] = levels[codes[even / 2] >> 4] * scales[even / block];
        if (!direct) kernels_->f32ToBf16(into, cols, static_cast<std::uint16_t*>(out.out) + r * cols);
    }

    MatmulProblem problem_;
    StoredCopy stored_;
    const KernelSet* kernels_;
};

} // namespace

const char* whyNotCoded(const MatmulProblem& problem) {
    const WeightFormat& w = problem.weight;
    if (problem.op == MatmulOp::QuantizeAct) return nullptr;
    if (problem.op == MatmulOp::Dequantize) {
        const bool packed = w.packing == Packing::PairHiFirst && w.blockAxis == 1 && w.scale == NumberType::F32;
        if (packed && w.levels.size() == 16 && w.block % 2 == 0) return nullptr;
        return "the vector decoder takes 16 levels, high nibble first, with f32 scales in even blocks of a row";
    }
    return problem.op == MatmulOp::Quantize ? whyNotQuantized(problem) : "this variant only codes and decodes";
}

std::unique_ptr<PreparedMatmul> prepareCoded(const MatmulProblem& problem, const WeightOperand& operand,
                                             const KernelSet& kernels) {
    if (problem.op == MatmulOp::QuantizeAct) return std::make_unique<QuantizeAct>(problem, kernels);
    if (problem.op == MatmulOp::Quantize) return prepareQuantize(problem, operand, kernels);
    return std::make_unique<DequantizeNf4>(problem, operand, kernels);
}

} // namespace qs
