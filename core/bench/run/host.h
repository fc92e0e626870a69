// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Facts about the machine and the build for a benchmark.

#include "core/base/machine_memory.h"
#include "core/bench/backend/backend.h"

namespace qs {

/// Sum over the last-level caches of the CPUs of this process; 0 if the system does not tell.
std::uint64_t lastLevelCacheBytes(const std::string& sysfs = "/sys/devices/system/cpu");

/// Governor, affinity, cache, memory, compiler, flags, commit: key and text.
std::vector<std::pair<std::string, std::string>> hostProvenance();

} // namespace qs
