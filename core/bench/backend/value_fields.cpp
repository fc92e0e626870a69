// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/bench/backend/value_fields.h"

#include "core/base/lists.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace qs {
namespace {

constexpr std::size_t kMostOffered = 256, kMostCodebook = 65536, kMostIterations = 1u << 20;

bool isWithin(std::int64_t value, std::int64_t least, std::int64_t most) { return value >= least && value <= most; }
bool isSeconds(double value) { return std::isfinite(value) && value >= 0; }

} // namespace

std::string faultOf(const ProbeResult& probe) {
    if (!isOneOf(probe.state,
                 {RowState::Unavailable, RowState::Available, RowState::NeedsConfig, RowState::CompileOnly}))
        return fmt::format("'state' is {}, which is not a state of a probe", rowStateText(probe.state));
    return {};
}

std::string faultOf(const DeviceInfo& device) {
    if (device.id.empty()) return "a device without an id";
    return isWithin(device.kind, QS_DEVICE_CPU, QS_DEVICE_COMPILE_ONLY) ? ""
                                                                        : fmt::format("device kind {}", device.kind);
}

std::string faultOf(const OperandFormat& format) {
    if (format.bits > 64) return fmt::format("codes of {} bits", format.bits);
    for (const int axis : {format.packAxis, format.blockAxis, format.channelAxis})
        if (!isWithin(axis, -1, 3)) return fmt::format("axis {}", axis);
    if (!isWithin(format.codeBias, -65536, 65536)) return fmt::format("code bias {}", format.codeBias);
    if (std::ranges::any_of(format.codebook, [](float level) { return std::isnan(level); }))
        return "a codebook with a level that is not a number";
    return format.codebook.size() <= kMostCodebook ? "" : "a codebook that is too long";
}

std::string faultOf(const Problem& problem) {
    if (problem.m < 0 || problem.n < 0 || problem.k < 0) return "a negative shape";
    for (const auto* format : {&problem.weight, &problem.act})
        if (*format)
            if (auto fault = faultOf(**format); !fault.empty()) return fault;
    return {};
}

std::string faultOf(const Variant& variant) {
    if (variant.levels.size() > QS_MOST_LEVELS) return fmt::format("{} levels", variant.levels.size());
    if (!std::isfinite(variant.nmseLimit)) return "'nmse_limit' is not a number";
    const bool finite = std::ranges::all_of(variant.levels, [](float level) { return std::isfinite(level); });
    return finite ? "" : "a level that is not finite";
}

std::string faultOf(const Support& support) {
    if (!isWithin(support.level, QS_SUPPORT_NO, QS_SUPPORT_NATIVE))
        return fmt::format("support level {}", support.level);
    if (support.variants.size() > kMostOffered) return fmt::format("{} variants", support.variants.size());
    for (const auto& variant : support.variants)
        if (auto fault = faultOf(variant); !fault.empty()) return fault;
    return {};
}

std::string faultOf(const PreparedKernel& kernel) {
    const auto& i = kernel.info;
    if (!isWithin(i.fusion, QS_FUSION_UNKNOWN, QS_FUSION_FOLDED)) return fmt::format("fusion {}", i.fusion);
    for (const auto* figure : {&i.repackMs, &i.uploadMs, &i.compileMs, &i.flops, &i.bytesAccessed, &i.prepareNs})
        if (*figure && !isSeconds(**figure)) return "a negative figure of a kernel";
    for (const auto* bytes :
         {&i.argBytes, &i.outBytes, &i.tempBytes, &i.peakBytes, &i.codeBytes, &i.weightBytes, &i.copyBytes})
        if (*bytes && **bytes < 0) return "a negative number of bytes of a kernel";
    return {};
}

std::string faultOf(const RunOptions& options) {
    if (options.iterations > kMostIterations) return fmt::format("{} iterations", options.iterations);
    return isSeconds(options.maxSeconds) ? "" : "'max_seconds' is not a time";
}

std::string faultOf(const RunSamples&) { return {}; } // RemoteBackend compares them with its own clock

std::string faultOf(const Failure& failure) {
    return isOneOf(failure.state, {RowState::Failed, RowState::Declined, RowState::Unavailable, RowState::Cancelled,
                                   RowState::Crashed, RowState::NotBuilt})
               ? ""
               : "'state' is none that a worker reports";
}

} // namespace qs
