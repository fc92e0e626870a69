// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What the codes of a spec mean: the format's own levels, or all 2^b integers where a dialect or a zero point uses them.

#include "core/quant/spec/spec.h"

namespace qs {

struct CodeSet {
    std::span<const float> levels; ///< ascending; empty for Identity
    int zeroCode = 0;              ///< code of 0; with zero points every group has its own
    int valueOffset = 0;           ///< integers: level = code + valueOffset
    Encoder encoder = Encoder::Identity;
};
CodeSet codeSetOf(const QuantSpec& spec);
/// The dialect has not put the levels of integers between them.
bool holdsZero(const QuantSpec& spec);
/// Values are decoded as (level - zero point) * scale.
bool hasZeroPoints(const QuantSpec& spec);
/// Values are decoded as level * scale + bias; the scale may be below 0.
bool hasBiases(const QuantSpec& spec);

} // namespace qs
