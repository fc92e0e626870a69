// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>

namespace qs {

/// The name of the processor as the system reports it; "unknown" if it reports none.
std::string cpuName();

} // namespace qs
