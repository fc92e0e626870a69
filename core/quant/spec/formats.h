// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// So that the application needs no kernel header.

#include "kernels/format.h"

#include <string>
#include <vector>

namespace qs {

/// The instruction set that the kernels run on: "avx512".
std::string isaName();

} // namespace qs
