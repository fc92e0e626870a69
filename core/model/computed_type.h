// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/model/dtype.h"

namespace qs {

/// The type in which values that were computed from a tensor of type `source` are written: BF16 for floats of 8 bits, which
/// it holds exactly, and which could not hold what a spec made of them; else `source`.
DType computedType(DType source);

} // namespace qs
