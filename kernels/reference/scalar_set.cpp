// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/reference/reference.h"

namespace qs {

const KernelSet& scalarKernels() {
    static const KernelSet set = {
        .id = "scalar",
        .title = "plain C++",
        .supported = [] { return true; },
        .f16ToF32 = reference::f16ToF32,
        .bf16ToF32 = reference::bf16ToF32,
        .f32ToF16 = reference::f32ToF16,
        .f32ToBf16 = reference::f32ToBf16,
        .absMax = reference::absMax,
        .sumAbs = reference::sumAbs,
        .sumAbsAbove = reference::sumAbsAbove,
        .sum = reference::sum,
        .sumSquaredDeviation = reference::sumSquaredDeviation,
        .moments = reference::moments,
        .floatBins = reference::floatBins,
        .columnAbsMax = reference::columnAbsMax,
        .quantize = reference::quantize,
        .dequantize = reference::dequantize,
        .quantizeNf4Packed = reference::quantizeNf4Packed,
        .dequantizeNf4Packed = reference::dequantizeNf4Packed,
        .quantizeInt8Stored = reference::quantizeInt8Stored,
        .quantizeTernaryPacked = reference::quantizeTernaryPacked,
    };
    return set;
}

} // namespace qs
