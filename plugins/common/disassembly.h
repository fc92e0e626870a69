// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The machine instructions of a function of this process, and of the functions that it jumps to. objdump prints them
// from the file that the function was loaded from.

#include <string>

namespace qs::plugin {

struct Disassembly {
    std::string text;   ///< empty if there is no text
    std::string reason; ///< why there is no text
};
Disassembly disassemble(const void* function);

} // namespace qs::plugin
