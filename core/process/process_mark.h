// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A mark is a text in the environment of a process. All processes that it starts inherit the mark. With its help the
// program finds and ends them.

#include <string>

namespace qs {

inline constexpr const char* kProcessMark = "QUANTSCOPE_WORKER_MARK"; ///< the variable's name

/// A mark that was never used before.
std::string newProcessMark();

/// Kills every process with this mark except the calling one, even if it has left the process group. A signal handler
/// may call it: it uses only functions that are safe there.
void endMarked(const char* mark);

} // namespace qs
