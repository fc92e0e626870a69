// SPDX-License-Identifier: GPL-3.0-or-later
// Reads the values of GGUF keys.
#include "core/base/strict_json.h"
#include "core/base/tensor_name.h"
#include "core/base/text.h"
#include "core/model/gguf/gguf_cursor.h"

#include <array>
#include <concepts>
#include <fmt/format.h>
#include <utility>

namespace qs {
namespace {

constexpr std::uint64_t kMostItems = std::uint64_t(1) << 30; ///< most bytes of a string, most items of an array
constexpr std::uint64_t kShown = 8;                          ///< items of an array that are shown in its text

struct TypeRow {
    const char* name;
    unsigned bytes;
};
constexpr std::array<TypeRow, std::size_t(GgufType::Count)> kTypes = {{{"u8", 1},
                                                                       {"i8", 1},
                                                                       {"u16", 2},
                                                                       {"i16", 2},
                                                                       {"u32", 4},
                                                                       {"i32", 4},
                                                                       {"f32", 4},
                                                                       {"bool", 1},
                                                                       {"string", 8},
                                                                       {"array", 12},
                                                                       {"u64", 8},
                                                                       {"i64", 8},
                                                                       {"f64", 8}}};

GgufType readType(GgufCursor& cursor) {
    const auto number = cursor.number<std::uint32_t>();
    if (number < std::uint32_t(GgufType::Count)) return GgufType(number);
    cursor.refuse(fmt::format("value type {} is none of GGUF's (0 to {})", number, int(GgufType::Count) - 1));
    return GgufType::U8;
}

template<class T> void take(GgufCursor& cursor, GgufValue& out) {
    const T value = cursor.number<T>();
    out.text = fmt::format("{}", value);
    if constexpr (std::integral<T>)
        if (std::in_range<std::int64_t>(value)) out.whole = std::int64_t(value);
}

/// The text, or an escaped form of it if it is not valid UTF-8. Works on a copy, because a mapped file may change after
/// the check.
std::string asUtf8(std::string text) {
    return invalidUtf8(text) == std::string_view::npos ? text : escapeForPeople(text, 4096);
}

void readScalar(GgufCursor& cursor, GgufType type, GgufValue& out) {
    switch (type) {
    case GgufType::U8: return take<std::uint8_t>(cursor, out);
    case GgufType::I8: return take<std::int8_t>(cursor, out);
    case GgufType::U16: return take<std::uint16_t>(cursor, out);
    case GgufType::I16: return take<std::int16_t>(cursor, out);
    case GgufType::U32: return take<std::uint32_t>(cursor, out);
    case GgufType::I32: return take<std::int32_t>(cursor, out);
    case GgufType::U64: return take<std::uint64_t>(cursor, out);
    case GgufType::I64: return take<std::int64_t>(cursor, out);
    case GgufType::F32: return take<float>(cursor, out);
    case GgufType::F64: return take<double>(cursor, out);
    case GgufType::Bool:
        if (const auto value = cursor.number<std::uint8_t>(); value > 1)
            cursor.refuse(fmt::format("a bool is {}, neither 0 nor 1", value));
        else
            out.text = value ? "true" : "false";
        return;
    case GgufType::String: out.text = asUtf8(std::string(cursor.string())); return;
    case GgufType::Array:
    case GgufType::Count: break;
    }
    cursor.refuse("an array holds arrays, which no reader of GGUF takes");
}

void readArray(GgufCursor& cursor, GgufValue& out) {
    out.items = readType(cursor);
    out.length = cursor.number<std::uint64_t>();
    if (cursor.failed()) return;
    if (out.items == GgufType::Array) return cursor.refuse("an array holds arrays, which no reader of GGUF takes");
    if (out.length > kMostItems)
        return cursor.refuse(fmt::format("an array of {} items is over the limit of {}", out.length, kMostItems));
    const std::uint64_t least = kTypes[std::size_t(out.items)].bytes;
    if (out.length > cursor.left() / least)
        return cursor.refuse(
            fmt::format("an array of {} items does not fit the {} bytes that are left", out.length, cursor.left()));
    // Strings have different lengths and bools must be checked, so these are read one by one. Other items are skipped
    // together.
    const bool each = out.items == GgufType::String || out.items == GgufType::Bool;
    out.text = "[";
    for (std::uint64_t i = 0; i < out.length && !cursor.failed(); ++i) {
        if (i >= kShown && !each) {
            cursor.skip((out.length - i) * least);
            break;
        }
        if (i >= kShown && out.items == GgufType::String) {
            cursor.string();
            continue;
        }
        GgufValue item;
        readScalar(cursor, out.items, item);
        if (i >= kShown) continue;
        if (out.items == GgufType::String) item.text = quotedName(item.text);
        out.text += (i ? ", " : "") + item.text;
    }
    if (out.length > kShown) out.text += fmt::format(", … {} of {} in all", out.length, nameOf(out.items));
    out.text += "]";
}

} // namespace

const char* nameOf(GgufType type) { return kTypes[std::size_t(type)].name; }

bool GgufCursor::has(std::uint64_t bytes) {
    if (failed_) return false;
    if (bytes > left()) {
        refuse(fmt::format("the file is cut short: {} bytes are needed here and {} are left", bytes, left()));
        return false;
    }
    if (bytes <= head_.size() - at_) return true;
    failed_ = wantsMore_ = true;
    return false;
}

std::string_view GgufCursor::string() {
    const auto length = number<std::uint64_t>();
    if (length > kMostItems && !failed_)
        refuse(fmt::format("a string of {} bytes is over the limit of {}", length, kMostItems));
    else if (length > left() && !failed_)
        refuse(fmt::format("a string of {} bytes does not fit the {} bytes that are left", length, left()));
    if (!has(length)) return {};
    const std::string_view text(reinterpret_cast<const char*>(head_.data()) + at_, std::size_t(length));
    at_ += length;
    return text;
}

GgufValue readGgufValue(GgufCursor& cursor) {
    GgufValue value;
    value.type = readType(cursor);
    if (cursor.failed()) return value;
    if (value.type == GgufType::Array)
        readArray(cursor, value);
    else
        readScalar(cursor, value.type, value);
    return value;
}

} // namespace qs
