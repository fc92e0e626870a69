// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Limits this process before it parses a file that may be an attack. It may then read and write its open descriptors,
// allocate memory, and end. All else is denied.

#include <string>
#include <utility>
#include <vector>

namespace qs::worker {

/// Sets resource limits, no_new_privs and a filter that denies all other system calls. Returns "" or the reason why
/// this failed, e.g. that the kernel does not see the filter. The caller must not parse a file after a failure.
std::string enterSandbox();

/// Tries operations that must be denied. Each entry is the name of one and its errno, or 0 if it was NOT denied.
std::vector<std::pair<std::string, int>> tryForbidden();

} // namespace qs::worker
