// SPDX-License-Identifier: GPL-3.0-or-later
// The texts of a session file, which anybody may have written: a sentence, or a session that is written and read unchanged.
#include "core/session/session_wire.h"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    const auto head = qs::sessionFromText(text);
    if (head) {
        if (!head->session.history.empty() && head->session.at >= head->session.history.size()) std::abort();
        const auto written = qs::sessionText(head->session);
        const auto again = qs::sessionFromText(written);
        if (!again || again->results != 0 || qs::sessionText(again->session) != written) std::abort();
    } else if (head.error().message.empty()) {
        std::abort();
    }
    const auto results = qs::sessionResultsFromText(text);
    if (results) {
        const auto written = qs::sessionResultsText(*results);
        const auto again = qs::sessionResultsFromText(written);
        if (!again || again->tensors != results->tensors || again->metrics != results->metrics) std::abort();
    } else if (results.error().message.empty()) {
        std::abort();
    }
    return 0;
}
