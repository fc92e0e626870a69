// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Reads the options of the user, and finds out without loading a plugin whether and how it can be used.

#include "plugins/abi/quantscope_backend.h"
#include "plugins/pjrt/client.h"

#include <string>

namespace qs::pjrt {

struct Settings {
    std::string path;
    std::string topology; ///< "v6e:2x2"; empty: none
    std::vector<std::int64_t> chipsPerHostBounds;
    std::string sysRoot = "/"; ///< another root folder, for tests of the search for a TPU
    std::string problem;       ///< which option is wrong; empty: none
};
/// The options are path, topology, chips_per_host_bounds ("1,1,1") and sys_root.
Settings readSettings(const qs_kv* options, std::uint32_t count);

struct Usability {
    std::int32_t state = QS_PROBE_UNAVAILABLE; ///< QS_PROBE_*
    std::string reason, hint;
    std::string topology; ///< topology to open: the user's, or a default for a TPU plugin without a TPU
    bool gpu = false;
    bool skipMetadata = false; ///< true: there is no TPU, so libtpu must not ask a cloud server for one
};
Usability examine(const Settings& settings);

} // namespace qs::pjrt
