// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/quant/spec.h"

namespace qs {

/// What another program's blocks cannot hold, and its arithmetic does not know, is refused with the nearest spec.
Result<void> checkDialect(const QuantSpec& spec);
/// The largest magnitude that the arithmetic of a spec takes; a tensor with larger ones is refused.
float largestTaken(const QuantSpec& spec);

} // namespace qs
