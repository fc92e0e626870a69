// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Structures of a session file as JSON and back (core/process/json_fields.h). A file may come
// from anywhere, so every length and range is checked.

#include "core/base/base64.h"
#include "core/process/json_fields.h"

#include <bit>
#include <cmath>
#include <optional>
#include <span>
#include <string>

namespace qs::kept {

constexpr std::size_t kLongestText = 1u << 24, kLongestKeptText = 128u << 20, kMostItems = 4'000'000;
constexpr std::size_t kMostLabRows = 1000; ///< rows of a table of a lab

struct Limits {
    static constexpr std::size_t kLongestText = kept::kLongestText, kLongestKeptText = kept::kLongestKeptText,
                                 kMostItems = kept::kMostItems;
};
using Out = JsonOut<Limits>;
using In = JsonIn<Limits>;

template<class T> std::string textOf(const T& value) {
    Out out;
    fields(out, const_cast<T&>(value));
    return out.object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

template<class T> tl::expected<T, std::string> fromText(const std::string& text) {
    const auto object = strictObject(text);
    if (!object) return tl::unexpected(object.error());
    In in(*object);
    T value;
    fields(in, value);
    if (in.problem()) return tl::unexpected(*in.problem());
    return value;
}

/// Converts f32 values to base64 text and back. Reading fails unless the text holds exactly `count` values.
static_assert(std::endian::native == std::endian::little, "the text holds little-endian values");
inline std::string textOfFloats(std::span<const float> values) { return base64Of(std::as_bytes(values)); }
inline bool floatsOf(const std::string& text, std::size_t count, std::vector<float>& values) {
    values.clear();
    if (text.size() != base64Length(count * sizeof(float))) return false; // checked before memory is allocated
    values.resize(count);
    return bytesOfBase64(text, std::as_writable_bytes(std::span(values)));
}

template<class Number> bool areFinite(std::span<const Number> values) {
    for (const Number value : values)
        if (!std::isfinite(value)) return false;
    return true;
}
/// A number that is finite and not negative.
inline bool isMeasure(double value) { return std::isfinite(value) && value >= 0; }
inline bool isMeasure(const std::optional<double>& value) { return !value || isMeasure(*value); }
/// Texts shown in a cell or a sentence; their length is limited.
inline bool areWords(std::initializer_list<const std::string*> texts) {
    constexpr std::size_t kLongestWords = 4096;
    for (const auto* text : texts)
        if (text->size() > kLongestWords) return false;
    return true;
}

} // namespace qs::kept
