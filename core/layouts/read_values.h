// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The values that a layout's reader gives for a tensor: what a proof compares with, and what an evaluation takes.

#include "core/layouts/model_fields.h"

namespace qs {

/// The values of a range of the source, before the reader rounds them to their type. `encode` is one of
/// MeasuredTensor::encoders().
void readValues(const TensorInLayout& source, const Layout& layout, const PassRange& range, RunEncoder& encode,
                float* values);
/// All values, rounded to their type, in the shape of the tensor that was measured.
Result<std::vector<float>> readBack(TensorInLayout& source, const Layout& layout);

} // namespace qs
