// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Turns values into bytes and back, bit for bit. A struct lists its fields once, in a function that both directions use:
//
//   template<class Archive, archive::Of<Spread> T> void fieldsOf(Archive& archive, T& spread) {
//       archive(spread.count, spread.values);
//   }
//
// Numbers are little-endian. The bytes have no types: both sides must list the same fields in the same order. An enum has
// a function `lastOf` beside it, which names its last value; a larger one is refused. Whoever takes a value that was read
// checks that it fits: sizes, indices, figures that must be finite.

#include <array>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace qs::archive {

/// The struct S, constant or not.
template<class T, class S>
concept Of = std::same_as<std::remove_const_t<T>, S>;
template<class T>
concept Plain = std::is_arithmetic_v<T> || std::is_enum_v<T>;
/// A value of which all bytes are good.
template<class T>
concept Number = std::is_arithmetic_v<T> && !std::same_as<T, bool>;

class Writer {
public:
    static constexpr bool isReader = false;
    explicit Writer(std::string& to) : bytes_(to) {}
    template<class... T> void operator()(const T&... values) { (put(values), ...); }

private:
    template<Plain T> void put(const T& value) { append(&value, sizeof value); }
    void put(const std::string& text) {
        put(std::uint64_t(text.size()));
        append(text.data(), text.size());
    }
    template<class T> void put(const std::vector<T>& values) {
        put(std::uint64_t(values.size()));
        if constexpr (Number<T>)
            append(values.data(), values.size() * sizeof(T));
        else
            for (const auto& value : values) put(T(value));
    }
    template<class T, std::size_t N> void put(const std::array<T, N>& values) {
        for (const T& value : values) put(value);
    }
    template<class A, class B> void put(const std::pair<A, B>& both) { put(both.first), put(both.second); }
    template<class T> void put(const std::optional<T>& value) {
        put(value.has_value());
        if (value) put(*value);
    }
    template<class T>
    void put(const T& value)
        requires(!Plain<T>)
    {
        fieldsOf(*this, value);
    }
    void append(const void* from, std::size_t size) {
        if (size) bytes_.append(static_cast<const char*>(from), size);
    }
    std::string& bytes_;
};

/// Reads what a Writer wrote. Wrong bytes are no error until isDone() is asked; values are then incomplete.
class Reader {
public:
    static constexpr bool isReader = true;
    explicit Reader(std::string_view bytes) : bytes_(bytes) {}
    template<class... T> void operator()(T&... values) { (get(values), ...); }
    /// True if all bytes were read, and no more were asked for.
    bool isDone() const { return isFine_ && bytes_.empty(); }
    void refuse() { isFine_ = false; }

private:
    template<Number T> void get(T& value) { copy(&value, sizeof value); }
    template<class T>
    void get(T& value)
        requires std::is_enum_v<T>
    {
        std::underlying_type_t<T> number = 0;
        get(number);
        isFine_ = isFine_ && number >= 0 && number <= static_cast<std::underlying_type_t<T>>(lastOf(T()));
        value = isFine_ ? static_cast<T>(number) : T();
    }
    void get(bool& value) {
        std::uint8_t byte = 0;
        get(byte);
        value = byte == 1, isFine_ = isFine_ && byte <= 1;
    }
    void get(std::string& text) {
        text.resize(count(1));
        copy(text.data(), text.size());
    }
    template<class T> void get(std::vector<T>& values) {
        if constexpr (Number<T>) {
            values.resize(count(sizeof(T)));
            copy(values.data(), values.size() * sizeof(T));
        } else {
            values.clear();
            for (std::size_t left = count(1); left > 0 && isFine_; --left) {
                T value{};
                get(value);
                values.push_back(std::move(value));
            }
        }
    }
    template<class T, std::size_t N> void get(std::array<T, N>& values) {
        for (T& value : values) get(value);
    }
    template<class A, class B> void get(std::pair<A, B>& both) { get(both.first), get(both.second); }
    template<class T> void get(std::optional<T>& value) {
        bool has = false;
        get(has);
        value.reset();
        if (has && isFine_) get(value.emplace());
    }
    template<class T>
    void get(T& value)
        requires(!Plain<T>)
    {
        fieldsOf(*this, value);
    }
    /// The number of elements that follow; each takes at least `least` bytes.
    std::size_t count(std::size_t least) {
        std::uint64_t n = 0;
        get(n);
        if (n > bytes_.size() / least) isFine_ = false, n = 0;
        return std::size_t(n);
    }
    void copy(void* to, std::size_t size) {
        if (size > bytes_.size()) isFine_ = false;
        if (!isFine_ || size == 0) return;
        std::memcpy(to, bytes_.data(), size);
        bytes_.remove_prefix(size);
    }
    std::string_view bytes_;
    bool isFine_ = true;
};

template<class T> std::string bytesOf(const T& value) {
    std::string out;
    Writer writer(out);
    writer(value);
    return out;
}
/// Nullopt if the bytes are not those of a T.
template<class T> std::optional<T> valueOf(std::string_view bytes) {
    Reader reader(bytes);
    std::optional<T> value(std::in_place);
    reader(*value);
    return reader.isDone() ? std::move(value) : std::nullopt;
}

} // namespace qs::archive
