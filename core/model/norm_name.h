// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string_view>

namespace qs {

/// True if a lower-case name contains the word "norm": "layernorm", "norm_1", "batch_normalization". Not "normal_init"
/// or "enormous".
bool saysNorm(std::string_view name);

} // namespace qs
