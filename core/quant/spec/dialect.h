// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/quant/spec/spec.h"

namespace qs {

/// What another program's blocks cannot hold, and its arithmetic does not know, is refused with the nearest spec.
Result<void> checkDialect(const QuantSpec& spec);
/// dialect=mlx: rows are whole groups; the sentence names a spec that takes such rows.
Result<void> checkGroups(const QuantSpec& spec, std::int64_t features);
/// The largest magnitude that the arithmetic of a spec takes; a tensor with larger ones is refused.
float largestTaken(const QuantSpec& spec);

} // namespace qs
