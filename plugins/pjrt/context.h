// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The context and the kernel of the pjrt backend, which the C interface passes as opaque pointers.

#include "plugins/pjrt/options.h"
#include "plugins/pjrt/prepare.h"

#include <atomic>
#include <map>
#include <memory>

struct qs_ctx {
    qs_host host{};
    std::string path;
    std::string topology;
    std::unique_ptr<qs::pjrt::Client> client;
    std::map<std::string, std::unique_ptr<qs::pjrt::Kernel>> roofs; ///< kept, because roofs are measured many times
    std::atomic<bool> cancelled{false};

    bool stop() const { return cancelled.load() || (host.should_stop != nullptr && host.should_stop(host.user) != 0); }
};

struct qs_kernel {
    qs_ctx* context;
    qs::pjrt::Prepared prepared;
};

namespace qs::pjrt {

/// The JSON text for describe(): plugin, client and device.
std::string describeJson(const qs_ctx& context);
/// Measures a roof. Returns the samples in ns; sets `work` to the bytes or operations of one run.
std::vector<std::uint64_t> measureRoof(qs_ctx& context, const std::string& kind, const BenchOptions& options,
                                       double& work);
std::string base64(const std::string& bytes);

} // namespace qs::pjrt
