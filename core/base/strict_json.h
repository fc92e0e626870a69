// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// JSON from untrusted files, as events instead of a tree. A tree would silently keep the last of duplicate keys, and
// take ten times the memory. These are refused before the visitor sees them: a byte order mark, NUL bytes (the parser
// would stop there), invalid UTF-8, nesting deeper than 8 (or mostDeep), strings of more than 16 MiB, anything after
// the root.

#include "core/base/result.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace qs {

/// Receives the events in order. A function returns false to refuse the text. It then sets `problem` to the part of the
/// message that follows the path.
class JsonVisitor {
public:
    virtual ~JsonVisitor() = default;
    virtual bool beginObject() = 0;
    virtual bool endObject() = 0;
    virtual bool beginArray() = 0;
    virtual bool endArray() = 0;
    virtual bool key(std::string& text) = 0;    ///< may be moved from
    virtual bool string(std::string& text) = 0; ///< may be moved from
    /// A whole number of 0 to 2^64 - 1.
    virtual bool count(std::uint64_t value) = 0;
    /// Any other value. `kind` is "null", "true", "false", "a negative number" or "not a whole number of 64 bits" (also
    /// 1e3).
    virtual bool other(const char* kind) = 0;
    /// Called for the numbers among these; `value` is rounded to the nearest double. Override it to accept them.
    virtual bool number(double value, const char* kind) {
        (void)value;
        return other(kind);
    }

    /// The deepest nesting that is allowed.
    int mostDeep = 8;
    std::string problem;
    std::uint64_t position = 0; ///< byte in the file; during key(): one past the key
    /// Optional. Called about every MiB with the position in the file. The text is read more than once, so positions
    /// start again.
    std::function<void(std::uint64_t)> passed;

protected:
    bool refuse(std::string why) {
        problem = std::move(why);
        return false;
    }
};

/// Reads the text and calls the visitor. `firstByte` is the position of `text` in the file. Errors read "PATH: PROBLEM
/// (at byte N)".
Result<void> readStrictJson(std::string_view text, const std::string& path, std::uint64_t firstByte,
                            JsonVisitor& visitor);

/// Index of the first byte that is not valid UTF-8, or npos.
std::size_t invalidUtf8(std::string_view text);

} // namespace qs
