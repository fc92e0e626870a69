// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The headers that row_math_text.h needs, included outside the target region.

#include "kernels/network/row_math.h"
#include "kernels/simd/target.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
