// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/variant_race.h"

#include "kernels/matmul_operands.h"

#include <algorithm>
#include <chrono>

namespace qs {
namespace {

constexpr std::size_t kSmallN = 192, kSmallK = 512;

double medianOf(std::vector<double> values) {
    const auto middle = values.begin() + std::ptrdiff_t(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

/// Fills an array with values of a type. Floats get 0.5 to 1: no NaN and no denormal.
void fillLike(NumberType type, std::vector<std::uint8_t>& bytes) {
    const std::size_t size = std::max<std::size_t>(bytesOf(type), 1);
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = std::uint8_t(i * 37 % 101);
    const std::uint8_t high = type == NumberType::F16 ? 0x38 : type == NumberType::E8m0 ? 126 : 0x3f;
    const bool isFloat = type == NumberType::F32 || type == NumberType::F16 || type == NumberType::Bf16;
    if (!isFloat && type != NumberType::E8m0) return;
    for (std::size_t i = size - 1; i < bytes.size(); i += size) bytes[i] = high;
}

/// Generated operands of a small problem, and memory for its result.
struct Trial {
    explicit Trial(const MatmulProblem& p) {
        const WeightFormat& format = p.weight;
        const bool source = p.op == MatmulOp::Quantize;
        const std::size_t rows = p.rows(), cols = p.cols(), largest = std::max({p.m * p.n, p.n * p.k, p.m * p.k});
        const bool packed = format.packAxis == 1;
        operand.rowBytes = source   ? p.k * sizeof(float)
                           : packed ? (cols * std::size_t(format.bits) + 7) / 8
                                    : cols * std::max<std::size_t>(std::size_t(format.bits) / 8, 1);
        if (format.blockAxis == 1) operand.scaleCols = (cols + format.block - 1) / format.block;
        codes.resize(rows * std::max(operand.rowBytes, p.k * sizeof(float)));
        scales.resize((storedScales(p, operand.scaleCols) + 1) * sizeof(float));
        x.resize(p.m * p.k * sizeof(float));
        fillLike(source ? NumberType::F32 : format.element, codes);
        fillLike(format.scale, scales);
        fillLike(p.dynamicAct || p.op == MatmulOp::QuantizeAct ? NumberType::F32 : p.act, x);
        operand.codes = codes.data(), operand.scales = scales.data();
        made = Aligned<float>(largest), madeScales = Aligned<float>(largest);
    }

    std::vector<std::uint8_t> codes, scales, x;
    Aligned<float> made{}, madeScales{};
    double sums[4] = {};
    WeightOperand operand{};
};

} // namespace

Race race(std::size_t candidates, const std::function<double(std::size_t)>& once, const RaceRules& rules) {
    Race result;
    if (candidates < 2) return result;
    std::vector<std::vector<double>> times(candidates);
    double spent = 0;
    for (std::size_t round = 0; round < rules.most && (round < rules.fewest || spent < rules.seconds); ++round)
        for (std::size_t i = 0; i < candidates; ++i) {
            times[i].push_back(once(i));
            spent += times[i].back();
        }
    for (const auto& each : times) {
        result.seconds.push_back(medianOf(each));
        const double best = *std::min_element(each.begin(), each.end());
        if (!(result.seconds.back() <= best * rules.steadyRatio)) result.steady = false;
    }
    const auto least = std::min_element(result.seconds.begin(), result.seconds.end());
    if (*least < result.seconds[0] * (1 - rules.margin)) result.winner = std::size_t(least - result.seconds.begin());
    return result;
}

MatmulProblem smallLike(const MatmulProblem& problem) {
    MatmulProblem small = problem;
    small.m = problem.m <= 2 ? problem.m : problem.m <= 4 ? 4 : problem.m <= 32 ? 16 : 48;
    small.n = std::min(problem.n, kSmallN), small.k = std::min(problem.k, kSmallK);
    if (problem.weight.block) small.weight.block = std::min(problem.weight.block, kSmallK);
    small.bias = false;
    return small;
}

std::string likeness(const MatmulProblem& problem) {
    const MatmulProblem p = smallLike(problem);
    const WeightFormat& w = p.weight;
    std::string text = w.id;
    const auto add = [&](const char* name, long long value) {
        text += std::string(" ") + name + "=" + std::to_string(value);
    };
    add("bits", w.bits), add("element", int(w.element)), add("packing", int(w.packing)), add("along", w.packAxis);
    add("scale", int(w.scale)), add("blocks", w.blockAxis), add("block", (long long)(w.block));
    add("channels", w.channelAxis), add("bias", w.codeBias), add("levels", (long long)(w.levels.size()));
    add("op", int(p.op)), add("m", (long long)(p.m)), add("n", (long long)(p.n)), add("k", (long long)(p.k));
    add("kn", p.weightIsKn), add("act", int(p.act)), add("dynamic", p.dynamicAct), add("measure", p.measure);
    add("out", int(p.out)), add("compute", int(p.compute)), add("accum", int(p.accum));
    return text;
}

Race raceVariants(std::span<const MatmulVariant* const> candidates, const MatmulProblem& problem) {
    if (candidates.size() < 2) return {};
    const MatmulProblem small = smallLike(problem);
    Trial trial(small);
    ThreadTeam team(1);
    std::vector<std::unique_ptr<PreparedMatmul>> prepared;
    const auto once = [&](std::size_t i) {
        const auto start = std::chrono::steady_clock::now();
        const MatmulOutput out{trial.made.data(), trial.madeScales.data(), small.measure ? trial.sums : nullptr};
        prepared[i]->run({trial.x.data(), nullptr}, out, team, {});
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    };
    for (const MatmulVariant* variant : candidates) {
        prepared.push_back(variant->prepare(small, trial.operand, team));
        once(prepared.size() - 1); // the first run touches the memory pages
    }
    return race(candidates.size(), once);
}

} // namespace qs
