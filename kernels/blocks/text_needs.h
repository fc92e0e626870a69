// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What text.h needs and no function of which may be compiled for one instruction set alone.

#include "kernels/blocks/block_set.h"
#include "kernels/simd/target.h"
#include "kernels/small_float.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#define QS_LAMBDA __attribute__((always_inline))
