// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// How well decoded values look like weights. It cannot prove a convention: the order of two codes in a byte, for
// example, leaves no trace in weights that are independent. It can refute one.

#include "core/model/conventions/layer.h"

namespace qs {

/// Layers below it are not decoded without proof.
inline constexpr double kLeastPlausible = 0.1;

struct Plausibility {
    double value = 0;   ///< 0 to 1; see ConventionCandidate
    std::string reason; ///< a clause
};
/// Looks at the first 64 rows and 1,024 columns. Values that are not finite, or of a size that weights do not have, give
/// 0. Otherwise neighbouring blocks of 16 columns are compared: in weights, large rows and columns make their sizes
/// alike; under scales in a wrong order they are not.
Plausibility plausibilityOf(const Layer& layer);

} // namespace qs
