// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/matmul_operands.h"

#include "kernels/kernel_set.h"
#include "kernels/small_float.h"

#include <cmath>
#include <limits>

namespace qs {

std::size_t bytesOf(NumberType type) {
    switch (type) {
    case NumberType::None: return 0;
    case NumberType::F32:
    case NumberType::I32: return 4;
    case NumberType::F16:
    case NumberType::Bf16: return 2;
    default: return 1;
    }
}

std::size_t storedCodeRows(const MatmulProblem& problem) {
    if (problem.op == MatmulOp::Quantize || problem.weight.packAxis != 0) return problem.rows();
    return problem.rows() / std::size_t(8 / problem.weight.bits);
}

std::size_t storedScales(const MatmulProblem& problem, std::size_t scaleCols) {
    const WeightFormat& format = problem.weight;
    if (format.scale == NumberType::None) return 0;
    if (format.blockAxis == 1) return problem.rows() * scaleCols;
    if (format.blockAxis == 0) return (problem.rows() + format.block - 1) / format.block * problem.cols();
    if (format.channelAxis >= 0) return format.channelAxis == 0 ? problem.rows() : problem.cols();
    return 1;
}

StoredCopy::StoredCopy(const MatmulProblem& problem, const WeightOperand& operand)
    : layout_(operand), codes_(storedCodeRows(problem) * operand.rowBytes),
      scales_(operand.scales ? storedScales(problem, operand.scaleCols) * bytesOf(problem.weight.scale) : 0),
      bias_(problem.bias ? problem.n : 0) {
    if (codes_.size()) std::memcpy(codes_.data(), operand.codes, codes_.size());
    if (scales_.size()) std::memcpy(scales_.data(), operand.scales, scales_.size());
    if (bias_.size()) std::memcpy(bias_.data(), operand.bias, bias_.size() * sizeof(float));
}

WeightOperand StoredCopy::operand() const {
    WeightOperand operand = layout_;
    operand.codes = codes_.data(), operand.scales = scales_.data(), operand.bias = bias_.data();
    return operand;
}

bool int8Row(const MatmulProblem& problem, const MatmulInput& in, std::size_t m, std::int8_t* q, float* scale) {
    const std::size_t k = problem.k;
    if (!problem.dynamicAct) {
        std::memcpy(q, static_cast<const std::int8_t*>(in.x) + m * k, k);
        *scale = in.scale ? in.scale[m] : 1.0f;
        return true;
    }
    bestKernels().quantizeInt8Stored(static_cast<const float*>(in.x) + m * k, k, k, q, scale);
    return std::isfinite(*scale); // finite if the largest magnitude is finite
}

bool fp8Row(const MatmulProblem& problem, const MatmulInput& in, std::size_t m, float* values, float* scale) {
    static const FormatTraits& format = *findFormat("fp8_e4m3");
    thread_local std::vector<std::uint8_t> codes;
    const float* x = static_cast<const float*>(in.x) + m * problem.k;
    if (!std::isfinite(bestKernels().absMax(x, problem.k, false))) return false;
    codes.resize(problem.k);
    Run run = runFor(format);
    run.x = x, run.n = run.group = problem.k;
    RunOut out;
    out.codes = codes.data(), out.scales = scale;
    bestKernels().quantize(run, out);
    for (std::size_t i = 0; i < problem.k; ++i) values[i] = format.levels[codes[i]];
    return true;
}

ActivationRows::ActivationRows(const MatmulProblem& problem, const MatmulInput& in) : k_(problem.k) {
    const std::size_t count = problem.m * k_;
    if (problem.act == NumberType::F32) {
        x_ = static_cast<const float*>(in.x);
        return;
    }
    own_.resize(count);
    x_ = own_.data();
    if (problem.act == NumberType::Bf16) {
        bestKernels().bf16ToF32(static_cast<const std::uint16_t*>(in.x), count, own_.data());
        return;
    }
    scales_.resize(problem.m);
    if (problem.act == NumberType::Fp8E4m3) {
        for (std::size_t m = 0; m < problem.m; ++m)
            if (!fp8Row(problem, in, m, own_.data() + m * k_, &scales_[m]))
                scales_[m] = std::numeric_limits<float>::quiet_NaN();
        return;
    }
    std::vector<std::int8_t> q(k_);
    for (std::size_t m = 0; m < problem.m; ++m) {
        const bool finite = int8Row(problem, in, m, q.data(), &scales_[m]);
        if (!finite) scales_[m] = std::numeric_limits<float>::quiet_NaN();
        for (std::size_t i = 0; i < k_; ++i) own_[m * k_ + i] = finite ? float(q[i]) : 0.0f;
    }
}

void storeOutput(NumberType type, void* out, std::size_t i, float value) {
    if (type == NumberType::F32)
        static_cast<float*>(out)[i] = value;
    else
        static_cast<std::uint16_t*>(out)[i] = f32ToBf16(value);
}

} // namespace qs
