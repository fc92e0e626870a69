// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Calls a table of the C ABI in this process: in the worker for every backend, and in tests for backends that are
// linked in.

#include "core/bench/backend/plugin_host.h"

#include <map>
#include <mutex>

namespace qs {

class LocalBackend final : public Backend {
public:
    static Outcome<std::unique_ptr<LocalBackend>> open(const qs_backend* table, const Options& options,
                                                       std::shared_ptr<PluginHost> host);
    ~LocalBackend() override;

    Outcome<std::string> describe() override;
    Outcome<std::vector<DeviceInfo>> devices() override;
    Outcome<RoofSamples> roof(std::uint32_t device, const std::string& kind, const RunOptions& options) override;
    Outcome<Support> query(std::uint32_t device, const Problem& problem) override;
    Outcome<PreparedKernel> prepare(std::uint32_t device, const Problem& problem, const std::string& variant,
                                    std::span<const HostTensor> inputs) override;
    Outcome<void> execute(std::uint64_t kernel, std::span<const HostTensor> act,
                          std::span<const HostTensor> outs) override;
    Outcome<RunSamples> bench(std::uint64_t kernel, std::span<const HostTensor> act, const RunOptions& options,
                              const HostTensor* lastOut) override;
    Outcome<std::optional<std::string>> artifact(std::uint64_t kernel, const std::string& what) override;
    void destroy(std::uint64_t kernel) override;
    void cancel() override;

private:
    class Call;
    LocalBackend(qs_backend table, std::shared_ptr<PluginHost> host);
    Outcome<qs_kernel*> kernelOf(const char* step, std::uint64_t handle) const;

    qs_backend table_;
    std::shared_ptr<PluginHost> host_;
    qs_host abiHost_; ///< the plugin holds its address until close()
    qs_ctx* context_ = nullptr;
    std::map<std::uint64_t, qs_kernel*> kernels_;
    std::uint64_t lastHandle_ = 0;
    std::mutex cancelling_; ///< cancel() must only reach a context while it runs
    bool running_ = false;
};

} // namespace qs
