// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The name of a tensor in 8 bytes. A model may have a million tensors, and a std::string takes 32 bytes and often 48 more.
//
// The text never changes. Texts lie one behind the other in chunks of 64 KiB; a chunk lives as long as a name is in it.

#include <compare>
#include <concepts>
#include <fmt/format.h>
#include <string>
#include <string_view>
#include <utility>

namespace qs {

class TensorName {
public:
    TensorName() = default; ///< ""
    // It is used like its text, so it converts from it and to it.
    TensorName(std::string_view text);                                          // NOLINT(google-explicit-constructor)
    TensorName(const std::string& text) : TensorName(std::string_view(text)) {} // NOLINT(google-explicit-constructor)
    TensorName(const char* text) : TensorName(std::string_view(text)) {}        // NOLINT(google-explicit-constructor)
    TensorName(const TensorName& other) noexcept : text_(other.text_) { keep(); }
    TensorName(TensorName&& other) noexcept : text_(std::exchange(other.text_, nullptr)) {}
    TensorName& operator=(TensorName other) noexcept {
        std::swap(text_, other.text_);
        return *this;
    }
    ~TensorName() { drop(); }

    std::string_view view() const noexcept; ///< valid while this name or a copy of it exists
    std::string text() const { return std::string(view()); }
    operator std::string_view() const noexcept { return view(); } // NOLINT(google-explicit-constructor)
    operator std::string() const { return text(); }               // NOLINT(google-explicit-constructor)
    const char* c_str() const { return text_ ? text_ : ""; }
    bool empty() const { return !text_; }
    std::size_t size() const { return view().size(); }
    static constexpr std::size_t npos = std::string_view::npos;
    std::size_t find(std::string_view part, std::size_t from = 0) const { return view().find(part, from); }
    std::size_t rfind(std::string_view part, std::size_t from = npos) const { return view().rfind(part, from); }
    bool starts_with(std::string_view start) const { return view().starts_with(start); }
    bool ends_with(std::string_view end) const { return view().ends_with(end); }
    std::string substr(std::size_t from, std::size_t n = npos) const { return std::string(view().substr(from, n)); }
    auto begin() const { return view().begin(); }
    auto end() const { return view().end(); }

    template<std::convertible_to<std::string_view> Text> friend bool operator==(const TensorName& a, const Text& b) {
        return a.view() == std::string_view(b);
    }
    template<std::convertible_to<std::string_view> Text> friend auto operator<=>(const TensorName& a, const Text& b) {
        return a.view() <=> std::string_view(b);
    }
    friend std::string operator+(std::string a, const TensorName& b) { return std::move(a.append(b.view())); }
    friend std::string operator+(const TensorName& a, std::string_view b) { return a.text().append(b); }
    friend std::string operator+(const TensorName& a, char b) { return a.text() + b; }

private:
    void keep() const noexcept;
    void drop() const noexcept;

    const char* text_ = nullptr; ///< null: "". Its length is before it, and a null byte behind it
};

} // namespace qs

template<> struct fmt::formatter<qs::TensorName> : fmt::formatter<std::string_view> {
    auto format(const qs::TensorName& name, format_context& context) const {
        return fmt::formatter<std::string_view>::format(name.view(), context);
    }
};
