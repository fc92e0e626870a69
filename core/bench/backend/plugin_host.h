// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Who calls a plugin in this process, and what the plugin's table says of itself.

#include "core/bench/backend/backend.h"
#include "plugins/abi/quantscope_backend.h"

#include <atomic>
#include <functional>
#include <string_view>

namespace qs {

/// What a plugin may call back. Lives as long as anything that was opened with it.
struct PluginHost {
    std::atomic<bool> stop{false};                             ///< what should_stop() says
    std::function<void(int level, std::string_view text)> log; ///< any thread; the ABI's levels 0..3
};
qs_host abiHost(PluginHost& host);

/// A copy of the table with a zero tail where the plugin's is shorter. NULL is "declined": it speaks another major.
Outcome<qs_backend> readTable(const qs_backend* table);
Outcome<ProbeResult> probeTable(const qs_backend* table, const Options& options, PluginHost& host);

} // namespace qs
