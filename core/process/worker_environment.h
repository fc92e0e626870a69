// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What a plugin's worker gets of the program's environment, and a mark in it by which the processes that a plugin has
// started are found again.

#include <string>
#include <vector>

namespace qs {

inline constexpr const char* kWorkerMark = "QUANTSCOPE_WORKER_MARK";

/// Variables that vendor libraries, the loader and sanitizers read, as "NAME=value". Anything else may be a secret and is
/// left out.
std::vector<std::string> workerEnvironment(const char* const* current);
/// Another one each time.
std::string newWorkerMark();

/// Kills every process with this mark but the calling one: also those that have left the process group. Calls only what
/// a signal handler may call.
void endMarked(const char* mark);

} // namespace qs
