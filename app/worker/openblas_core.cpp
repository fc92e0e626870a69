// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/worker/openblas_core.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace qs::worker {
namespace {

/// Intel family 6 models that 0.3.21 takes for what they are: Haswell to Comet Lake, Skylake-X, Ice, Tiger, Rocket and
/// Alder Lake, Sapphire Rapids.
constexpr unsigned kKnownIntel[] = {0x3c, 0x3d, 0x3f, 0x45, 0x46, 0x47, 0x4e, 0x4f, 0x55, 0x56, 0x5e, 0x66, 0x6a,
                                    0x6c, 0x7e, 0x8c, 0x8d, 0x8e, 0x8f, 0x97, 0x9a, 0x9e, 0xa5, 0xa6, 0xa7};
constexpr unsigned kNewestAmd = 0x19; ///< Zen 3 and 4, which it takes for Zen: no AVX-512

} // namespace

CpuModel thisCpu() {
    CpuModel cpu;
#if defined(__x86_64__)
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (__get_cpuid(0, &a, &b, &c, &d)) {
        cpu.intel = b == signature_INTEL_ebx;
        cpu.amd = b == signature_AMD_ebx;
    }
    if (__get_cpuid(1, &a, &b, &c, &d)) {
        const unsigned family = (a >> 8) & 15, model = (a >> 4) & 15;
        cpu.family = family == 15 ? 15 + ((a >> 20) & 255) : family;
        cpu.model = family == 6 || family == 15 ? model + (((a >> 16) & 15) << 4) : model;
    }
    cpu.avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    cpu.avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") &&
                 __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
                 __builtin_cpu_supports("avx512vl");
#endif
    return cpu;
}

std::optional<CoreChoice> openblasCore(const CpuModel& cpu) {
    const std::string who = fmt::format("{} family {} model {}",
                                        cpu.intel ? "Intel"
                                        : cpu.amd ? "AMD"
                                                  : "this CPU's",
                                        cpu.family, cpu.model);
    const bool known = cpu.intel && cpu.family == 6 &&
                       std::find(std::begin(kKnownIntel), std::end(kKnownIntel), cpu.model) != std::end(kKnownIntel);
    if (known) return std::nullopt;
    if (cpu.avx512) return CoreChoice{"SKYLAKEX", who + " has AVX-512, which OpenBLAS 0.3.21 would not use"};
    if (!cpu.avx2 || (cpu.amd && cpu.family <= kNewestAmd)) return std::nullopt;
    return CoreChoice{cpu.amd ? "ZEN" : "HASWELL", who + " has AVX2, which OpenBLAS 0.3.21 would not use"};
}

} // namespace qs::worker
