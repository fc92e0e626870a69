// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/bench/backend/local_backend.h"

#include "core/base/json_tree.h"
#include "core/base/text.h"
#include "core/bench/backend/abi_values.h"

#include <chrono>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <set>

namespace qs {
namespace {

constexpr std::uint32_t kMostDevices = 64, kMostVariants = 256, kMostSamples = 1u << 20;
constexpr std::uint64_t kLongestText = 2u << 20; ///< bytes; still fits a frame after escaping

tl::unexpected<Failure> unsupported(const char* step) {
    return tl::unexpected(Failure{RowState::Declined, fmt::format("the backend has no {}()", step)});
}
tl::unexpected<Failure> callFailed(const char* step, std::int32_t code, const qs_error& error) {
    return tl::unexpected(failureOf(step, code, error));
}

Outcome<void> checkTensors(std::span<const HostTensor> tensors) {
    for (const auto& tensor : tensors)
        if (const auto fault = tensorFault(tensor)) return tl::unexpected(Failure{RowState::Failed, *fault});
    return {};
}

/// Asks for the size first, then for the text.
template<class Ask> Outcome<std::string> longText(const char* step, Ask&& ask) {
    auto error = sized<qs_error>();
    std::uint64_t need = 0;
    if (const auto code = ask(nullptr, 0, &need, &error); code != QS_OK) return callFailed(step, code, error);
    if (need > std::uint64_t(1) << 40) return garbage(step, fmt::format("a text of {} bytes", need));
    if (need > kLongestText)
        return tl::unexpected(
            Failure{RowState::Failed, fmt::format("{}: a text of {} is too long to show; the limit is {}", step,
                                                  bytesText(need), bytesText(kLongestText))});
    std::string text(need, '\0');
    std::uint64_t again = 0;
    if (const auto code = ask(text.data(), need, &again, &error); code != QS_OK) return callFailed(step, code, error);
    const auto end = text.find('\0');
    if (again > need || (need > 0 && end == std::string::npos)) return garbage(step, "a text without an end");
    text.resize(need ? end : 0);
    return text;
}

} // namespace

/// Marks that a function of the plugin runs, so that cancel() can reach it.
class LocalBackend::Call {
public:
    explicit Call(LocalBackend& backend) : backend_(backend) {
        const std::lock_guard lock(backend_.cancelling_);
        backend_.running_ = true;
    }
    ~Call() {
        const std::lock_guard lock(backend_.cancelling_);
        backend_.running_ = false;
        backend_.host_->stop = false; // not before the call: the worker may have been told to stop already
    }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

    qs_error error = sized<qs_error>();

private:
    LocalBackend& backend_;
};

LocalBackend::LocalBackend(qs_backend table, std::shared_ptr<PluginHost> host)
    : table_(table), host_(std::move(host)), abiHost_(abiHost(*host_)) {}

Outcome<std::unique_ptr<LocalBackend>> LocalBackend::open(const qs_backend* table, const Options& options,
                                                          std::shared_ptr<PluginHost> host) {
    const auto read = readTable(table);
    if (!read) return tl::unexpected(read.error());
    if (!read->open) return unsupported("open");
    auto backend = std::unique_ptr<LocalBackend>(new LocalBackend(*read, std::move(host)));
    auto error = sized<qs_error>();
    const auto values = keyValues(options);
    const auto code =
        read->open(&backend->abiHost_, values.data(), std::uint32_t(values.size()), &backend->context_, &error);
    if (code != QS_OK) {
        backend->context_ = nullptr;
        return callFailed("open", code, error);
    }
    if (!backend->context_) return garbage("open", "success without a context");
    return backend;
}

LocalBackend::~LocalBackend() {
    while (!kernels_.empty()) destroy(kernels_.begin()->first);
    if (context_ && table_.close) table_.close(context_);
}

Outcome<std::string> LocalBackend::describe() {
    if (!table_.describe) return unsupported("describe");
    Call call(*this);
    auto text = longText("describe", [&](char* buffer, std::uint64_t room, std::uint64_t* need, qs_error* error) {
        return table_.describe(context_, buffer, room, need, error);
    });
    if (!text) return text;
    if (const auto tree = readJsonTree(*text); !tree || !tree->is_object())
        return garbage("describe", "a text that is not a JSON object");
    return text;
}

Outcome<std::vector<DeviceInfo>> LocalBackend::devices() {
    if (!table_.device_count || !table_.device_get) return unsupported("device_count");
    Call call(*this);
    std::uint32_t count = 0;
    if (const auto code = table_.device_count(context_, &count, &call.error); code != QS_OK)
        return callFailed("devices", code, call.error);
    if (count > kMostDevices) return garbage("devices", fmt::format("{} devices", count));
    std::vector<DeviceInfo> devices;
    for (std::uint32_t i = 0; i < count; ++i) {
        auto out = sized<qs_device>();
        if (const auto code = table_.device_get(context_, i, &out, &call.error); code != QS_OK)
            return callFailed("devices", code, call.error);
        auto device = deviceOf(out);
        if (!device) return tl::unexpected(device.error());
        devices.push_back(std::move(*device));
    }
    return devices;
}

Outcome<RoofSamples> LocalBackend::roof(std::uint32_t device, const std::string& kind, const RunOptions& options) {
    if (!table_.roof) return unsupported("roof");
    const auto opts = runOptions(options);
    std::vector<std::uint64_t> room(std::clamp(options.iterations, 1u, kMostSamples));
    auto result = sized<qs_run_result>();
    result.cap = std::uint32_t(room.size());
    result.samples_ns = room.data();
    double work = 0;
    Call call(*this);
    const auto code = table_.roof(context_, device, kind.c_str(), &opts, &result, &work, &call.error);
    if (code != QS_OK) return callFailed("roof", code, call.error);
    auto samples = samplesOf("roof", result, room);
    if (!samples) return tl::unexpected(samples.error());
    if (!(work > 0 && work < 1e18)) return garbage("roof", fmt::format("{} as the work of a run", work));
    RoofSamples roof;
    static_cast<RunSamples&>(roof) = std::move(*samples);
    roof.work = work;
    return roof;
}

Outcome<Support> LocalBackend::query(std::uint32_t device, const Problem& problem) {
    if (!table_.query || !table_.variant_get) return unsupported("query");
    const AbiProblem abi(problem);
    auto out = sized<qs_support>();
    Call call(*this);
    const auto code = table_.query(context_, device, abi.get(), &out, &call.error);
    if (code == QS_UNIMPLEMENTED) return Support{QS_SUPPORT_NO, failureOf("query", code, call.error).reason, {}};
    if (code != QS_OK) return callFailed("query", code, call.error);
    const auto reason = textOf(out.reason);
    if (!reason) return garbage("query", "a text without an end");
    if (out.level < QS_SUPPORT_NO || out.level > QS_SUPPORT_NATIVE)
        return garbage("query", fmt::format("support level {}", out.level));
    Support support{out.level, *reason, {}};
    if (out.level == QS_SUPPORT_NO) return support;
    if (out.n_variants == 0 || out.n_variants > kMostVariants)
        return garbage("query", fmt::format("{} variants", out.n_variants));
    std::set<std::string> ids;
    for (std::uint32_t i = 0; i < out.n_variants; ++i) {
        auto from = sized<qs_variant>();
        if (const auto got = table_.variant_get(context_, device, abi.get(), i, &from, &call.error); got != QS_OK)
            return callFailed("query", got, call.error);
        auto variant = variantOf(from);
        if (!variant) return tl::unexpected(variant.error());
        if (!ids.insert(variant->id).second) return garbage("query", "two variants called '" + variant->id + "'");
        support.variants.push_back(std::move(*variant));
    }
    return support;
}

Outcome<PreparedKernel> LocalBackend::prepare(std::uint32_t device, const Problem& problem, const std::string& variant,
                                              std::span<const HostTensor> inputs) {
    if (!table_.prepare) return unsupported("prepare");
    if (auto fine = checkTensors(inputs); !fine) return tl::unexpected(fine.error());
    const AbiProblem abi(problem);
    const AbiTensors tensors(inputs, false);
    auto info = sized<qs_kernel_info>();
    info.repack_ms = info.upload_ms = info.compile_ms = info.flops = info.bytes_accessed = -1;
    info.arg_bytes = info.out_bytes = info.temp_bytes = info.peak_bytes = info.code_bytes = info.weight_bytes =
        info.copy_bytes = -1;
    qs_kernel* kernel = nullptr;
    Call call(*this);
    const auto start = std::chrono::steady_clock::now();
    const auto code = table_.prepare(context_, device, abi.get(), variant.c_str(), tensors.in(), tensors.count(),
                                     &kernel, &info, &call.error);
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
    if (code != QS_OK) return callFailed("prepare", code, call.error);
    if (!kernel) return garbage("prepare", "success without a kernel");
    PreparedKernel prepared{++lastHandle_, kernelInfoOf(info)};
    prepared.info.prepareNs = took.count();
    kernels_.emplace(prepared.handle, kernel);
    return prepared;
}

Outcome<qs_kernel*> LocalBackend::kernelOf(const char* step, std::uint64_t handle) const {
    const auto at = kernels_.find(handle);
    if (at != kernels_.end()) return at->second;
    return tl::unexpected(Failure{RowState::Failed, fmt::format("{}: there is no kernel {}", step, handle)});
}

Outcome<void> LocalBackend::execute(std::uint64_t handle, std::span<const HostTensor> act,
                                    std::span<const HostTensor> outs) {
    if (!table_.execute) return unsupported("execute");
    const auto kernel = kernelOf("execute", handle);
    if (!kernel) return tl::unexpected(kernel.error());
    if (auto fine = checkTensors(act); !fine) return fine;
    if (auto fine = checkTensors(outs); !fine) return fine;
    const AbiTensors in(act, false), out(outs, true);
    Call call(*this);
    const auto code = table_.execute(*kernel, in.in(), in.count(), out.out(), out.count(), &call.error);
    if (code != QS_OK) return callFailed("execute", code, call.error);
    return {};
}

Outcome<RunSamples> LocalBackend::bench(std::uint64_t handle, std::span<const HostTensor> act,
                                        const RunOptions& options, const HostTensor* lastOut) {
    if (!table_.bench) return unsupported("bench");
    const auto kernel = kernelOf("bench", handle);
    if (!kernel) return tl::unexpected(kernel.error());
    if (auto fine = checkTensors(act); !fine) return tl::unexpected(fine.error());
    const auto last = lastOut ? std::span<const HostTensor>(lastOut, 1) : std::span<const HostTensor>();
    if (auto fine = checkTensors(last); !fine) return tl::unexpected(fine.error());
    const AbiTensors in(act, false), out(last, true);
    const auto opts = runOptions(options);
    std::vector<std::uint64_t> room(std::clamp(options.iterations, 1u, kMostSamples));
    auto result = sized<qs_run_result>();
    result.cap = std::uint32_t(room.size());
    result.samples_ns = room.data();
    result.last_out = lastOut ? out.out()[0] : nullptr;
    Call call(*this);
    const auto code = table_.bench(*kernel, in.in(), in.count(), &opts, &result, &call.error);
    if (code != QS_OK) return callFailed("bench", code, call.error);
    return samplesOf("bench", result, room);
}

Outcome<std::optional<std::string>> LocalBackend::artifact(std::uint64_t handle, const std::string& what) {
    if (!table_.artifact) return std::optional<std::string>();
    const auto kernel = kernelOf("artifact", handle);
    if (!kernel) return tl::unexpected(kernel.error());
    Call call(*this);
    bool absent = false;
    auto text = longText("artifact", [&](char* buffer, std::uint64_t room, std::uint64_t* need, qs_error* error) {
        const auto code = table_.artifact(*kernel, what.c_str(), buffer, room, need, error);
        absent = code == QS_NOT_FOUND || code == QS_UNIMPLEMENTED;
        return code;
    });
    if (absent) return std::optional<std::string>();
    if (!text) return tl::unexpected(text.error());
    return std::optional(std::move(*text));
}

void LocalBackend::destroy(std::uint64_t handle) {
    const auto at = kernels_.find(handle);
    if (at == kernels_.end()) return;
    if (table_.kernel_destroy) table_.kernel_destroy(at->second);
    kernels_.erase(at);
}

void LocalBackend::cancel() {
    const std::lock_guard lock(cancelling_);
    if (!running_) return;
    host_->stop = true;
    if (table_.cancel) table_.cancel(context_);
}

} // namespace qs
