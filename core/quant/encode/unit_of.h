// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Which unit of a pass an element lies in, for layouts that do not go through a tensor in order.

#include "core/quant/encode/pass.h"

namespace qs {

inline std::uint64_t unitOf(const TensorPass& pass, std::uint64_t element) {
    std::uint64_t low = 0, high = pass.units(); // the first unit that begins behind it, less one
    while (high - low > 1) {
        const std::uint64_t middle = low + (high - low) / 2;
        (pass.unitBegin(middle) <= element ? low : high) = middle;
    }
    return low;
}

} // namespace qs
