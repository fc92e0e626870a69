// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The rows of the layout registry, one file each.

#include "core/quant/layout.h"

namespace qs {

Layout eformerLayout();
Layout nativeLayout();
Layout plainLayout();

} // namespace qs
