// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What the worker of a backend gets of the program's environment.

#include <string>
#include <vector>

namespace qs {

/// Variables that vendor libraries, the loader and sanitizers read, as "NAME=value". Anything else may be a secret and is
/// left out. `current` ends with a null pointer, as environ does.
std::vector<std::string> workerEnvironment(const char* const* current);

} // namespace qs
