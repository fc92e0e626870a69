// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Converts between structs of the C ABI and the values of core/bench/backend/backend.h. Everything that a plugin
// returns is checked here, so that a wrong value is reported like a crash.

#include "core/bench/backend/backend.h"
#include "plugins/abi/quantscope_backend.h"

#include <memory>
#include <string_view>

namespace qs {

/// A zeroed struct of the ABI with its size set.
template<class T> T sized() {
    T value{};
    value.struct_size = sizeof(T);
    return value;
}

/// A Failure with the state Crashed: "answered with garbage in bench: 12 samples in room for 10".
tl::unexpected<Failure> garbage(const std::string& step, const std::string& what);
/// The Failure for a returned code: UNIMPLEMENTED is Declined, UNAVAILABLE is Unavailable, CANCELLED is Cancelled.
Failure failureOf(const std::string& step, std::int32_t code, const qs_error& error);
RowState stateOf(std::int32_t code);

/// The escaped text of an array of fixed size; nullopt if it is not terminated.
std::optional<std::string> textWithin(const char* chars, std::size_t room);
template<std::size_t N> std::optional<std::string> textOf(const char (&chars)[N]) { return textWithin(chars, N); }
/// True for [a-z0-9_.]+
bool isIdentifier(std::string_view text);

Outcome<ProbeResult> probeOf(const qs_probe& probe);
Outcome<DeviceInfo> deviceOf(const qs_device& device);
Outcome<Variant> variantOf(const qs_variant& variant);
KernelInfo kernelInfoOf(const qs_kernel_info& info);
/// `cap`: the size of the buffer that was given to the plugin, which may have changed the field.
Outcome<RunSamples> samplesOf(const std::string& step, const qs_run_result& result,
                              std::span<const std::uint64_t> room);

/// A qs_problem with everything that it points to; borrows the strings of `problem`.
class AbiProblem {
public:
    explicit AbiProblem(const Problem& problem);
    AbiProblem(const AbiProblem&) = delete;
    AbiProblem& operator=(const AbiProblem&) = delete;
    const qs_problem* get() const { return &problem_; }

private:
    qs_format weight_, act_;
    qs_problem problem_;
};

/// An array of pointers to qs_tensor; borrows the strings of the tensors.
class AbiTensors {
public:
    AbiTensors(std::span<const HostTensor> tensors, bool outputs);
    AbiTensors(const AbiTensors&) = delete;
    AbiTensors& operator=(const AbiTensors&) = delete;
    const qs_tensor* const* in() const { return in_.data(); }
    qs_tensor* const* out() const { return out_.data(); }
    std::uint32_t count() const { return std::uint32_t(structs_.size()); }

private:
    std::vector<qs_tensor> structs_; ///< addressed only through the pointers
    std::vector<const qs_tensor*> in_;
    std::vector<qs_tensor*> out_;
};

/// Why a tensor cannot be passed: more than 4 dims, beyond its buffer, not aligned; nullopt if it can.
std::optional<std::string> tensorFault(const HostTensor& tensor);

std::vector<qs_kv> keyValues(const Options& options);
qs_run_opts runOptions(const RunOptions& options);

} // namespace qs
