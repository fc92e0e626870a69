// SPDX-License-Identifier: GPL-3.0-or-later
// quantize, quant_act and dequantize as operations: the coders of a kernel set, row by row on a team.

#include "kernels/coders_op.h"

#include "kernels/matmul_operands.h"

#include <atomic>
#include <cmath>
#include <limits>

namespace qs {
namespace {

std::size_t blocksOf(std::size_t cols, std::size_t block) { return (cols + block - 1) / block; }

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

class Quantize final : public RowCoder {
public:
    Quantize(const MatmulProblem& problem, const WeightOperand& operand, const KernelSet& kernels)
        : m_format(problem.weight), m_n(problem.n), m_k(problem.k), m_kernels(&kernels), m_source(m_n * m_k) {
        for (std::size_t r = 0; r < m_n; ++r)
            std::memcpy(m_source.data() + r * m_k, static_cast<const char*>(operand.codes) + r * operand.rowBytes,
                        m_k * sizeof(float));
        m_group = m_format.blockAxis == 1 ? m_format.block : m_k;
    }
    std::unique_ptr<PreparedMatmul> clone() const override { return std::make_unique<Quantize>(*this); }
    std::size_t weightBytes() const override { return m_source.size() * sizeof(float); }

private:
    std::size_t rows() const override { return m_n; }
    void row(std::size_t r, const MatmulInput&, const MatmulOutput& out, std::vector<float>& scratch) override {
        const float* x = m_source.data() + r * m_k;
        float* scales = static_cast<float*>(out.scale) + r * blocksOf(m_k, m_group);
        if (m_format.id == "nf4") {
            const std::size_t padded = blocksOf(m_k, m_group) * m_group;
            auto* codes = static_cast<std::uint8_t*>(out.out) + r * padded / 2;
            if (padded != m_k) {
                scratch.assign(padded, 0.0f);
                std::memcpy(scratch.data(), x, m_k * sizeof(float));
                x = scratch.data();
            }
            m_kernels->quantizeNf4Packed(x, padded, m_group, codes, scales, nullptr);
        } else if (m_format.id == "int8") {
            m_kernels->quantizeInt8Stored(x, m_k, m_group, static_cast<std::int8_t*>(out.out) + r * m_k, scales);
        } else {
            auto* codes = static_cast<std::uint8_t*>(out.out) + r * ((m_k + 3) / 4);
            m_kernels->quantizeTernaryPacked(x, m_k, m_group, codes, scales);
        }
    }

    WeightFormat m_format;
    std::size_t m_n, m_k, m_group = 0;
    const KernelSet* m_kernels;
    Aligned<float> m_source;
};

class QuantizeAct final : public RowCoder {
public:
    QuantizeAct(const MatmulProblem& problem, const KernelSet& kernels)
        : m_m(problem.m), m_k(problem.k), m_kernels(&kernels) {}
    std::unique_ptr<PreparedMatmul> clone() const override { return std::make_unique<QuantizeAct>(*this); }
    std::size_t weightBytes() const override { return 0; }

private:
    std::size_t rows() const override { return m_m; }
    void row(std::size_t r, const MatmulInput& in, const MatmulOutput& out, std::vector<float>&) override {
        const float* x = static_cast<const float*>(in.x) + r * m_k;
        auto* q = static_cast<std::int8_t*>(out.out) + r * m_k;
        float* scale = static_cast<float*>(out.scale) + r;
        if (std::isfinite(m_kernels->absMax(x, m_k, false)))
            return m_kernels->quantizeInt8Stored(x, m_k, m_k, q, scale);
        std::memset(q, 0, m_k);
        *scale = std::numeric_limits<float>::quiet_NaN();
    }

    std::size_t m_m, m_k;
    const KernelSet* m_kernels;
};

class DequantizeNf4 final : public RowCoder {
public:
    DequantizeNf4(const MatmulProblem& problem, const WeightOperand& operand, const KernelSet& kernels)
        : m_problem(problem), m_stored(problem, operand), m_kernels(&kernels) {}
    std::unique_ptr<PreparedMatmul> clone() const override { return std::make_unique<DequantizeNf4>(*this); }
    std::size_t weightBytes() const override { return m_stored.bytes(); }

private:
    std::size_t rows() const override { return m_problem.rows(); }
    void row(std::size_t r, const MatmulInput&, const MatmulOutput& out, std::vector<float>& scratch) override {
        const std::size_t cols = m_problem.cols(), even = cols / 2 * 2, block = m_problem.weight.block;
        const WeightOperand stored = m_stored.operand();
        const auto* codes = static_cast<const std::uint8_t*>(stored.codes) + r * stored.rowBytes;
        const auto* scales = static_cast<const float*>(stored.scales) + r * stored.scaleCols;
        const bool direct = m_problem.out == NumberType::F32;
        scratch.resize(direct ? 0 : cols);
        float* into = direct ? static_cast<float*>(out.out) + r * cols : scratch.data();
        const float* levels = m_problem.weight.levels.data();
        m_kernels->dequantizeNf4Packed(codes, even, block, scales, levels, into);
        if (even != cols) into[even] = levels[codes[even / 2] >> 4] * scales[even / block];
        if (!direct) m_kernels->f32ToBf16(into, cols, static_cast<std::uint16_t*>(out.out) + r * cols);
    }

    MatmulProblem m_problem;
    StoredCopy m_stored;
    const KernelSet* m_kernels;
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
    if (problem.op != MatmulOp::Quantize) return "this variant only codes and decodes";
    if (problem.weightIsKn) return "quantize takes weights stored [N, K]";
    const bool rows = w.blockAxis == 1 || (w.blockAxis < 0 && w.channelAxis == 0);
    if (w.scale != NumberType::F32 || !rows) return "quantize writes f32 scales of rows or of blocks within rows";
    if (w.id == "nf4" && w.packing == Packing::PairHiFirst && w.blockAxis == 1 && w.block % 2 == 0) return nullptr;
    if (w.id == "int8" && w.packing == Packing::None && w.element == NumberType::I8) return nullptr;
    if (w.id == "ternary" && w.packing == Packing::QuadLoFirst && (w.blockAxis < 0 || w.block % 4 == 0)) return nullptr;
    return "quantize writes nf4 (pair_hi_first, even blocks), int8 (i8) and ternary (quad_lo_first, blocks of 4)";
}

std::unique_ptr<PreparedMatmul> prepareCoded(const MatmulProblem& problem, const WeightOperand& operand,
                                             const KernelSet& kernels) {
    if (problem.op == MatmulOp::QuantizeAct) return std::make_unique<QuantizeAct>(problem, kernels);
    if (problem.op == MatmulOp::Quantize) return std::make_unique<Quantize>(problem, operand, kernels);
    return std::make_unique<DequantizeNf4>(problem, operand, kernels);
}

} // namespace qs
