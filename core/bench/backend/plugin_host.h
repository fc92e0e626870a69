// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The host that a plugin calls back, and the facts in the table of the plugin.

#include "core/bench/backend/backend.h"
#include "plugins/abi/quantscope_backend.h"

#include <atomic>
#include <functional>
#include <string_view>

namespace qs {

/// The functions that a plugin may call. Must outlive everything that was opened with it.
struct PluginHost {
    std::atomic<bool> stop{false};                             ///< the result of should_stop()
    std::function<void(int level, std::string_view text)> log; ///< called from any thread; the ABI's levels 0..3
};
qs_host abiHost(PluginHost& host);

/// A copy of the table, filled with zeros if the plugin's is shorter. A NULL table is "declined": it has another major
/// version.
Outcome<qs_backend> readTable(const qs_backend* table);
Outcome<ProbeResult> probeTable(const qs_backend* table, const Options& options, PluginHost& host);

} // namespace qs
