// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The thresholds at which Encoder::NearestLevel changes from one code to the next.

#include <span>
#include <vector>

namespace qs {

/// The midpoints of neighbouring levels in f32, one fewer than levels. `levels` is ascending. A value on a midpoint
/// gets the lower code. Between -0 and +0 the threshold is the negative number nearest to 0, so that 0 gets the code of
/// +0.
std::vector<float> boundariesBetween(std::span<const float> levels);
/// The same, computed once and kept. `levels` must live as long as the program.
std::span<const float> boundariesOf(std::span<const float> levels);

} // namespace qs
