// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Several filters of tensors together, as commands and functions take them.

#include "core/model/model.h"

#include <string>
#include <vector>

namespace qs {

/// Tensors that match any filter, in the order of the model; without filters every float tensor of rank 2 or more. It is
/// an error if there are none.
Result<std::vector<const TensorInfo*>> selectAny(const Model& model, const std::vector<std::string>& filters);
/// Joins filters into one regular expression; "" without filters.
std::string joinedFilters(const std::vector<std::string>& filters);

} // namespace qs
