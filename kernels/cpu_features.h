// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What this processor has that a library does not find out by itself.

#include <span>

namespace qs {

/// What decides which core of OpenBLAS suits a processor. A feature counts when the system saves its registers.
struct CpuFeatures {
    bool amd = false;        ///< AMD or Hygon
    bool fma4 = false;       ///< AMD before Zen
    bool avx2 = false;       ///< and FMA
    bool avx512 = false;     ///< F, CD, BW, DQ and VL
    bool avx512Bf16 = false; ///< products of bf16 pairs
    bool amx = false;        ///< tiles of bf16
};
CpuFeatures cpuFeatures(); ///< of this processor

/// Values of OPENBLAS_CORETYPE that suit such a processor, best first. A library gets the first that it knows. Empty:
/// OpenBLAS may choose. OpenBLAS asks for vendor and model number: it takes a processor that it does not know for an
/// old one, and computes with vectors of half or a quarter of the width.
std::span<const char* const> openblasCores(const CpuFeatures& features);

} // namespace qs
