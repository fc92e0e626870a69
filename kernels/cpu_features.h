// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Processor features that OpenBLAS does not detect correctly by itself.

#include <span>

namespace qs {

/// The features that decide which OpenBLAS core type suits a processor. A feature counts only if the operating system
/// saves its registers.
struct CpuFeatures {
    bool amd = false;        ///< vendor is AMD or Hygon
    bool fma4 = false;       ///< FMA4: AMD processors before Zen
    bool avx2 = false;       ///< AVX2 and FMA
    bool avx512 = false;     ///< AVX-512 F, CD, BW, DQ and VL
    bool avx512Bf16 = false; ///< AVX-512 BF16: products of bf16 pairs
    bool amx = false;        ///< AMX tiles with bf16
};
CpuFeatures cpuFeatures(); ///< the features of this processor

/// The values of OPENBLAS_CORETYPE that suit such a processor, best first. Use the first one that the library knows.
/// Empty: let OpenBLAS choose. Reason: OpenBLAS decides by vendor and model number. It treats an unknown processor as
/// an old one, and then computes with vectors of half or a quarter of the width.
std::span<const char* const> openblasCores(const CpuFeatures& features);

} // namespace qs
