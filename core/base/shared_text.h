// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A text that many rows have in common. Each row keeps a pointer to it. It converts to a string.

#include <memory>
#include <string>
#include <string_view>

namespace qs {

class SharedText {
public:
    SharedText() = default;
    SharedText(std::string_view text); // NOLINT(google-explicit-constructor): it is used like the text
    SharedText(const std::string& text) : SharedText(std::string_view(text)) {} // NOLINT(google-explicit-constructor)
    SharedText(const char* text) : SharedText(std::string_view(text)) {}        // NOLINT(google-explicit-constructor)

    const std::string& text() const;
    operator const std::string&() const { return text(); } // NOLINT(google-explicit-constructor)
    bool empty() const { return !shared_; }
    friend bool operator==(const SharedText& a, std::string_view b) { return a.text() == b; }

private:
    std::shared_ptr<const std::string> shared_; ///< null means ""
};

} // namespace qs
