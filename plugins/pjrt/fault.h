// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What goes wrong inside this plugin is thrown as a Fault and caught at the edge (backend.cpp): the plugin knows only
// the standard library, and every call of a PJRT plugin can fail.

#include <cstdint>
#include <string>

namespace qs::pjrt {

struct Fault {
    std::int32_t code; ///< QS_*
    std::string text;  ///< one sentence
};

} // namespace qs::pjrt
