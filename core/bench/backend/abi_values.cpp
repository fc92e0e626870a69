// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/bench/backend/abi_values.h"

#include "core/base/text.h"
#include "core/bench/backend/value_fields.h"

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

/// Reads the fields of a struct that a plugin has filled in.
template<class S> class AbiIn {
public:
    explicit AbiIn(const S& from) : from_(from) {}
    const std::string& fault() const { return fault_; }

    template<class T> void operator()(const char*, T&) {} // the struct does not have this field
    template<std::size_t N> void operator()(const char*, std::string& value, char (S::*member)[N]) {
        if (auto text = textWithin(from_.*member, N))
            value = std::move(*text);
        else
            fault_ = "a text without an end";
    }
    template<class T, class M> void operator()(const char*, std::optional<T>& value, M S::*member) {
        value = known(T(from_.*member));
    }
    template<class T, class M>
    requires std::is_arithmetic_v<T>
    void operator()(const char*, T& value, M S::*member) { value = T(from_.*member); }
    template<std::size_t N>
    void operator()(const char*, std::vector<float>& values, float (S::*member)[N], std::uint32_t S::*count) {
        if (from_.*count > N)
            fault_ = fmt::format("{} levels", from_.*count);
        else
            values.assign(from_.*member, from_.*member + from_.*count);
    }
    void flag(const char*, bool& value, std::uint32_t S::*member, std::uint32_t bit) { value = from_.*member & bit; }
    template<class T> void named(const char*, T&, int, const char* (*)(T)) {} // the ABI has a number for this value

private:
    const S& from_;
    std::string fault_;
};

/// Writes the fields of a struct for a plugin; borrows texts and lists. An empty text becomes NULL.
template<class S> class AbiOut {
public:
    explicit AbiOut(S& to) : to_(to) {}
    template<class T> void operator()(const char*, T&) {}
    void operator()(const char*, std::string& value, const char* S::*member) {
        to_.*member = value.empty() ? nullptr : value.c_str();
    }
    template<class T, class M>
    requires std::is_arithmetic_v<T>
    void operator()(const char*, T& value, M S::*member) { to_.*member = M(value); }
    void operator()(const char*, std::vector<float>& values, const float* S::*member, std::uint32_t S::*count) {
        to_.*member = values.empty() ? nullptr : values.data();
        to_.*count = std::uint32_t(values.size());
    }
    void flag(const char*, bool& value, std::uint32_t S::*member, std::uint32_t bit) {
        if (value) to_.*member |= bit;
    }

private:
    S& to_;
};

/// The value of a plugin's struct; a field out of range is garbage of that step.
template<class T, class S> Outcome<T> valueOf(const char* step, const S& from) {
    AbiIn<S> in(from);
    T value;
    fields(in, value);
    if (!in.fault().empty()) return garbage(step, in.fault());
    return value;
}
template<class S, class T> S structOf(const T& value) {
    auto to = sized<S>();
    AbiOut<S> out(to);
    fields(out, const_cast<T&>(value)); // one list of fields serves both directions
    return to;
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
    const std::string_view hint(error.hint, strnlen(error.hint, sizeof error.hint));
    const auto because = [&](std::string reason) {
        return Failure{stateOf(code), std::move(reason), escapeForPeople(hint, 256)};
    };
    if (!said.empty()) return because(escapeForPeople(said, 300));
    if (code == QS_UNIMPLEMENTED) return because("declined in " + step + " without a reason");
    if (code == QS_CANCELLED) return because("cancelled in " + step);
    return because(fmt::format("failed in {} with code {} and no message", step, code));
}

std::optional<std::string> textWithin(const char* chars, std::size_t room) {
    const std::size_t length = strnlen(chars, room);
    if (length == room) return std::nullopt;
    return escapeForPeople({chars, length}, 300);
}

bool isIdentifier(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
    });
}

Outcome<ProbeResult> probeOf(const qs_probe& probe) {
    static constexpr RowState states[] = {RowState::Unavailable, RowState::Available, RowState::NeedsConfig,
                                          RowState::CompileOnly};
    if (probe.state < 0 || probe.state > 3) return garbage("probe", fmt::format("state {}", probe.state));
    auto result = valueOf<ProbeResult>("probe", probe);
    if (!result) return result;
    result->state = states[probe.state];
    if (const auto fault = faultOf(*result); !fault.empty()) return garbage("probe", fault);
    return result;
}

Outcome<DeviceInfo> deviceOf(const qs_device& from) {
    auto device = valueOf<DeviceInfo>("devices", from);
    if (!device) return device;
    if (const auto fault = faultOf(*device); !fault.empty()) return garbage("devices", fault);
    return device;
}

Outcome<Variant> variantOf(const qs_variant& from) {
    auto variant = valueOf<Variant>("query", from);
    if (!variant) return variant;
    if (!isIdentifier(variant->id)) return garbage("query", fmt::format("a variant called '{}'", variant->id));
    if (!std::isfinite(variant->nmseLimit)) variant->nmseLimit = 0;
    if (!variant->approx) variant->levels.clear();
    if (const auto fault = faultOf(*variant); !fault.empty()) return garbage("query", fault);
    return variant;
}

KernelInfo kernelInfoOf(const qs_kernel_info& from) {
    AbiIn<qs_kernel_info> in(from);
    KernelInfo info;
    fields(in, info);
    if (info.fusion < QS_FUSION_UNKNOWN || info.fusion > QS_FUSION_FOLDED) info.fusion = QS_FUSION_UNKNOWN;
    if (info.copyBytes == 0) info.copyBytes.reset();
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
    : weight_(from.weight ? structOf<qs_format>(*from.weight) : qs_format{}),
      act_(from.act ? structOf<qs_format>(*from.act) : qs_format{}), problem_(structOf<qs_problem>(from)) {
    problem_.weight = from.weight ? &weight_ : nullptr;
    problem_.act = from.act ? &act_ : nullptr;
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
    if (std::ranges::any_of(tensor.dims, [](auto dim) { return dim < 0; })) return named("has a negative dimension");
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
    auto options = structOf<qs_run_opts>(from);
    options.chain = std::max(1u, from.chain);
    options.buffer_sets = std::max(1u, from.bufferSets);
    return options;
}

} // namespace qs
