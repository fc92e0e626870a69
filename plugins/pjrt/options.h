// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What the user set, and what a plugin file can be used for without loading it.

#include "plugins/abi/quantscope_backend.h"
#include "plugins/pjrt/client.h"

#include <string>

namespace qs::pjrt {

struct Settings {
    std::string path;
    std::string topology; ///< "v6e:2x2"
    std::vector<std::int64_t> chipsPerHostBounds;
    std::string sysRoot = "/"; ///< for tests of the PCI check
    std::string problem;       ///< an option that makes no sense
};
/// Options: path, topology, chips_per_host_bounds ("1,1,1"), sys_root.
Settings readSettings(const qs_kv* options, std::uint32_t count);

struct Usability {
    std::int32_t state = QS_PROBE_UNAVAILABLE; ///< QS_PROBE_*
    std::string reason, hint;
    std::string topology; ///< to open with: the user's, or the default where a TPU plugin meets no TPU
    bool gpu = false;
    bool skipMetadata = false; ///< libtpu must not ask the cloud for the machine's TPUs: there are none
};
Usability examine(const Settings& settings);

} // namespace qs::pjrt
