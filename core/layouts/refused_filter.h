// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/model/model.h"

namespace qs {

/// A short regular expression that matches tensors of `taken`, but none of `refused` and no other tensor; "" if there
/// is no short one.
std::string filterWithout(const Model& model, const std::vector<const TensorInfo*>& taken,
                          const std::vector<const TensorInfo*>& refused);

} // namespace qs
