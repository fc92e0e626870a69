// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The instructions of a function of this process and of those that it jumps to, as objdump prints them from the file that
// it was loaded from.

#include <string>

namespace qs::plugin {

struct Disassembly {
    std::string text;   ///< empty when there is none
    std::string reason; ///< why
};
Disassembly disassemble(const void* function);

} // namespace qs::plugin
