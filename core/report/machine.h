// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>

namespace qs {

/// Of this machine, as its system calls it; "unknown" where it does not say.
std::string cpuName();

} // namespace qs
