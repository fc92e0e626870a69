// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Where Encoder::NearestLevel changes from a code to the next.

#include <span>
#include <vector>

namespace qs {

/// The f32 midpoints of ascending levels, one fewer than levels: a value on a midpoint has the lower code. Between -0
/// and +0 lies the negative number nearest to 0, so that 0 has the code of +0.
std::vector<float> boundariesBetween(std::span<const float> levels);
/// The same for levels that live as long as the program, worked out once.
std::span<const float> boundariesOf(std::span<const float> levels);

} // namespace qs
