// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The environment variables that the worker of a backend gets.

#include <string>
#include <vector>

namespace qs {

/// Variables that vendor libraries, the loader and sanitizers read, as "NAME=value". Others are left out, because they
/// may be secrets. LD_LIBRARY_PATH keeps its absolute folders only. `current` ends with a null pointer, as environ does.
std::vector<std::string> workerEnvironment(const char* const* current);

} // namespace qs
