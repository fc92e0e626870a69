// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Which tensors get one spec together, and what decides for them.

#include "core/plan/options.h"

namespace qs::plan {

struct LockedUnit {
    PlanUnit unit;
    const TensorRule* lock = nullptr; ///< of the request; null: the plan decides
    std::vector<std::size_t> limits;  ///< those of the request that are for it
};
/// In the order of the model. `remarks` gets a sentence where locks of one group differ: each tensor of such a group is a
/// unit of its own. Errors: an expression that is none.
Result<std::vector<LockedUnit>> unitsOf(const OptionRequest& request, const Layout& layout,
                                        std::vector<std::string>& remarks);

} // namespace qs::plan
