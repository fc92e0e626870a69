// SPDX-License-Identifier: GPL-3.0-or-later
// All block formats for one instruction set. Include it between QS_TARGET_BEGIN and QS_TARGET_END.
#include "kernels/blocks/lanes_text.h"
//
#include "kernels/blocks/simple_text.h"
//
#include "kernels/blocks/ternary_text.h"
//
#include "kernels/blocks/iq4_text.h"
//
#include "kernels/blocks/superblock_fit_text.h"
//
#include "kernels/blocks/superblock_text.h"
//
#include "kernels/blocks/codecs_text.h"
//
#include "kernels/blocks/measure_text.h"
//
#include "kernels/blocks/shifted_text.h"
