// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Text for people: escaping of names that come from files, and the fixed spellings of numbers.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace qs {

/// Control, bidi-override and invalid UTF-8 characters as \u{..}; at most `maxChars` characters, the middle elided with "…".
std::string escapeForPeople(std::string_view text, std::size_t maxChars = 120);

/// A path in a message: escapeForPeople with room for 200 characters.
std::string shownPath(const std::string& path);
/// "[256, 688]"; more than 8 dimensions are elided.
std::string shapeText(std::span<const std::int64_t> shape);
std::string wholeShapeText(std::span<const std::int64_t> shape); ///< never elided: what machines read
/// "256 × 688" for the window.
std::string shapeTimes(std::span<const std::int64_t> shape);
/// "3.41 MiB", binary units, 2 decimals; "172 B" below 1 KiB.
std::string bytesText(std::uint64_t bytes);
/// Fixed decimals; "inf", "-inf" and "nan" spelled out.
std::string fixedText(double value, int decimals);
/// Significant digits for magnitudes of unknown size: "0.0381", "1.24e-07".
std::string significantText(double value, int digits = 4);
/// The same digits, always with the power of ten: "3.81e-03"; 0 is "0".
std::string scientificText(double value, int digits = 4);
/// Seconds for a progress lane: "0.4 s", "2 min 5 s".
std::string durationText(double seconds);
/// At most 500 bytes, one line: the contract for an error sentence.
std::string oneSentence(std::string_view message);

} // namespace qs
