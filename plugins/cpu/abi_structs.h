// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Structs that cross: read and written up to the smaller of both sizes.

#include "plugins/abi/quantscope_backend.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>
#include <string>
#include <string_view>

namespace qs::cpu {

template<class T> T taken(const T* theirs) {
    T mine{};
    if (theirs) std::memcpy(&mine, theirs, std::min<std::size_t>(theirs->struct_size, sizeof(T)));
    return mine;
}
template<class T> void give(T* theirs, T mine) {
    if (!theirs) return;
    mine.struct_size = theirs->struct_size;
    std::memcpy(theirs, &mine, std::min<std::size_t>(theirs->struct_size, sizeof(T)));
}
template<std::size_t n> void put(char (&into)[n], std::string_view text) {
    const std::size_t count = std::min(text.size(), n - 1);
    std::memcpy(into, text.data(), count);
    into[count] = 0;
}
inline std::string_view text(const char* s) { return s ? std::string_view(s) : std::string_view(); }

inline int32_t fail(qs_error* error, int32_t code, std::string_view message) {
    qs_error mine{};
    mine.code = code;
    put(mine.msg, message);
    give(error, mine);
    return code;
}
inline int32_t giveText(std::string_view what, char* buf, uint64_t cap, uint64_t* need) {
    if (need) *need = what.size() + 1;
    if (buf && cap) {
        const std::size_t count = std::min<std::size_t>(what.size(), cap - 1);
        std::memcpy(buf, what.data(), count);
        buf[count] = 0;
    }
    return QS_OK;
}

/// Nothing throws across the table.
template<class Body> int32_t guarded(qs_error* error, const Body& body) {
    try {
        return body();
    } catch (const std::bad_alloc&) {
        return fail(error, QS_RESOURCE_EXHAUSTED, "Not enough memory for this shape.");
    } catch (...) {
        return fail(error, QS_INTERNAL, "The cpu backend failed for a reason that it does not know.");
    }
}

} // namespace qs::cpu
