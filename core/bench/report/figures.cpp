// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/bench/report/figures.h"

#include "core/base/text.h"

#include <algorithm>
#include <fmt/format.h>

namespace qs {
namespace {

double operations(const BenchmarkRow& row) {
    return 2.0 * double(row.question.m) * double(row.question.n) * double(row.question.k);
}
bool isProduct(const BenchmarkRow& row) {
    const auto* op = findBenchOp(row.question.op);
    return op && op->product;
}

/// A plugin cannot avoid the roof by reporting too few bytes; 1.6-bit ternary takes 0.8 of the packed 2 bits.
double weightTraffic(const Operands& operands, const std::optional<std::int64_t>& said) {
    const double packed = double(operands.weights->bytes);
    return said && *said > 0 ? std::max(0.75 * packed, double(*said)) : packed;
}

constexpr double kWidest = 2;           ///< ends of the interval of a speed-up, at most this factor apart
constexpr double kContradiction = 1.25; ///< how far the ratio of the medians may lie outside of it

/// Why a speed-up by rounds says little; "": it does not.
std::string whyUnsteady(const SampleSummary& ratios, double ofMedians) {
    if (!ratios.ci)
        return fmt::format("unsteady: {} round{} of both {} too few for a speed-up", ratios.n, ratios.n == 1 ? "" : "s",
                           ratios.n == 1 ? "is" : "are");
    const auto& [low, high] = *ratios.ci;
    if (high > kWidest * low)
        return fmt::format("unsteady: the speed-up of the rounds lies between {} and {}", significantText(low, 3),
                           significantText(high, 3));
    if (ofMedians > kContradiction * high || ofMedians * kContradiction < low)
        return fmt::format("unsteady: by rounds the speed-up is {}, by the medians of both rows {}",
                           significantText(ratios.median, 3), significantText(ofMedians, 3));
    return {};
}

} // namespace

void remark(BenchmarkRow& row, const std::string& text) {
    if (!text.empty()) row.verdict.reason += (row.verdict.reason.empty() ? "" : "; ") + text;
}

double leastTraffic(const Operands& operands, const std::optional<std::int64_t>& weightBytes) {
    double bytes = 0;
    for (const auto& tensor : operands.act) bytes += double(tensor.bytes);
    for (const auto& tensor : operands.outs) bytes += double(tensor.bytes);
    for (const auto& tensor : operands.inputs)
        if (tensor.role != "weight" && tensor.role != "scale") bytes += double(tensor.bytes);
    if (isQuantize(operands.problem)) return bytes; // the source is the input, the codes are the result
    return bytes + weightTraffic(operands, operands.problem.op == "matmul" ? weightBytes : std::nullopt);
}

double coldTraffic(const Operands& operands, const std::optional<std::int64_t>& weightBytes, std::uint64_t cacheBytes) {
    const bool quantize = isQuantize(operands.problem);
    double bytes = quantize ? 0 : weightTraffic(operands, operands.problem.op == "matmul" ? weightBytes : std::nullopt);
    const auto add = [&](const HostTensor& tensor, bool rotated) {
        if (rotated || tensor.bytes > cacheBytes) bytes += double(tensor.bytes);
    };
    for (const auto& tensor : operands.act) add(tensor, false);
    for (const auto& tensor : operands.outs) add(tensor, false);
    for (const auto& tensor : operands.inputs)
        if (tensor.role == "source") add(tensor, true);
    return bytes;
}

double warmTraffic(const Operands& operands, const std::optional<std::int64_t>& weightBytes) {
    if (isQuantize(operands.problem)) {
        double bytes = 0;
        for (const auto& tensor : operands.inputs)
            if (tensor.role == "source") bytes += double(tensor.bytes);
        return bytes;
    }
    return weightTraffic(operands, operands.problem.op == "matmul" ? weightBytes : std::nullopt);
}

void fillFigures(BenchmarkRow& row, const Operands& operands) {
    const auto summary = summarize(std::span<const std::uint64_t>(row.timing.samples));
    if (!summary || !(summary->median > 0)) return;
    row.timing.medianNs = summary->median;
    row.timing.minNs = summary->min;
    row.timing.p95Ns = summary->p95;
    row.timing.ciNs = summary->ci;
    if (isProduct(row)) {
        row.timing.gflops = operations(row) / summary->median;
        row.timing.weightGbps =
            double(row.answer.kernel.weightBytes.value_or(std::int64_t(operands.weights->bytes))) / summary->median;
        row.timing.intensity = operations(row) / leastTraffic(operands, row.answer.kernel.weightBytes);
    } else {
        row.timing.weightGbps = 4.0 * double(row.question.n) * double(row.question.k) / summary->median;
    }
}

void dropTimes(BenchmarkRow& row, RowState status, std::string reason) {
    row.verdict.status = status;
    row.verdict.reason = std::move(reason);
    row.timing.samples.clear();
    row.timing.roundMedians.clear();
    row.timing.medianNs = row.timing.minNs = row.timing.p95Ns = row.timing.gflops = row.timing.weightGbps =
        row.verdict.speedup = std::nullopt;
    row.timing.ciNs = row.verdict.speedupCi = std::nullopt;
}

void shareOfRoofs(BenchmarkRow& row, const Operands& operands, const OpenedBackend& opened, std::uint32_t device,
                  const Roofs& roofs, std::uint64_t cacheBytes) {
    row.verdict.roofShare.reset();
    row.verdict.roofKind.clear();
    row.verdict.withoutCacheRoof = false;
    if (!row.timing.medianNs) return;
    const auto consider = [&](double perSecond, double roof, const std::string& kind) {
        const double share = perSecond / roof;
        if (!row.verdict.roofShare || share > *row.verdict.roofShare)
            row.verdict.roofShare = share, row.verdict.roofKind = kind;
    };
    const double seconds = *row.timing.medianNs * 1e-9;
    const bool cold = row.question.cache == CacheState::Cold && !row.timing.inCaches;
    if (const auto roof = roofs.best(opened, device, cold ? "read_bw" : Roofs::kWarm))
        consider((cold ? coldTraffic(operands, row.answer.kernel.weightBytes, cacheBytes)
                       : warmTraffic(operands, row.answer.kernel.weightBytes)) /
                     seconds,
                 *roof, cold ? "read_bw" : Roofs::kWarm);
    else
        row.verdict.withoutCacheRoof = !cold;
    if (isProduct(row)) {
        // A variant that does not name its type of products is compared with the fastest arithmetic.
        const std::string& said = row.answer.variant.compute;
        std::string kind;
        double roof = 0;
        for (const char* one : {"f32", "bf16", "i8"}) {
            const double found = roofs.best(opened, device, one).value_or(0);
            const bool itsOwn = said == one && found > 0;
            if (found > roof || itsOwn) roof = found, kind = one;
            if (itsOwn) break;
        }
        if (roof > 0) consider(operations(row) / seconds, roof, kind);
    }
}

bool aboveTheRoof(const BenchmarkRow& row) { return row.verdict.roofShare && *row.verdict.roofShare > kMostOfRoof; }

void refuseAboveTheRoof(BenchmarkRow& row) {
    if (aboveTheRoof(row))
        dropTimes(row, RowState::Invalid,
                  fmt::format(
                      "{} times the measured {} roof: some of the work was moved out of the timed loop, cached or not "
                      "waited for",
                      fixedText(*row.verdict.roofShare, 2), row.verdict.roofKind));
}

void fillSpeedup(BenchmarkRow& row, const BenchmarkRow& baseline) {
    const auto ratios = ratioSummary(baseline.timing.roundMedians, row.timing.roundMedians);
    if (!ratios) {
        row.verdict.speedupReason = "no round has times of both";
        return;
    }
    row.verdict.speedup = ratios->median;
    row.verdict.speedupCi = ratios->ci;
    if (const std::string why = whyUnsteady(*ratios, *baseline.timing.medianNs / *row.timing.medianNs); !why.empty()) {
        row.timing.busy = true;
        remark(row, why);
    }
}

} // namespace qs
