// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Text for people: escaping of names from files, and fixed forms of numbers.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace qs {

/// An ASCII digit, whatever the locale is.
constexpr bool isDigit(char c) { return c >= '0' && c <= '9'; }

/// Replaces control characters, bidi overrides and invalid UTF-8 by \u{..} or \x.. and keeps at most `maxChars`
/// characters; a longer text gets "…" in its middle.
std::string escapeForPeople(std::string_view text, std::size_t maxChars = 120);

/// A path for a message: escapeForPeople() with 200 characters.
std::string shownPath(const std::string& path);
/// "[256, 688]". Of more than 8 dimensions it shows 6 and the number of the others.
std::string shapeText(std::span<const std::int64_t> shape);
std::string wholeShapeText(std::span<const std::int64_t> shape); ///< all dimensions; for programs
/// "256 × 688", for the window.
std::string shapeTimes(std::span<const std::int64_t> shape);
/// "3.41 MiB": binary units with 2 decimals; "172 B" below 1 KiB.
std::string bytesText(std::uint64_t bytes);
/// A fixed number of decimals; "inf", "-inf" and "nan" as words.
std::string fixedText(double value, int decimals);
/// A number of significant digits, for values of unknown magnitude: "0.0381", "1.24e-07".
std::string significantText(double value, int digits = 4);
/// Always with the power of ten: "3.81e-03" for 4 digits; 0 is "0".
std::string scientificText(double value, int digits = 4);
/// A duration: "0.4 s", "2 min 5 s", "1 h 3 min".
std::string durationText(double seconds);
/// Makes a message one line of at most 500 bytes, which is the limit for error messages.
std::string oneSentence(std::string_view message);

} // namespace qs
