// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/lane_kernels.h"

namespace qs {

// The functions for products, chosen at run time. Each table is complete for its type of products. supported() of a
// variant tells which processors can run it.
#if defined(__x86_64__)
const LaneKernels& laneKernelsAvx512(LaneProducts products);
const LaneKernels& laneKernelsAvx2(LaneProducts products); ///< F32, I8 and Fixed
#elif defined(__aarch64__)
const LaneKernels& laneKernelsNeon(LaneProducts products); ///< F32 and I8
#endif

/// The inner loops of dense products; each points to one function per number of rows. bf16 may be null.
struct MicroKernels {
    const MicroKernel* f32;
    const MicroKernel* bf16;
    const MicroKernel* i8;
    const MicroKernel* i8OfInt8;
    std::size_t rows, width; ///< rows of the largest one; lanes of a dense panel
};
const MicroKernels& microKernelsAvx512();
const MicroKernels& microKernelsAvx2();
const MicroKernels& microKernelsNeon();

} // namespace qs
