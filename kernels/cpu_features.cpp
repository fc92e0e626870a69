// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cpu_features.h"

#include <cstdint>
#include <cstring>
#include <string_view>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace qs {
namespace {

#if defined(__x86_64__)

bool isAmd() {
    unsigned most = 0, name[3] = {};
    if (!__get_cpuid(0, &most, &name[0], &name[2], &name[1])) return false;
    char vendor[13] = {};
    std::memcpy(vendor, name, 12);
    return std::string_view(vendor) == "AuthenticAMD" || std::string_view(vendor) == "HygonGenuine";
}

/// Reads cpuid, because not every compiler knows these features by name. The operating system must save the tile
/// registers too: bits 17 and 18 of XCR0.
bool hasBf16Tiles() {
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & (1u << 27))) return false; // OSXSAVE
    std::uint32_t saved = 0, high = 0;
    __asm__("xgetbv" : "=a"(saved), "=d"(high) : "c"(0));
    constexpr unsigned kTiles = 1u << 24, kBf16Tiles = 1u << 22, kBoth = kTiles | kBf16Tiles;
    return (saved >> 17 & 3) == 3 && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & kBoth) == kBoth;
}

#endif

} // namespace

CpuFeatures cpuFeatures() {
    CpuFeatures has;
#if defined(__x86_64__)
    __builtin_cpu_init();
    has.amd = isAmd();
    has.fma4 = __builtin_cpu_supports("fma4");
    has.avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    has.avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") &&
                 __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                 __builtin_cpu_supports("avx512vl");
    has.avx512Bf16 = __builtin_cpu_supports("avx512bf16");
    has.amx = hasBf16Tiles();
#endif
    return has;
}

std::span<const char* const> openblasCores(const CpuFeatures& has) {
    // Core types ordered by vector width, widest first. A processor can use all core types from some entry of its list
    // on.
    static constexpr const char* kIntel[] = {"SAPPHIRERAPIDS", "COOPERLAKE", "SKYLAKEX", "HASWELL"};
    static constexpr const char* kAmd[] = {"COOPERLAKE", "SKYLAKEX", "ZEN", "HASWELL"};
    const bool wide = has.avx512 && has.avx2, pairs = wide && has.avx512Bf16;
    // AMD processors with FMA4 have AVX2 units of half the width. OpenBLAS has a core type for them and detects it
    // itself.
    if (!has.avx2 || has.fma4) return {};
    const std::span<const char*const> amd = kAmd, others = kIntel;
    if (has.amd) return amd.subspan(pairs ? 0 : wide ? 1 : 2);
    return others.subspan(pairs && has.amx ? 0 : pairs ? 1 : wide ? 2 : 3);
}

} // namespace qs
