// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Specs that a layout cannot hold side by side in one file, such as two 4-bit types of bitsandbytes.

#include "core/plan/options.h"

namespace qs::plan {

/// Of each spec to choose from: why no file of the layout holds it beside the specs of locks and those before it; "": one
/// does. The layout's own description of a file is asked (Layout::config).
std::vector<std::string> refusedTogether(const OptionRequest& request, const StoredSizes& sizes,
                                         const PlanUnits& units);

} // namespace qs::plan
