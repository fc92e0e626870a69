// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>

namespace qs {

/// Where the program keeps what it can make again: XDG_CACHE_HOME/quantscope, else ~/.cache/quantscope. "": neither
/// variable names a folder.
std::string cacheFolder();

} // namespace qs
