// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Launches on a device. All pointers are device memory unless said otherwise; every launch returns a cudaError_t as int
// and does not wait. x is bf16, [mPadded][depth], zero beyond m and k (padActivations makes it so).

#include "kernels/cuda/coding.h"
#include "kernels/cuda/staged.h"

#include <cstdint>

struct CUstream_st;

namespace qs::cuda {

using Stream = CUstream_st*;

/// y[m][n] (f32, or bf16), with bias[n] unless null.
struct Target {
    void* y = nullptr;
    bool bf16 = false;
    const float* bias = nullptr;
    std::int64_t m = 0, n = 0;
};

struct DeviceWeight {
    const std::uint8_t* codes = nullptr;
    const float* scales = nullptr;
    const float* levels = nullptr; ///< 1 << bits; unused for 8 bits and where affine
    int bits = 4;
    ScaleMode mode = ScaleMode::Channel;
    std::int64_t block = 0, n = 0, depth = 0, tiles = 0;
    bool affine = false; ///< see TiledWeight
    float offset = 0;
};
/// Of a weight whose arrays lie elsewhere.
inline DeviceWeight deviceWeight(const TiledWeight& w, const std::uint8_t* codes, const float* scales,
                                 const float* levels) {
    return {codes, scales, levels, w.bits, w.mode, w.block, w.n, w.depth, w.tiles, w.affine, w.offset};
}

// Products in bf16 on the tensor cores, sums in f32.
/// Weights are read once for every 8, 16 or 32 rows of x; for small m. mPadded: a multiple of shape.columns.
int skinnyProduct(const DeviceWeight& w, const void* x, SkinnyShape shape, const Target& to, Stream stream);
/// x through shared memory, for blocks of many channels; m up to kStagedMost, and stagedTakes() the scales.
int stagedProduct(const DeviceWeight& w, const void* x, const StagedShape& shape, const StagedRoom& room,
                  const Target& to, Stream stream);
/// Tiles of 128 x 128, x through shared memory. mPadded: a multiple of 128.
int largeProduct(const DeviceWeight& w, const void* x, const Target& to, Stream stream);

enum class Element : int { F32, Bf16 };
/// [m][k] -> bf16 [mPadded][depth].
int padActivations(const void* x, Element type, std::int64_t m, std::int64_t k, std::int64_t mPadded,
                   std::int64_t depth, void* to, Stream stream);
/// f32 [m][k] -> i8 [mPadded][depth] and a scale a row: max|x| / 127 + FLT_MIN, half to even.
int quantizeRows(const float* x, std::int64_t m, std::int64_t k, std::int64_t mPadded, std::int64_t depth,
                 std::int8_t* q, float* scales, Stream stream);
/// The same to e4m3: a scale of max|x| / 448, 1 where that is 0; clipped to +-448, half to even.
int quantizeRowsE4m3(const float* x, std::int64_t m, std::int64_t k, std::int64_t mPadded, std::int64_t depth,
                     std::uint8_t* q, float* scales, Stream stream);
/// i8 [m][k] -> i8 [mPadded][depth].
int padBytes(const std::int8_t* x, std::int64_t m, std::int64_t k, std::int64_t mPadded, std::int64_t depth,
             std::int8_t* to, Stream stream);
/// Sums [m][ld] of integers -> y, times both scales.
int finishIntegers(const std::int32_t* sums, std::int64_t ld, const float* xScale, const float* wScale,
                   const Target& to, Stream stream);
/// Sums [m][ld] in f32 -> y, times both scales.
int finishScaled(const float* sums, std::int64_t ld, const float* xScale, const float* wScale, const Target& to,
                 Stream stream);
/// f32 [m][n] -> y, with the bias; in place when y is the same memory.
int finishFloats(const float* sums, const Target& to, Stream stream);

/// A matrix as it is stored: codes of 1, 2, 4 or 8 bits, low or high bits first, and where the scale of (row, column)
/// is: row / rowBlock * rowStride + column / columnBlock * columnStride.
struct StoredMatrix {
    const std::uint8_t* codes = nullptr;
    const float* scales = nullptr; ///< null: none
    const float* levels = nullptr; ///< 256 values by byte for 8 bits, else 1 << bits
    int bits = 4;
    bool highFirst = false;
    std::int64_t rows = 0, columns = 0, rowBytes = 0;
    std::int64_t rowBlock = 1, rowStride = 0, columnBlock = 1, columnStride = 0;
};
/// Is all of it one run of codes of 2, 4 or 8 bits, a scale for each `group` of them? 0: it is not.
inline std::int64_t groupOfRun(const StoredMatrix& w, Element to) {
    const std::int64_t values = to == Element::F32 ? 4 : 8; // that are 16 bytes
    if (w.bits == 1 || (w.highFirst && w.bits != 4) || w.rowBytes * 8 != w.columns * w.bits) return 0;
    const bool ofRow = w.rowBlock == 1 && w.columnStride == 0 && w.rowStride == 1;
    const bool ofBlock = w.rowBlock == 1 && w.columnStride == 1 && w.columns % w.columnBlock == 0 &&
                         w.rowStride == w.columns / w.columnBlock;
    const bool ofAll = !w.scales || (w.rowStride == 0 && w.columnStride == 0);
    const std::int64_t group = ofAll ? w.rows * w.columns : ofRow ? w.columns : ofBlock ? w.columnBlock : 0;
    return w.columns % values || group % values || w.rows * w.columns / values >= std::int64_t(1) << 31 ? 0 : group;
}
int dequantize(const StoredMatrix& from, void* to, Element type, Stream stream); ///< [rows][columns]
int roundToBf16(const float* x, std::int64_t count, void* to, Stream stream);

/// Sums over what a quantizer reads, W, and what it means, V, in f64: sum (V - W)^2, sum W^2, max |V - W|, max |W|.
struct Measuring {
    const float* levels = nullptr; ///< of stored codes: 16 for nf4, 1 << bits for a search; not needed for int8
    double* partials = nullptr;    ///< 4 * kMostQuantizerBlocks
    double* totals = nullptr;      ///< 4; null: not measured
};
inline constexpr std::int64_t kMostQuantizerBlocks = 1 << 16;

/// Rows of which a thread keeps its part, so that x is read once.
inline constexpr int kKeptFours = 8;
constexpr bool keepsRows(std::int64_t k, std::int64_t group, std::int64_t stored) {
    const bool fours = k % 4 == 0 && group % 4 == 0 && stored % 4 == 0;
    return fours && group > 1024 && group <= 4096 * kKeptFours && stored <= 4096 * kKeptFours;
}
/// nf4 as the reference: 15 thresholds, high nibble first, [rows][padded columns / 2] and an absmax a block; block
/// even.
int quantizeNf4(const float* x, std::int64_t rows, std::int64_t columns, std::int64_t block, const float* thresholds,
                std::uint8_t* codes, float* absmax, Stream stream, const Measuring& measuring = {});
/// int8: `group` columns a scale, the last group of a row possibly short.
int quantizeInt8(const float* x, std::int64_t rows, std::int64_t columns, std::int64_t group, std::int8_t* q,
                 float* scales, Stream stream, const Measuring& measuring = {});

/// Any other format whose codes are found by search: `group` columns a scale, [rows][whole bytes]; scales may be null.
int quantizeBySearch(const float* x, std::int64_t rows, std::int64_t columns, std::int64_t group, const Coding& coding,
                     std::uint8_t* codes, float* scales, Stream stream, const Measuring& measuring = {});

/// Reads `bytes` (a multiple of 16) so many times; several passes come from the cache that all multiprocessors share, and
/// from no nearer one. *sink counts threads whose words have a certain sum, so that nothing may be left out.
int readStream(const void* data, std::int64_t bytes, int passes, std::uint32_t* sink, int processors, Stream stream);
inline constexpr std::uint32_t kStreamSign = 0x9E3779B9u; ///< that sum, of all words of a thread by exclusive or

} // namespace qs::cuda
