// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/bench/report/figures.h"

#include "core/base/text.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace qs {
namespace {

double operations(const BenchmarkRow& row) { return 2.0 * double(row.m) * double(row.n) * double(row.k); }
bool isProduct(const BenchmarkRow& row) {
    const auto* op = findBenchOp(row.op);
    return op && op->product;
}

/// A plugin that understates its weights must not escape the roof; 1.6 bit ternary takes 0.8 of the packed 2.
double weightTraffic(const Operands& operands, const std::optional<std::int64_t>& said) {
    const double packed = double(operands.weights->bytes);
    return said && *said > 0 ? std::max(0.75 * packed, double(*said)) : packed;
}

} // namespace

void remark(BenchmarkRow& row, const std::string& text) {
    if (!text.empty()) row.reason += (row.reason.empty() ? "" : "; ") + text;
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

std::string computeRoofOf(const BenchmarkRow& row) {
    const auto at = row.variantNote.find(" products");
    if (at == std::string::npos) return {};
    const auto start = row.variantNote.find_last_of(" ,;(", at ? at - 1 : 0);
    std::string type = row.variantNote.substr(start == std::string::npos ? 0 : start + 1,
                                              at - (start == std::string::npos ? 0 : start + 1));
    if (type == "f32" || type == "bf16") return type;
    if (type == "i8" || type == "int8") return "i8";
    return {};
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
    const auto summary = summarize(std::span<const std::uint64_t>(row.samples));
    if (!summary || !(summary->median > 0)) return;
    row.medianNs = summary->median;
    row.minNs = summary->min;
    row.p95Ns = summary->p95;
    row.ciNs = summary->ci;
    if (isProduct(row)) {
        row.gflops = operations(row) / summary->median;
        row.weightGbps = double(row.weightBytes.value_or(std::int64_t(operands.weights->bytes))) / summary->median;
        row.intensity = operations(row) / leastTraffic(operands, row.weightBytes);
    } else {
        row.weightGbps = 4.0 * double(row.n) * double(row.k) / summary->median;
    }
}

void dropTimes(BenchmarkRow& row, RowState status, std::string reason) {
    row.status = status;
    row.reason = std::move(reason);
    row.samples.clear();
    row.roundMedians.clear();
    row.medianNs = row.minNs = row.p95Ns = row.gflops = row.weightGbps = row.speedup = std::nullopt;
    row.ciNs = row.speedupCi = std::nullopt;
}

void shareOfRoofs(BenchmarkRow& row, const Operands& operands, const OpenedBackend& opened, std::uint32_t device,
                  const Roofs& roofs, std::uint64_t cacheBytes) {
    row.roofShare.reset();
    row.roofKind.clear();
    row.withoutCacheRoof = false;
    if (!row.medianNs) return;
    const auto consider = [&](double perSecond, double roof, const std::string& kind) {
        const double share = perSecond / roof;
        if (!row.roofShare || share > *row.roofShare) row.roofShare = share, row.roofKind = kind;
    };
    const double seconds = *row.medianNs * 1e-9;
    const bool cold = row.cache == CacheState::Cold && !row.inCaches;
    if (const auto roof = roofs.best(opened, device, cold ? "read_bw" : Roofs::kWarm))
        consider((cold ? coldTraffic(operands, row.weightBytes, cacheBytes) : warmTraffic(operands, row.weightBytes)) /
                     seconds,
                 *roof, cold ? "read_bw" : Roofs::kWarm);
    else
        row.withoutCacheRoof = !cold;
    if (isProduct(row)) {
        // Without a word on its products a variant is held against the fastest arithmetic there is.
        const std::string said = computeRoofOf(row);
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

bool aboveTheRoof(const BenchmarkRow& row) { return row.roofShare && *row.roofShare > kMostOfRoof; }

void refuseAboveTheRoof(BenchmarkRow& row) {
    if (aboveTheRoof(row))
        dropTimes(row, RowState::Invalid,
                  fmt::format("{} times the measured {} roof: work was hoisted out of the timed loop, cached or not "
                              "waited for",
                              fixedText(*row.roofShare, 2), row.roofKind));
}

void fillSpeedup(BenchmarkRow& row, std::span<const double> baselineRounds) {
    const auto ratios = ratioSummary(baselineRounds, row.roundMedians);
    if (!ratios) {
        row.speedupReason = "no round has times of both";
        return;
    }
    row.speedup = ratios->median;
    row.speedupCi = ratios->ci;
}

} // namespace qs
