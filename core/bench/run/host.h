// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What a benchmark must know, and say, of the machine and the build.

#include "core/base/machine_memory.h"
#include "core/bench/backend/backend.h"

namespace qs {

/// Sum over the last-level caches that this process's CPUs share; 0 when the system does not say.
std::uint64_t lastLevelCacheBytes(const std::string& sysfs = "/sys/devices/system/cpu");

/// Governor, affinity, cache, memory, compiler, flags, commit: key and text.
std::vector<std::pair<std::string, std::string>> hostProvenance();

} // namespace qs
