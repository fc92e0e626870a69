// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Finds specs to offer in the place of a refused spec. Each one is tested, so every offer works.

#include "core/layouts/layout.h"

namespace qs {

/// Valid specs near `wanted` for which takes() is true, the nearest first: other keys of the same format, then other
/// formats with about as many bits.
std::vector<QuantSpec> specsNear(const QuantSpec& wanted, const std::function<bool(const QuantSpec&)>& takes,
                                 std::size_t most = 3);

/// Specs near `wanted` that the layout can write for all these tensors. With a null layout: specs that can quantize
/// them.
std::vector<QuantSpec> specsThatFit(const QuantSpec& wanted, std::span<const TensorInfo* const> tensors,
                                    const Layout* layout, std::size_t most = 3);

/// Specs in the place of one under which these tensors were refused when they were measured. If a tensor has NaN or
/// Inf, the offer skips them. If values overflow in this dialect, it uses another dialect. Else it has other sizes or
/// formats.
std::vector<QuantSpec> specsForRefused(const QuantSpec& refused, std::span<const TensorInfo* const> tensors,
                                       bool holdNonFinite, std::size_t most = 3);

/// "; what fits: nf4:block=32 or nf4:block=16"; "" if there are no offers.
std::string offersText(std::span<const QuantSpec> offers);

} // namespace qs
