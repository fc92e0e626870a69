// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A backend in its own worker. Tensors are passed as descriptors of shared buffers, once for each buffer.

#include "core/bench/backend/worker_session.h"

#include <map>

namespace qs {

class RemoteBackend final : public Backend {
public:
    RemoteBackend(std::unique_ptr<WorkerSession> session, Options environment)
        : session_(std::move(session)), environment_(std::move(environment)) {}

    /// The JSON of the plugin; "worker_environment" has what the worker has set for it.
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
    void cancel() override { session_->cancel(); }
    std::string log() const override { return session_->log(); }

private:
    struct Known {
        std::uint64_t id;
        std::weak_ptr<SharedBuffer> buffer;
    };
    using Lists = std::initializer_list<std::pair<const char*, std::span<const HostTensor>>>;
    Outcome<nlohmann::json> ask(nlohmann::json request, double seconds, Lists tensors = {});

    std::unique_ptr<WorkerSession> session_;
    Options environment_;
    std::map<const SharedBuffer*, Known> known_; ///< the buffers that the worker has mapped
    std::uint64_t lastBuffer_ = 0;
};

} // namespace qs
