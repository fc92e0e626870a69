// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A mark in the environment of a process. All processes that it starts inherit the mark, so they are found again.

#include <string>

namespace qs {

inline constexpr const char* kProcessMark = "QUANTSCOPE_WORKER_MARK"; ///< the variable's name

/// Another one each time.
std::string newProcessMark();

/// Kills every process with this mark but the calling one: also those that have left the process group. Calls only what
/// a signal handler may call.
void endMarked(const char* mark);

} // namespace qs
