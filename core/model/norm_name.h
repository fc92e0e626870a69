// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string_view>

namespace qs {

/// A lower-case name of a norm: "layernorm", "norm_1", "batch_normalization"; not "normal_init" and "enormous".
bool saysNorm(std::string_view name);

} // namespace qs
