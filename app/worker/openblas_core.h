// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// OpenBLAS picks its kernels by the CPU's model number and takes a model that is newer than itself for an old one,
// which halves its speed. OPENBLAS_CORETYPE, set before it is loaded, is its way to be told.

#include <optional>
#include <string>

namespace qs::worker {

struct CpuModel {
    bool intel = false, amd = false;
    unsigned family = 0, model = 0;    ///< with their extended parts: 6, 0x8f
    bool avx2 = false, avx512 = false; ///< usable; avx512: F, CD, DQ, BW and VL
};
CpuModel thisCpu();

struct CoreChoice {
    std::string core; ///< "SKYLAKEX"
    std::string why;
};
/// nullopt: OpenBLAS 0.3.21 (Debian 12) knows this CPU, or there is nothing better to say.
std::optional<CoreChoice> openblasCore(const CpuModel& cpu);

} // namespace qs::worker
