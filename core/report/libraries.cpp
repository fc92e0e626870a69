// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/report/libraries.h"

#include "core/report/report.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace qs {

const std::vector<Library>& libraries() {
    static const std::vector<Library> rows = {
#include "qs_libraries.inc"
    };
    return rows;
}

const Columns<Library>& libraryColumns() {
    const auto text = [](const char* Library::*field) {
        return [field](const Library& row) { return Value(std::string(row.*field)); };
    };
    static const Columns<Library> columns = {
        {{"library", "Library", "", Show::Text, 2, Direction::None, "A library that the program is linked with"},
         text(&Library::name)},
        {{"version", "Version", "", Show::Text, 2, Direction::None, "The version that the program was built with"},
         text(&Library::version)},
        {{"licence", "Licence", "", Show::Text, 2, Direction::None, "Its licence, as SPDX names it"},
         text(&Library::licence)},
        {{"use", "Use", "", Show::Text, 2, Direction::None, "What it does in this program"}, text(&Library::use)},
    };
    return columns;
}

std::string versionText(std::string_view program) {
    std::size_t name = 0, licence = 0;
    for (const Library& one : libraries())
        name = std::max(name, std::strlen(one.name) + 1 + std::strlen(one.version)),
        licence = std::max(licence, std::strlen(one.licence));
    auto text = fmt::format("{} {}\nGPL-3.0-or-later with a permission for backends (LICENSE-EXCEPTION)\n", program,
                            toolVersion());
    for (const Library& one : libraries())
        text += fmt::format("\n  {:<{}}  {:<{}}  {}", fmt::format("{} {}", one.name, one.version), name, one.licence,
                            licence, one.use);
    return text;
}

} // namespace qs
