// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Specs that no file of a layout holds, or not side by side, such as two 4-bit types of bitsandbytes.

#include "core/plan/options.h"

namespace qs::plan {

/// Of each spec to choose from: why no file of the layout holds it in all units, beside the specs of locks; or beside those
/// before it too. "": one does. See takenTogether().
std::vector<std::string> refusedTogether(const OptionRequest& request, const StoredSizes& sizes,
                                         const PlanUnits& units);

} // namespace qs::plan
