// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A tensor rounded to a float type of 16 bits: what a program quantizes that loads a model in another type than its own.

#include "core/model/model.h"

namespace qs {

/// Rounds while it is read. `source` must stay as long as the tensor.
TensorInfo roundedTensor(const TensorView& source, DType type);

} // namespace qs
