// SPDX-License-Identifier: GPL-3.0-or-later
// Builds the function table of one instruction set.

inline KernelSet makeSet(const char* id, const char* title, bool (*supported)()) {
    return {
        .id = id,
        .title = title,
        .supported = supported,
        .f16ToF32 = f16ToF32,
        .bf16ToF32 = bf16ToF32,
        .f32ToF16 = f32ToF16,
        .f32ToBf16 = f32ToBf16,
        .absMax = absMax,
        .sumAbs = sumAbs,
        .sumAbsAbove = sumAbsAbove,
        .sum = sum,
        .sumSquaredDeviation = sumSquaredDeviation,
        .moments = moments,
        .floatBins = floatBins,
        .columnAbsMax = columnAbsMax,
        .quantize = quantize,
        .dequantize = dequantize,
        .quantizeNf4Packed = quantizeNf4Packed,
        .dequantizeNf4Packed = dequantizeNf4Packed,
        .quantizeInt8Stored = quantizeInt8Stored,
        .quantizeTernaryPacked = quantizeTernaryPacked,
    };
}
