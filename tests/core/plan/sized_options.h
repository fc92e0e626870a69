// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// planOptions() with storedSizes().

#include "core/plan/options.h"

namespace qs::plan {

inline Result<Options> sizedOptions(const OptionRequest& request, const Losses& losses) {
    const auto sizes = storedSizes(request.model, request.tensors.empty() ? nullptr : request.tensors.front(),
                                   request.allSpecs(), request.layout, Job());
    if (!sizes) return tl::unexpected(sizes.error());
    return planOptions(request, *sizes, losses);
}

} // namespace qs::plan
