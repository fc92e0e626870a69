// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What to offer in the place of a spec that was refused: found by asking, so that whatever is offered works.

#include "core/layouts/layout.h"

namespace qs {

/// Sound specs near `wanted` that `takes` accepts, the nearest first: other keys of the same format, then other formats
/// of about as many bits.
std::vector<QuantSpec> specsNear(const QuantSpec& wanted, const std::function<bool(const QuantSpec&)>& takes,
                                 std::size_t most = 3);

/// Those that the layout writes for all these tensors; null layout: that the tensors can be quantized by at all.
std::vector<QuantSpec> specsThatFit(const QuantSpec& wanted, std::span<const TensorInfo* const> tensors,
                                    const Layout* layout, std::size_t most = 3);

/// In the place of a spec under which measuring these tensors was refused: that leaves NaN and Inf out where some hold
/// any, has the scales of another dialect where values overflow in this one, or else other sizes and formats.
std::vector<QuantSpec> specsForRefused(const QuantSpec& refused, std::span<const TensorInfo* const> tensors,
                                       bool holdNonFinite, std::size_t most = 3);

/// "; what fits: nf4:block=32 or nf4:block=16"; "" of none.
std::string offersText(std::span<const QuantSpec> offers);

} // namespace qs
