// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The headers that text.h needs. They are included outside the target region, because none of their functions may be
// compiled for one instruction set only.

#include "kernels/blocks/block_set.h"
#include "kernels/simd/target.h"
#include "kernels/small_float.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#define QS_LAMBDA __attribute__((always_inline))
