// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A structure as JSON and back, both from one list of its fields: `fields(io, row)` calls io("key", row.field) for each.
// What comes back was written by whoever made the file: every length and range is checked.

#include "core/base/base64.h"
#include "core/bench/run/statistics.h"
#include "core/process/fields.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <type_traits>

namespace qs::kept {

constexpr std::size_t kLongestText = 1u << 24, kLongestKeptText = 128u << 20, kMostItems = 4'000'000;
constexpr std::size_t kMostLabRows = 1000; ///< of a table of the labs

/// Writes.
class Out {
public:
    nlohmann::json object = nlohmann::json::object();

    template<class T> void operator()(const char* key, const T& value) { object[key] = jsonOf(value); }
    template<class T> void named(const char* key, const T& value, int, const char* (*text)(T)) {
        object[key] = text(value);
    }
    void longText(const char* key, const std::string& text) { object[key] = text; }

private:
    template<class T> static nlohmann::json jsonOf(const T& value) {
        if constexpr (std::is_same_v<T, std::string> || std::is_arithmetic_v<T>) {
            return value;
        } else {
            Out out;
            fields(out, const_cast<T&>(value)); // the list of fields serves both ways
            return std::move(out.object);
        }
    }
    template<class T> static nlohmann::json jsonOf(const std::optional<T>& value) {
        return value ? jsonOf(*value) : nlohmann::json();
    }
    static nlohmann::json jsonOf(const Interval& value) { return {value.low, value.high}; }
    static nlohmann::json jsonOf(const std::pair<std::string, std::string>& value) {
        return {value.first, value.second};
    }
    template<class T> static nlohmann::json jsonOf(const std::vector<T>& values) {
        auto out = nlohmann::json::array();
        for (const auto& value : values) out.push_back(jsonOf(value));
        return out;
    }
};

/// Reads; the first problem is kept in problem().
class In {
public:
    explicit In(const nlohmann::json& object) : object_(object), from_(object) {}
    const std::optional<std::string>& problem() const { return from_.problem(); }
    bool has(const char* key) const { return from_.has(key); }

    template<class T> void operator()(const char* key, T& value) {
        if (const auto read = of<T>(object_.value(key, nlohmann::json())))
            value = *read;
        else
            refuse(key);
    }
    template<class T> void operator()(const char* key, std::optional<T>& value) {
        value.reset();
        const auto at = object_.find(key);
        if (at == object_.end() || at->is_null()) return;
        if (!(value = of<T>(*at))) refuse(key);
    }
    template<class T> void operator()(const char* key, std::vector<T>& values) {
        values.clear();
        for (const auto& item : from_.array(key, kMostItems)) {
            auto read = of<T>(item);
            if (!read) return refuse(key);
            values.push_back(std::move(*read));
        }
    }
    void longText(const char* key, std::string& text) { text = from_.text(key, kLongestKeptText); }
    /// One of `count` values by its text.
    template<class T> void named(const char* key, T& value, int count, const char* (*text)(T)) {
        const auto word = from_.text(key, 64);
        for (int i = 0; i < count; ++i)
            if (word == text(T(i))) return void(value = T(i));
        refuse(key);
    }

private:
    void refuse(const char* key) { from_.refuse(fmt::format("'{}' is not what it should be", key)); }
    template<class T> static std::optional<T> of(const nlohmann::json& item) {
        if constexpr (std::is_same_v<T, std::string>) {
            if (!item.is_string() || item.get_ref<const std::string&>().size() > kLongestText) return std::nullopt;
            return item.get<std::string>();
        } else if constexpr (std::is_same_v<T, bool>) {
            return item.is_boolean() ? std::optional(item.get<bool>()) : std::nullopt;
        } else if constexpr (std::is_floating_point_v<T>) { // null: not a number
            return item.is_number() ? std::optional(T(item.get<double>()))
                   : item.is_null() ? std::optional(std::numeric_limits<T>::quiet_NaN())
                                    : std::nullopt;
        } else if constexpr (std::is_integral_v<T>) {
            return count<T>(item);
        } else if constexpr (std::is_same_v<T, Interval> || std::is_same_v<T, std::pair<std::string, std::string>>) {
            return two<T>(item);
        } else {
            if (!item.is_object()) return std::nullopt;
            In in(item);
            T value;
            fields(in, value);
            return in.problem() ? std::nullopt : std::optional(std::move(value));
        }
    }
    template<class T> static std::optional<T> count(const nlohmann::json& item) {
        if (item.is_number_unsigned()) {
            const auto number = item.get<std::uint64_t>();
            return number <= std::uint64_t(std::numeric_limits<T>::max()) ? std::optional(T(number)) : std::nullopt;
        }
        if (!item.is_number_integer() || std::is_unsigned_v<T>) return std::nullopt;
        const auto number = item.get<std::int64_t>(); // below 0
        return number >= std::int64_t(std::numeric_limits<T>::min()) ? std::optional(T(number)) : std::nullopt;
    }
    template<class T> static std::optional<T> two(const nlohmann::json& item) {
        using One = std::conditional_t<std::is_same_v<T, Interval>, double, std::string>;
        if (!item.is_array() || item.size() != 2) return std::nullopt;
        auto first = of<One>(item[0]), second = of<One>(item[1]);
        return first && second ? std::optional(T{std::move(*first), std::move(*second)}) : std::nullopt;
    }
    const nlohmann::json& object_;
    Fields from_;
};

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

/// Values of f32 as text, and back where the text holds just `count` of them.
static_assert(std::endian::native == std::endian::little, "the text holds little-endian values");
inline std::string textOfFloats(std::span<const float> values) { return base64Of(std::as_bytes(values)); }
inline bool floatsOf(const std::string& text, std::size_t count, std::vector<float>& values) {
    values.clear();
    if (text.size() != base64Length(count * sizeof(float))) return false; // before anything is allocated
    values.resize(count);
    return bytesOfBase64(text, std::as_writable_bytes(std::span(values)));
}

template<class Number> bool areFinite(std::span<const Number> values) {
    for (const Number value : values)
        if (!std::isfinite(value)) return false;
    return true;
}
/// A figure that is never below 0.
inline bool isMeasure(double value) { return std::isfinite(value) && value >= 0; }
inline bool isMeasure(const std::optional<double>& value) { return !value || isMeasure(*value); }
/// Texts that are shown in a cell or a sentence.
inline bool areWords(std::initializer_list<const std::string*> texts) {
    constexpr std::size_t kLongestWords = 4096;
    for (const auto* text : texts)
        if (text->size() > kLongestWords) return false;
    return true;
}

} // namespace qs::kept
