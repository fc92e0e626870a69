// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/bench/backend/abi_values.h"

#include "core/base/text.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>

namespace qs {
namespace {

std::optional<double> known(double value) {
    return std::isfinite(value) && value >= 0 ? std::optional(value) : std::nullopt;
}
std::optional<std::int64_t> known(std::int64_t value) { return value >= 0 ? std::optional(value) : std::nullopt; }

const char* textOrNull(const std::string& text) { return text.empty() ? nullptr : text.c_str(); }

qs_format formatOf(const OperandFormat& from) {
    auto format = sized<qs_format>();
    format.bits = from.bits;
    format.format = from.format.c_str();
    format.packing = from.packing.c_str();
    format.scale_dtype = from.scaleDtype.c_str();
    format.zero_dtype = from.zeroDtype.c_str();
    format.pack_axis = from.packAxis;
    format.block_axis = from.blockAxis;
    format.channel_axis = from.channelAxis;
    format.code_bias = from.codeBias;
    format.block = from.block;
    format.codebook = from.codebook.empty() ? nullptr : from.codebook.data();
    format.codebook_n = std::uint32_t(from.codebook.size());
    return format;
}

} // namespace

tl::unexpected<Failure> garbage(const std::string& step, const std::string& what) {
    return tl::unexpected(Failure{RowState::Crashed, fmt::format("answered with garbage in {}: {}", step, what)});
}

RowState stateOf(std::int32_t code) {
    switch (code) {
    case QS_OK: return RowState::Ok;
    case QS_CANCELLED: return RowState::Cancelled;
    case QS_UNIMPLEMENTED: return RowState::Declined;
    case QS_UNAVAILABLE: return RowState::Unavailable;
    default: return RowState::Failed;
    }
}

Failure failureOf(const std::string& step, std::int32_t code, const qs_error& error) {
    const std::string_view said(error.msg, strnlen(error.msg, sizeof error.msg));
    if (!said.empty()) return {stateOf(code), escapeForPeople(said, 300)};
    if (code == QS_UNIMPLEMENTED) return {RowState::Declined, "declined in " + step + " without a reason"};
    if (code == QS_CANCELLED) return {RowState::Cancelled, "cancelled in " + step};
    return {stateOf(code), fmt::format("failed in {} with code {} and no message", step, code)};
}

std::optional<std::string> textWithin(const char* chars, std::size_t room) {
    const std::size_t length = strnlen(chars, room);
    if (length == room) return std::nullopt;
    return escapeForPeople({chars, length}, 300);
}

bool isIdentifier(std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
    });
}

Outcome<ProbeResult> probeOf(const qs_probe& probe) {
    static constexpr RowState states[] = {RowState::Unavailable, RowState::Available, RowState::NeedsConfig,
                                          RowState::CompileOnly};
    if (probe.state < 0 || probe.state > 3) return garbage("probe", fmt::format("state {}", probe.state));
    const auto reason = textOf(probe.reason), hint = textOf(probe.hint);
    if (!reason || !hint) return garbage("probe", "a text without an end");
    ProbeResult result;
    result.state = states[probe.state];
    result.score = probe.score;
    result.reason = *reason;
    result.hint = *hint;
    return result;
}

Outcome<DeviceInfo> deviceOf(const qs_device& device) {
    const auto id = textOf(device.id), name = textOf(device.name), arch = textOf(device.arch);
    if (!id || !name || !arch) return garbage("devices", "a text without an end");
    if (id->empty()) return garbage("devices", "a device without an id");
    if (device.kind < QS_DEVICE_CPU || device.kind > QS_DEVICE_COMPILE_ONLY)
        return garbage("devices", fmt::format("device kind {}", device.kind));
    return DeviceInfo{*id, *name, *arch, device.kind, device.mem_total};
}

Outcome<Variant> variantOf(const qs_variant& from) {
    const auto id = textOf(from.id), title = textOf(from.title), note = textOf(from.note);
    if (!id || !title || !note) return garbage("query", "a text without an end");
    if (!isIdentifier(*id)) return garbage("query", fmt::format("a variant called '{}'", *id));
    Variant variant{*id, *title, *note};
    variant.approx = from.flags & QS_VARIANT_APPROX;
    variant.experimental = from.flags & QS_VARIANT_EXPERIMENTAL;
    variant.baseline = from.flags & QS_VARIANT_BASELINE;
    variant.repacks = from.flags & QS_VARIANT_REPACKS;
    variant.nmseLimit = std::isfinite(from.nmse_limit) ? from.nmse_limit : 0;
    if (from.levels_n > QS_MOST_LEVELS) return garbage("query", fmt::format("{} levels", from.levels_n));
    if (variant.approx) variant.levels.assign(from.levels, from.levels + from.levels_n);
    for (const float level : variant.levels)
        if (!std::isfinite(level)) return garbage("query", "a level that is not finite");
    return variant;
}

KernelInfo kernelInfoOf(const qs_kernel_info& from) {
    KernelInfo info;
    info.fusion = from.fusion >= QS_FUSION_UNKNOWN && from.fusion <= QS_FUSION_FOLDED ? from.fusion : QS_FUSION_UNKNOWN;
    info.repackMs = known(from.repack_ms);
    info.uploadMs = known(from.upload_ms);
    info.compileMs = known(from.compile_ms);
    info.flops = known(from.flops);
    info.bytesAccessed = known(from.bytes_accessed);
    info.argBytes = known(from.arg_bytes);
    info.outBytes = known(from.out_bytes);
    info.tempBytes = known(from.temp_bytes);
    info.peakBytes = known(from.peak_bytes);
    info.codeBytes = known(from.code_bytes);
    info.weightBytes = known(from.weight_bytes);
    if (from.copy_bytes > 0) info.copyBytes = from.copy_bytes;
    return info;
}

Outcome<RunSamples> samplesOf(const std::string& step, const qs_run_result& result,
                              std::span<const std::uint64_t> room) {
    if (result.n > room.size()) return garbage(step, fmt::format("{} samples in room for {}", result.n, room.size()));
    if (result.timing_valid && result.n == 0) return garbage(step, "no sample");
    if (result.timing_valid && result.clock != QS_CLOCK_HOST && result.clock != QS_CLOCK_DEVICE)
        return garbage(step, fmt::format("clock {}", result.clock));
    return RunSamples{{room.begin(), room.begin() + result.n}, result.clock, result.timing_valid != 0};
}

AbiProblem::AbiProblem(const Problem& from)
    : weight_(from.weight ? formatOf(*from.weight) : qs_format{}), act_(from.act ? formatOf(*from.act) : qs_format{}),
      problem_(sized<qs_problem>()) {
    problem_.flags = (from.wIsKn ? QS_PROBLEM_W_IS_KN : 0) | (from.bias ? QS_PROBLEM_BIAS : 0) |
                     (from.dynamicAct ? QS_PROBLEM_DYNAMIC_ACT : 0);
    problem_.op = from.op.c_str();
    problem_.m = from.m;
    problem_.n = from.n;
    problem_.k = from.k;
    problem_.weight = from.weight ? &weight_ : nullptr;
    problem_.act = from.act ? &act_ : nullptr;
    problem_.compute = textOrNull(from.compute);
    problem_.accum = textOrNull(from.accum);
    problem_.out = from.out.c_str();
}

AbiTensors::AbiTensors(std::span<const HostTensor> tensors, bool outputs) {
    structs_.reserve(tensors.size());
    for (const auto& tensor : tensors) {
        auto& to = structs_.emplace_back(sized<qs_tensor>());
        to.rank = std::uint32_t(tensor.dims.size());
        to.role = tensor.role.c_str();
        to.dtype = tensor.dtype.c_str();
        std::copy(tensor.dims.begin(), tensor.dims.end(), to.dims);
        to.bytes = tensor.bytes;
        if (outputs)
            to.out = tensor.data();
        else
            to.data = tensor.data();
        in_.push_back(&to);
        out_.push_back(&to);
    }
}

std::optional<std::string> tensorFault(const HostTensor& tensor) {
    const auto named = [&](const char* what) { return fmt::format("the tensor '{}' {}", tensor.role, what); };
    if (tensor.dims.size() > 4) return named("has more than 4 dimensions");
    if (std::any_of(tensor.dims.begin(), tensor.dims.end(), [](auto dim) { return dim < 0; }))
        return named("has a negative dimension");
    if (!tensor.buffer) return named("has no memory");
    if (tensor.offset > tensor.buffer->size() || tensor.bytes > tensor.buffer->size() - tensor.offset)
        return named("lies beyond the end of its buffer");
    if (tensor.offset % 64) return named("is not aligned to 64 bytes");
    return std::nullopt;
}

std::vector<qs_kv> keyValues(const Options& options) {
    std::vector<qs_kv> out;
    for (const auto& [key, value] : options) out.push_back({key.c_str(), value.c_str()});
    return out;
}

qs_run_opts runOptions(const RunOptions& from) {
    auto options = sized<qs_run_opts>();
    options.warmup = from.warmup;
    options.iters = from.iterations;
    options.chain = std::max(1u, from.chain);
    options.buffer_sets = std::max(1u, from.bufferSets);
    options.flags = from.cold ? QS_RUN_COLD : 0;
    options.max_seconds = from.maxSeconds;
    options.memory_bytes = from.memoryBytes;
    return options;
}

} // namespace qs
