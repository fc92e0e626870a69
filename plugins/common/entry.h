// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Helpers for backends written in C++. They read and write structs of any size, cut texts to the size of their fields,
// and turn exceptions into error codes at the C interface.

#include "plugins/abi/quantscope_backend.h"
#include "plugins/abi/quantscope_backend_basics.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>

namespace qs::plugin {

/// Copies a struct of the caller. Fields that the caller's struct does not have become 0.
template<class T> T given(const T* from) {
    T value;
    qs_take(&value, sizeof value, from);
    return value;
}
/// Writes the fields that the caller's struct has, and does not change its struct_size.
template<class T> void give(T* to, const T& value) { qs_give(to, &value, sizeof value); }

/// Copies a text into a field, with a NUL at its end. A text that is too long is cut after a whole UTF-8 character.
template<std::size_t N> void put(char (&field)[N], std::string_view text) {
    qs_put(field, N, text.data(), text.size());
}

inline std::int32_t fail(qs_error* error, std::int32_t code, std::string_view sentence, std::string_view hint = {}) {
    qs_error value{};
    value.code = code;
    put(value.msg, sentence);
    put(value.hint, hint);
    give(error, value);
    return code;
}

/// The exception that a backend throws inside: a return code, one sentence, and what the user can do about it.
struct Refusal : std::exception {
    Refusal(std::int32_t code, std::string sentence, std::string hint = {})
        : code(code), sentence(std::move(sentence)), hint(std::move(hint)) {}
    const char* what() const noexcept override { return sentence.c_str(); }
    std::int32_t code;
    std::string sentence, hint;
};

/// Runs the body of an interface function and turns every exception into a return code. The body may return a code.
template<class Body> std::int32_t guarded(qs_error* error, const Body& body) noexcept {
    try {
        if constexpr (std::is_same_v<decltype(body()), std::int32_t>)
            return body();
        else
            return body(), QS_OK;
    } catch (const Refusal& refusal) {
        return fail(error, refusal.code, refusal.sentence, refusal.hint);
    } catch (const std::bad_alloc&) {
        return fail(error, QS_RESOURCE_EXHAUSTED, "not enough memory");
    } catch (const std::exception& other) {
        return fail(error, QS_INTERNAL, other.what());
    }
}

inline std::int32_t giveText(std::string_view text, char* buf, std::uint64_t cap, std::uint64_t* need) {
    return qs_give_text(text.data(), text.size(), buf, cap, need);
}

struct Identity {
    const char *id, *name, *version;
    std::uint32_t isolation; ///< QS_ISOLATION_*
    double openSeconds = 0;  ///< most seconds that open() may take; 0: the host's limit
};
/// The table of a backend in this repository, which has all functions of the interface. Only `artifact` may be null.
constexpr qs_backend tableOf(const Identity& who, decltype(qs_backend::probe) probe, decltype(qs_backend::open) open,
                             decltype(qs_backend::close) close, decltype(qs_backend::describe) describe,
                             decltype(qs_backend::device_count) deviceCount, decltype(qs_backend::device_get) deviceGet,
                             decltype(qs_backend::roof) roof, decltype(qs_backend::query) query,
                             decltype(qs_backend::variant_get) variantGet, decltype(qs_backend::prepare) prepare,
                             decltype(qs_backend::execute) execute, decltype(qs_backend::bench) bench,
                             decltype(qs_backend::artifact) artifact, decltype(qs_backend::kernel_destroy) destroy,
                             decltype(qs_backend::cancel) cancel) {
    return {.struct_size = sizeof(qs_backend),
            .abi_major = QS_ABI_MAJOR,
            .abi_minor = QS_ABI_MINOR,
            .isolation = who.isolation,
            .id = who.id,
            .name = who.name,
            .version = who.version,
            .license = "GPL-3.0-or-later",
            .open_seconds = who.openSeconds,
            .probe = probe,
            .open = open,
            .close = close,
            .describe = describe,
            .device_count = deviceCount,
            .device_get = deviceGet,
            .roof = roof,
            .query = query,
            .variant_get = variantGet,
            .prepare = prepare,
            .execute = execute,
            .bench = bench,
            .artifact = artifact,
            .kernel_destroy = destroy,
            .cancel = cancel,
            .extension = [](const char*, std::uint32_t) -> const void* { return nullptr; }};
}

inline bool is(const char* text, std::string_view wanted) { return text && wanted == text; }

} // namespace qs::plugin
