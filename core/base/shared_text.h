// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A text that very many rows have alike: each keeps a pointer. Read like the string that it stands for.

#include <memory>
#include <string>
#include <string_view>

namespace qs {

class SharedText {
public:
    SharedText() = default;
    SharedText(std::string_view text); // NOLINT(google-explicit-constructor): it is that text to everyone
    SharedText(const std::string& text) : SharedText(std::string_view(text)) {} // NOLINT(google-explicit-constructor)
    SharedText(const char* text) : SharedText(std::string_view(text)) {}        // NOLINT(google-explicit-constructor)

    const std::string& text() const;
    operator const std::string&() const { return text(); } // NOLINT(google-explicit-constructor)
    bool empty() const { return !shared_; }
    friend bool operator==(const SharedText& a, std::string_view b) { return a.text() == b; }

private:
    std::shared_ptr<const std::string> shared_; ///< null: ""
};

} // namespace qs
