// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What this process may still do while it parses a file that may be an attack: read its descriptors, take memory, end.

#include <string>
#include <utility>
#include <vector>

namespace qs::worker {

/// Limits, no_new_privs and a filter of system calls that denies all but those few. "" or why it cannot be had; then
/// nothing may be parsed.
std::string enterSandbox();

/// Tries what must be denied. Each is its name and 0 where it WORKED, else errno.
std::vector<std::pair<std::string, int>> tryForbidden();

} // namespace qs::worker
