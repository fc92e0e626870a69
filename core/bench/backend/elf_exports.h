// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Whether a shared library defines a symbol. Reads the file; loads and runs nothing.

#include <string>

namespace qs {

/// Uses the hash table of dynamic symbols as the loader does: a few small reads for a file of any size. Every offset is
/// checked. A truncated or invalid file, or one of another byte order, defines nothing.
bool elfDefines(const std::string& path, const std::string& symbol);

} // namespace qs
