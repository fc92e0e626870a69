// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace qs::eval {

/// What the matrices take that are quantized, and the whole model.
struct ChangedSize {
    std::size_t matrices = 0;
    std::uint64_t elements = 0, bytes = 0;       ///< of these matrices
    std::uint64_t allElements = 0, allBytes = 0; ///< of all tensors
    /// Bits per weight of the matrices; none: there are none.
    std::optional<double> bpw() const {
        return elements ? std::optional(8.0 * double(bytes) / double(elements)) : std::nullopt;
    }
    std::optional<double> bpwAll() const {
        return allElements ? std::optional(8.0 * double(allBytes) / double(allElements)) : std::nullopt;
    }
};

} // namespace qs::eval
