// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/shared_text.h"

#include <array>
#include <functional>

namespace qs {

SharedText::SharedText(std::string_view text) {
    if (text.empty()) return;
    // The texts that this thread saw last, indexed by hash.
    thread_local std::array<std::shared_ptr<const std::string>, 64> remembered;
    auto& known = remembered[std::hash<std::string_view>()(text) % remembered.size()];
    if (!known || *known != text) known = std::make_shared<const std::string>(text);
    shared_ = known;
}

const std::string& SharedText::text() const {
    static const std::string none;
    return shared_ ? *shared_ : none;
}

} // namespace qs
