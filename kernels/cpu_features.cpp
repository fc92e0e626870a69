// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cpu_features.h"

namespace qs {

const char* openblasCoreType() {
#if defined(__x86_64__)
    __builtin_cpu_init();
    // Intel's processors are told apart by their features there, and have cores of their own above SKYLAKEX.
    if (__builtin_cpu_is("intel")) return nullptr;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return __builtin_cpu_supports("avx512bf16") ? "COOPERLAKE" : "SKYLAKEX";
#endif
    return nullptr;
}

} // namespace qs
