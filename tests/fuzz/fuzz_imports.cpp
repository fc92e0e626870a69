// SPDX-License-Identifier: GPL-3.0-or-later
// Any text must give imported figures or an error, by every format of the registry.
#include "core/eval/files/imports/imports.h"

#include <cmath>
#include <cstdint>
#include <cstdlib>

static void check(const qs::Result<std::vector<qs::eval::ImportedFigure>>& figures) {
    if (!figures) {
        if (figures.error().message.empty()) std::abort();
        return;
    }
    for (const auto& figure : *figures)
        if (figure.column.empty() || (figure.value && !std::isfinite(*figure.value))) std::abort();
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    check(qs::eval::importFigures(text, "fuzz"));
    for (const auto& format : qs::eval::importFormats()) check(format.read(text, "fuzz"));
    return 0;
}
