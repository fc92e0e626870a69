// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The C ABI with C++ manners, for backends written in C++: structs of any size are read and written whole, nothing
// throws across the edge, text and errors fit their fields.

#include "plugins/abi/quantscope_backend.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <string_view>

namespace qs::plugin {

/// A struct as this header knows it; fields that the caller's smaller struct lacks are zero.
template<class T> T given(const T* from) {
    T value{};
    if (from) std::memcpy(&value, from, std::min<std::size_t>(from->struct_size, sizeof(T)));
    return value;
}
/// Writes what fits the caller's struct and leaves its struct_size alone.
template<class T> void give(T* to, T value) {
    const std::uint32_t size = to->struct_size;
    value.struct_size = size;
    std::memcpy(to, &value, std::min<std::size_t>(size, sizeof(T)));
}

/// Cuts at a whole UTF-8 character and ends with NUL.
template<std::size_t N> void put(char (&field)[N], std::string_view text) {
    std::size_t n = std::min(text.size(), N - 1);
    while (n > 0 && n < text.size() && (static_cast<unsigned char>(text[n]) & 0xC0) == 0x80) --n;
    std::memcpy(field, text.data(), n);
    field[n] = 0;
}

inline std::int32_t fail(qs_error* error, std::int32_t code, std::string_view sentence) {
    if (error) {
        qs_error value{};
        value.code = code;
        put(value.msg, sentence);
        give(error, value);
    }
    return code;
}

/// What a backend throws inside: a return code and its sentence.
struct Refusal : std::exception {
    Refusal(std::int32_t code, std::string sentence) : code(code), sentence(std::move(sentence)) {}
    const char* what() const noexcept override { return sentence.c_str(); }
    std::int32_t code;
    std::string sentence;
};

/// Runs the body of an entry and turns whatever it throws into a code.
template<class Body> std::int32_t guarded(qs_error* error, Body body) noexcept {
    try {
        body();
        return QS_OK;
    } catch (const Refusal& refusal) {
        return fail(error, refusal.code, refusal.sentence);
    } catch (const std::bad_alloc&) {
        return fail(error, QS_RESOURCE_EXHAUSTED, "no memory");
    } catch (const std::exception& other) {
        return fail(error, QS_INTERNAL, other.what());
    }
}

/// The value of an option, or nullptr. The last one counts.
inline const char* option(const qs_kv* kv, std::uint32_t n, std::string_view key) {
    for (std::uint32_t i = n; i-- > 0;)
        if (kv[i].key && key == kv[i].key) return kv[i].value;
    return nullptr;
}

inline void giveText(std::string_view text, char* buf, std::uint64_t cap, std::uint64_t* need) {
    if (need) *need = text.size() + 1;
    if (!buf || cap == 0) return;
    const std::size_t n = std::min<std::size_t>(text.size(), cap - 1);
    std::memcpy(buf, text.data(), n);
    buf[n] = 0;
}

inline const qs_tensor* find(const qs_tensor* const* tensors, std::uint32_t n, std::string_view role) {
    for (std::uint32_t i = 0; i < n; ++i)
        if (tensors[i] && tensors[i]->role && role == tensors[i]->role) return tensors[i];
    return nullptr;
}

inline bool is(const char* text, std::string_view wanted) { return text && wanted == text; }

} // namespace qs::plugin
