// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Decides whether a problem can be done and which variants can do it. It needs only the formats and shapes, no device.

#include "kernels/cuda/tiles.h"
#include "plugins/cuda/coder.h"

#include <optional>

namespace qs::cuda {

enum class Path {
    Skinny,            ///< our kernel for few rows of x
    Staged,            ///< our kernel for few rows of x, where 256 channels share x in the multiprocessor's memory
    Large,             ///< our kernel for many rows of x
    Integers,          ///< cuBLASLt, int8 x int8
    E4m3,              ///< cuBLASLt, e4m3 x e4m3
    F32,               ///< cuBLAS over f32 weights
    Bf16,              ///< cuBLAS over weights rounded to bf16
    DequantizedInRun,  ///< our decoder to bf16 in every run, then cuBLAS
    DequantizedBefore, ///< weights decoded to bf16 in prepare, then cuBLAS
    Dequantize,
    Quantize, ///< our kernels for nf4 and int8; other formats use QuantizeBySearch
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

/// The note of Path::E4m3 if cuBLASLt applies the scales. The note in its row is for the other case.
inline constexpr const char* kScaledInProduct = "fp8 products, sums in f32, both scales in f32 by cuBLASLt itself";

/// Why cuBLAS, cuBLASLt and fp8 products cannot be used.
struct Libraries {
    std::string noBlas{}, noLt{}, noFp8{}; ///< empty: it can be used. fp8 products also need a new enough device
};

/// How our kernels read codes and scales.
struct Tiling {
    int bits;
    ScaleMode mode;
    std::int64_t block;
};
/// Returns nullopt if our kernels cannot read this layout.
std::optional<Tiling> tilingOf(const plugin::WeightLayout& weight, bool wIsKn, std::int64_t n, std::int64_t k);

struct Plan {
    std::string refusal;                     ///< why no variant can do the problem; else empty
    std::vector<const VariantRow*> variants; ///< the one that should be fastest comes first
    plugin::WeightLayout weight;
    std::optional<Tiling> tiling;
    std::optional<Coder> coder; ///< for Path::QuantizeBySearch
    bool measures = false;      ///< true: the operation also returns sums of the errors (quantize_stats)
};
/// Reads the layout of a stored weight. Returns "" or what our kernels cannot read.
std::string readWeight(const qs_format& format, std::int64_t rows, std::int64_t columns, plugin::WeightLayout& to);
Plan planFor(const qs_problem& problem, const Libraries& libraries);
/// The largest NMSE that the variant's arithmetic can cause; negative: the result must be exact.
double nmseLimit(const VariantRow& row, const qs_problem& problem);

/// How much to read, and how often, to measure the speed of a cache of `l2` bytes. It reads a quarter of the cache,
/// because each half of the cache may hold a copy. All passes read about 1 GiB, so that the launch time does not
/// matter. bytes is 0 if the cache is too small.
struct CacheStream {
    std::size_t bytes;
    int passes;
};
CacheStream cacheStream(std::size_t l2);

/// Repacks a weight for our kernels.
TiledWeight tiled(const plugin::WeightLayout& weight, const Tiling& tiling, bool wIsKn, std::int64_t n, std::int64_t k,
                  const std::uint8_t* codes, const float* scales);

} // namespace qs::cuda
