// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What can be done with a problem, and in which ways: decided on the host, from text and shapes alone.

#include "kernels/cuda/tiles.h"
#include "plugins/cuda/coder.h"

#include <optional>

namespace qs::cuda {

enum class Path {
    Skinny,            ///< our kernel for few rows of x
    Staged,            ///< the same, where blocks of many channels share x
    Large,             ///< our kernel for many
    Integers,          ///< cuBLASLt, int8 x int8
    E4m3,              ///< cuBLASLt, e4m3 x e4m3
    F32,               ///< cuBLAS over f32 weights
    Bf16,              ///< cuBLAS over weights rounded to bf16
    DequantizedInRun,  ///< our decoder to bf16 in every run, then cuBLAS
    DequantizedBefore, ///< weights decoded to bf16 in prepare, then cuBLAS
    Dequantize,
    Quantize, ///< nf4 and int8
    QuantizeBySearch,
    QuantizeActivations
};

struct VariantRow {
    Path path;
    const char *id, *title, *note;
    const char* compute; ///< type of the products, as qs_variant::compute
    std::uint32_t flags; ///< QS_VARIANT_*
    int fusion;          ///< QS_FUSION_*
};

/// Of Path::E4m3, whose own note is that of the other way.
inline constexpr const char* kScaledInProduct = "fp8 products, sums in f32, both scales in f32 by cuBLASLt itself";

/// Libraries that were found, or why not.
struct Libraries {
    std::string noBlas{}, noLt{}, noFp8{}; ///< empty: loaded; fp8 products need a newer device, too
};

/// How our kernels would read the scales; nullopt: they cannot.
struct Tiling {
    int bits;
    ScaleMode mode;
    std::int64_t block;
};
std::optional<Tiling> tilingOf(const plugin::WeightLayout& weight, bool wIsKn, std::int64_t n, std::int64_t k);

struct Plan {
    std::string refusal;                     ///< why nothing can be done
    std::vector<const VariantRow*> variants; ///< preferred first
    plugin::WeightLayout weight;
    std::optional<Tiling> tiling;
    std::optional<Coder> coder; ///< of Path::QuantizeBySearch
    bool measures = false;      ///< error sums are wanted beside the codes
};
/// Reads a stored weight. Empty, or what in it our kernels cannot read.
std::string readWeight(const qs_format& format, std::int64_t rows, std::int64_t columns, plugin::WeightLayout& to);
Plan planFor(const qs_problem& problem, const Libraries& libraries);
/// Largest NMSE that the variant's arithmetic explains.
double nmseLimit(const VariantRow& row, const qs_problem& problem);

/// What is read again and again to find out how fast a cache of `l2` bytes is: a quarter of it, as either half of it may
/// hold a copy; about 1 GiB in all, so that the launch does not count. 0 bytes: too small a cache.
struct CacheStream {
    std::size_t bytes;
    int passes;
};
CacheStream cacheStream(std::size_t l2);

/// The weight as our kernels read it.
TiledWeight tiled(const plugin::WeightLayout& weight, const Tiling& tiling, bool wIsKn, std::int64_t n, std::int64_t k,
                  const std::uint8_t* codes, const float* scales);

} // namespace qs::cuda
