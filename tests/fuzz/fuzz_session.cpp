// SPDX-License-Identifier: GPL-3.0-or-later
// Texts of an untrusted session file. The result must be an error, or a session that is written and read back
// unchanged.
#include "core/session/kept_labs.h"
#include "core/session/session_wire.h"

#include <cstdlib>

namespace {

const qs::Model& model() {
    static const qs::Model one = [] {
        qs::Model made;
        auto& tensor = made.tensors.emplace_back();
        tensor.name = "w", tensor.shape = {4, 32}, tensor.elements = 128, tensor.bytes = 512;
        return made;
    }();
    return one;
}

/// A text that can be read must be written and read back unchanged.
template<class Kept>
void readKept(const std::string& text, qs::Result<Kept> (*read)(const std::string&, const qs::Model&),
              std::string (*write)(const std::remove_const_t<typename Kept::element_type>&)) {
    const auto kept = read(text, model());
    if (!kept) {
        if (kept.error().message.empty()) std::abort();
        return;
    }
    const auto written = write(**kept);
    const auto again = read(written, model());
    if (!again || write(**again) != written) std::abort();
}

} // namespace

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
    readKept(text, qs::trainingKept, qs::keptTraining);
    readKept(text, qs::solutionsKept, qs::keptSolutions);
    readKept(text, qs::productsKept, qs::keptProducts);
    readKept(text, qs::operationsKept, qs::keptOperations);
    return 0;
}
