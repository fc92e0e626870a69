// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/cache_folder.h"

#include <cstdlib>

namespace qs {

std::string cacheFolder() {
    const char *cache = std::getenv("XDG_CACHE_HOME"), *home = std::getenv("HOME");
    if (cache && *cache == '/') return std::string(cache) + "/quantscope";
    if (home && *home == '/') return std::string(home) + "/.cache/quantscope";
    return {};
}

} // namespace qs
