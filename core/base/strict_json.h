// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// JSON from files that may lie. Events instead of a tree, because a tree silently keeps the last of duplicate keys and
// takes ten times the memory. Refused before the visitor sees them: a byte order mark, NUL bytes (the parser would take
// one for the end), invalid UTF-8, nesting deeper than 8 (or mostDeep), texts of more than 16 MiB, anything after the root.

#include "core/base/result.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace qs {

/// Gets the events in order. Each returns false to refuse, with `problem` set to what follows the path in the sentence.
class JsonVisitor {
public:
    virtual ~JsonVisitor() = default;
    virtual bool beginObject() = 0;
    virtual bool endObject() = 0;
    virtual bool beginArray() = 0;
    virtual bool endArray() = 0;
    virtual bool key(std::string& text) = 0;    ///< may be moved from
    virtual bool string(std::string& text) = 0; ///< may be moved from
    virtual bool count(std::uint64_t value) = 0;
    /// Anything else: "null", "true", "a negative number", "a fraction" (also 1e3 and integers beyond 64 bits).
    virtual bool other(const char* kind) = 0;
    /// Of those the numbers, for visitors that take them: `value` rounded to the nearest double.
    virtual bool number(double value, const char* kind) {
        (void)value;
        return other(kind);
    }

    int mostDeep = 8;
    std::string problem;
    std::uint64_t position = 0; ///< in the file; while key() runs: one past the key
    /// Where given, hears every MiB how far in the file the reading is; it goes over the text twice.
    std::function<void(std::uint64_t)> passed;

protected:
    bool refuse(std::string why) {
        problem = std::move(why);
        return false;
    }
};

/// `firstByte` is where `text` starts in the file; errors say "PATH: PROBLEM (at byte N)".
Result<void> readStrictJson(std::string_view text, const std::string& path, std::uint64_t firstByte,
                            JsonVisitor& visitor);

/// Index of the first byte that is not valid UTF-8, or npos.
std::size_t invalidUtf8(std::string_view text);

} // namespace qs
