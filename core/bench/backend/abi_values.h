// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The structs of the C ABI and the values of core/bench/backend/backend.h, into each other. What comes out of a plugin is
// checked here: a plugin that lies is as bad as one that crashes.

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

/// Crashed: "answered with garbage in bench: 12 samples in room for 10".
tl::unexpected<Failure> garbage(const std::string& step, const std::string& what);
/// What a returned code means; UNIMPLEMENTED is Declined, UNAVAILABLE is Unavailable, CANCELLED is Cancelled.
Failure failureOf(const std::string& step, std::int32_t code, const qs_error& error);
RowState stateOf(std::int32_t code);

/// The text of a fixed array, escaped; nullopt when it has no end.
std::optional<std::string> textWithin(const char* chars, std::size_t room);
template<std::size_t N> std::optional<std::string> textOf(const char (&chars)[N]) { return textWithin(chars, N); }
/// [a-z0-9_.]+
bool isIdentifier(std::string_view text);

Outcome<ProbeResult> probeOf(const qs_probe& probe);
Outcome<DeviceInfo> deviceOf(const qs_device& device);
Outcome<Variant> variantOf(const qs_variant& variant);
KernelInfo kernelInfoOf(const qs_kernel_info& info);
/// `cap`: the room that was given, whatever the plugin has made of the field.
Outcome<RunSamples> samplesOf(const std::string& step, const qs_run_result& result,
                              std::span<const std::uint64_t> room);

/// A qs_problem with all that it points to; borrows the strings of `problem`.
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
    std::vector<qs_tensor> structs_; ///< each is reached through its pointer alone
    std::vector<const qs_tensor*> in_;
    std::vector<qs_tensor*> out_;
};

/// The reason why a tensor cannot cross: more than 4 dims, beyond its buffer, not aligned.
std::optional<std::string> tensorFault(const HostTensor& tensor);

std::vector<qs_kv> keyValues(const Options& options);
qs_run_opts runOptions(const RunOptions& options);

} // namespace qs
