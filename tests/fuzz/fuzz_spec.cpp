// SPDX-License-Identifier: GPL-3.0-or-later
// Any text must give a spec or an error. parse(text(spec)) must give the same spec again.
#include "core/quant/spec/spec.h"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto spec = qs::parseSpec({reinterpret_cast<const char*>(data), size});
    if (!spec) {
        if (spec.error().message.empty()) std::abort();
        return 0;
    }
    const auto again = qs::parseSpec(qs::specText(*spec));
    if (!again || *again != *spec) std::abort();
    if (!qs::parseSpec(qs::canonicalText(*spec))) std::abort();
    return 0;
}
