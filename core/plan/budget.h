// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A budget as people write it.

#include "core/base/result.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace qs::plan {

/// What a plan may take: a size, a time, or both.
struct Budget {
    std::optional<std::uint64_t> bytes; ///< of the whole file
    std::optional<std::uint64_t> ns;    ///< of all products of one pass over the model
    Budget() = default;
    Budget(std::uint64_t size) : bytes(size) {} ///< a size alone
};

/// Bytes of the whole file: "3.2GiB", or "4.5bpw" for 4.5 * elements / 8. `elements`: of all tensors of the file. Error:
/// another text, or nothing.
Result<std::uint64_t> parseBudget(const std::string& text, std::uint64_t elements);
/// A time in nanoseconds: "12ms", "800us", "1.5s", "900ns". Nothing: it has no unit of time. Error: the rest is no number
/// above 0.
Result<std::optional<std::uint64_t>> parseTime(const std::string& text);
/// One or two of them, at most one of each kind.
Result<Budget> parseBudgets(std::span<const std::string> texts, std::uint64_t elements);
/// "3.417 ms", "812.5 µs", for people.
std::string timeText(double ns);

} // namespace qs::plan
