// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Whether a shared library defines a symbol, read from its file: nothing of it is loaded or run.

#include <string>

namespace qs {

/// Looked up as the loader does, in the hash table of the dynamic symbols: a few reads of a few bytes, however large the
/// file is. Every offset is checked; a file that is cut short, lies or is no library of this byte order defines nothing.
bool elfDefines(const std::string& path, const std::string& symbol);

} // namespace qs
