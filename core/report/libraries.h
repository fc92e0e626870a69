// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The libraries that the programs are linked with, with version and licence: for --version and for the About box.

#include "core/base/column.h"

#include <string>
#include <string_view>
#include <vector>

namespace qs {

struct Library {
    const char* name;
    const char* version; ///< that the program was built with
    const char* licence; ///< SPDX expression
    const char* use;     ///< what it does here
};
/// One row for each library. The list stands in packaging/cmake/QuantScopeLibraries.cmake, because CMake knows the
/// versions.
const std::vector<Library>& libraries();
const Columns<Library>& libraryColumns();
/// What `PROGRAM --version` prints: version, licence, and a line for each library.
std::string versionText(std::string_view program);

} // namespace qs
