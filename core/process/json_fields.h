// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Converts a structure to JSON and back. Both directions use one list of its fields: a function fields(io, row) that
// calls io("key", row.field) for each field. JSON that is read cannot be trusted, so every length and range is checked.
// A list may also name the field of a C struct after the value; JSON ignores it (core/bench/backend/value_fields.h).
//
// `Limits` gives the largest sizes that are read: kLongestText and kLongestKeptText in bytes, kMostItems for a list.
// The function `fields` may also stand in the namespace of `Limits`.

#include "core/process/fields.h"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace qs {

/// Writes a structure as a JSON object.
template<class Limits> class JsonOut {
public:
    nlohmann::json object = nlohmann::json::object();

    template<class T, class... Abi> void operator()(const char* key, const T& value, Abi...) {
        object[key] = jsonOf(value);
    }
    template<class... Abi> void flag(const char* key, bool value, Abi...) { object[key] = value; }
    template<class T> void named(const char* key, const T& value, int, const char* (*text)(T)) {
        object[key] = text(value);
    }
    void longText(const char* key, const std::string& text) { object[key] = text; }

    template<class T> static nlohmann::json jsonOf(const T& value) {
        if constexpr (std::is_same_v<T, std::string> || std::is_arithmetic_v<T>) {
            return value;
        } else {
            JsonOut out;
            fields(out, const_cast<T&>(value)); // not const, because the same list of fields also reads
            return std::move(out.object);
        }
    }
    template<class T> static nlohmann::json jsonOf(const std::optional<T>& value) {
        return value ? jsonOf(*value) : nlohmann::json();
    }
    static nlohmann::json jsonOf(const std::pair<std::string, std::string>& value) {
        return {value.first, value.second};
    }
    template<class T> static nlohmann::json jsonOf(const std::vector<T>& values) {
        auto out = nlohmann::json::array();
        for (const auto& value : values) out.push_back(jsonOf(value));
        return out;
    }
};

/// Reads a structure from a JSON object. problem() is the first problem.
template<class Limits> class JsonIn {
public:
    explicit JsonIn(const nlohmann::json& object) : object_(object), from_(object) {}
    const std::optional<std::string>& problem() const { return from_.problem(); }
    bool has(const char* key) const { return from_.has(key); }

    template<class T, class... Abi> void operator()(const char* key, T& value, Abi...) {
        if (const auto read = of<T>(object_.value(key, nlohmann::json())))
            value = *read;
        else
            refuse(key);
    }
    template<class T, class... Abi> void operator()(const char* key, std::optional<T>& value, Abi...) {
        value.reset();
        const auto at = object_.find(key);
        if (at == object_.end() || at->is_null()) return;
        if (!(value = of<T>(*at))) refuse(key);
    }
    template<class T, class... Abi> void operator()(const char* key, std::vector<T>& values, Abi...) {
        values.clear();
        for (const auto& item : from_.array(key, Limits::kMostItems)) {
            auto read = of<T>(item);
            if (!read) return refuse(key);
            values.push_back(std::move(*read));
        }
    }
    template<class... Abi> void flag(const char* key, bool& value, Abi...) { value = from_.flag(key); }
    void longText(const char* key, std::string& text) { text = from_.text(key, Limits::kLongestKeptText); }
    /// Reads an enumeration: the value T(i), i < count, whose text stands in the field.
    template<class T> void named(const char* key, T& value, int count, const char* (*text)(T)) {
        const auto word = from_.text(key, 64);
        for (int i = 0; i < count; ++i)
            if (word == text(T(i))) return void(value = T(i));
        refuse(key);
    }
    void refuse(const char* key) { from_.refuse(fmt::format("'{}' is not what it should be", key)); }

private:
    template<class T> static std::optional<T> of(const nlohmann::json& item) {
        if constexpr (std::is_same_v<T, std::string>) {
            if (!item.is_string() || item.get_ref<const std::string&>().size() > Limits::kLongestText)
                return std::nullopt;
            return item.get<std::string>();
        } else if constexpr (std::is_same_v<T, bool>) {
            return item.is_boolean() ? std::optional(item.get<bool>()) : std::nullopt;
        } else if constexpr (std::is_floating_point_v<T>) { // null is read as NaN
            return item.is_number() ? std::optional(T(item.get<double>()))
                   : item.is_null() ? std::optional(std::numeric_limits<T>::quiet_NaN())
                                    : std::nullopt;
        } else if constexpr (std::is_integral_v<T>) {
            return count<T>(item);
        } else if constexpr (std::is_same_v<T, std::pair<std::string, std::string>>) {
            if (!item.is_array() || item.size() != 2) return std::nullopt;
            auto first = of<std::string>(item[0]), second = of<std::string>(item[1]);
            return first && second ? std::optional(T{std::move(*first), std::move(*second)}) : std::nullopt;
        } else {
            if (!item.is_object()) return std::nullopt;
            JsonIn in(item);
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
        const auto number = item.get<std::int64_t>(); // a negative number
        return number >= std::int64_t(std::numeric_limits<T>::min()) ? std::optional(T(number)) : std::nullopt;
    }
    const nlohmann::json& object_;
    Fields from_;
};

} // namespace qs
