// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Kernel launches on a device. All pointers are device memory unless stated otherwise. Every launch returns a
// cudaError_t as int and does not wait. x is bf16, [mPadded][depth], and zero beyond m and k; padActivations() produces
// it.

#include "kernels/cuda/coding.h"
#include "kernels/cuda/staged.h"

#include <cstdint>

struct CUstream_st;

namespace qs::cuda {

using Stream = CUstream_st*;

/// The result: y[m][n] in f32 or bf16, plus bias[n] unless bias is null.
struct Target {
    void* y = nullptr;
    bool bf16 = false;
    const float* bias = nullptr;
    std::int64_t m = 0, n = 0;
};

/// A weight in the layout of TiledWeight, in device memory.
struct DeviceWeight {
    const std::uint8_t* codes = nullptr;
    const float* scales = nullptr;
    const float* levels = nullptr; ///< [1 << bits]; not used for 8 bits or if affine
    int bits = 4;
    ScaleMode mode = ScaleMode::Channel;
    std::int64_t block = 0, n = 0, depth = 0, tiles = 0;
    bool affine = false; ///< see TiledWeight
    float offset = 0;
};
/// Combines the description of a weight with its arrays in device memory.
inline DeviceWeight deviceWeight(const TiledWeight& w, const std::uint8_t* codes, const float* scales,
                                 const float* levels) {
    return {codes, scales, levels, w.bits, w.mode, w.block, w.n, w.depth, w.tiles, w.affine, w.offset};
}

// Products in bf16 on the tensor cores, with f32 sums.
/// For small m: weights are read once for every 8, 16 or 32 rows of x. mPadded is a multiple of shape.columns.
int skinnyProduct(const DeviceWeight& w, const void* x, SkinnyShape shape, const Target& to, Stream stream);
/// For small m and many channels: the warps of a block share x in shared memory. m is at most kStagedMost, and
/// stagedTakes() must accept the scales.
int stagedProduct(const DeviceWeight& w, const void* x, const StagedShape& shape, const StagedRoom& room,
                  const Target& to, Stream stream);
/// For large m: tiles of 128 x 128, with x in shared memory. mPadded is a multiple of 128.
int largeProduct(const DeviceWeight& w, const void* x, const Target& to, Stream stream);

enum class Element : int { F32, Bf16 };
/// Pads x: [m][k] becomes bf16 [mPadded][depth].
int padActivations(const void* x, Element type, std::int64_t m, std::int64_t k, std::int64_t mPadded,
                   std::int64_t depth, void* to, Stream stream);
/// Quantizes f32 [m][k] to i8 [mPadded][depth], half to even, with one scale per row: max|x| / 127 + FLT_MIN.
int quantizeRows(const float* x, std::int64_t m, std::int64_t k, std::int64_t mPadded, std::int64_t depth,
                 std::int8_t* q, float* scales, Stream stream);
/// The same to e4m3, clipped to +-448. The scale of a row is max|x| / 448, or 1 if that is 0.
int quantizeRowsE4m3(const float* x, std::int64_t m, std::int64_t k, std::int64_t mPadded, std::int64_t depth,
                     std::uint8_t* q, float* scales, Stream stream);
/// Pads i8 [m][k] to i8 [mPadded][depth].
int padBytes(const std::int8_t* x, std::int64_t m, std::int64_t k, std::int64_t mPadded, std::int64_t depth,
             std::int8_t* to, Stream stream);
/// Converts integer sums [m][ld] to y, times both scales. ld: sums from row to row.
int finishIntegers(const std::int32_t* sums, std::int64_t ld, const float* xScale, const float* wScale,
                   const Target& to, Stream stream);
/// Converts f32 sums [m][ld] to y, times both scales.
int finishScaled(const float* sums, std::int64_t ld, const float* xScale, const float* wScale, const Target& to,
                 Stream stream);
/// Converts f32 [m][n] to y, with the bias. y may be the same memory.
int finishFloats(const float* sums, const Target& to, Stream stream);

/// A matrix in stored form: codes of 1, 2, 4 or 8 bits, low or high bits first. The scale of (row, column) has the
/// index row / rowBlock * rowStride + column / columnBlock * columnStride.
struct StoredMatrix {
    const std::uint8_t* codes = nullptr;
    const float* scales = nullptr; ///< null: no scales
    const float* levels = nullptr; ///< [256], indexed by the byte, for 8 bits; else [1 << bits]
    int bits = 4;
    bool highFirst = false;
    std::int64_t rows = 0, columns = 0, rowBytes = 0;
    std::int64_t rowBlock = 1, rowStride = 0, columnBlock = 1, columnStride = 0;
};
/// The number of elements per scale if the whole matrix is one run of 2-, 4- or 8-bit codes with equal groups;
/// otherwise 0.
inline std::int64_t groupOfRun(const StoredMatrix& w, Element to) {
    const std::int64_t values = to == Element::F32 ? 4 : 8; // values in 16 bytes of results
    if (w.bits == 1 || (w.highFirst && w.bits != 4) || w.rowBytes * 8 != w.columns * w.bits) return 0;
    const bool ofRow = w.rowBlock == 1 && w.columnStride == 0 && w.rowStride == 1;
    const bool ofBlock = w.rowBlock == 1 && w.columnStride == 1 && w.columns % w.columnBlock == 0 &&
                         w.rowStride == w.columns / w.columnBlock;
    const bool ofAll = !w.scales || (w.rowStride == 0 && w.columnStride == 0);
    const std::int64_t group = ofAll ? w.rows * w.columns : ofRow ? w.columns : ofBlock ? w.columnBlock : 0;
    return w.columns % values || group % values || w.rows * w.columns / values >= std::int64_t(1) << 31 ? 0 : group;
}
int dequantize(const StoredMatrix& from, void* to, Element type, Stream stream); ///< to: [rows][columns]
int roundToBf16(const float* x, std::int64_t count, void* to, Stream stream);

/// Error sums of a quantizer, in f64, over the source W and the decoded values V: sum (V - W)^2, sum W^2, max |V - W|,
/// max |W|.
struct Measuring {
    const float* levels = nullptr; ///< by stored code: 16 for nf4, 1 << bits for a search; not needed for int8
    double* partials = nullptr;    ///< scratch, [4 * kMostQuantizerBlocks]
    double* totals = nullptr;      ///< [4]; null: do not measure
};
/// The largest number of blocks in a grid of quantizers.
inline constexpr std::int64_t kMostQuantizerBlocks = 1 << 16;

/// Groups of four elements that a thread can keep in registers, so that x is read once.
inline constexpr int kKeptFours = 8;
/// Whether the kernel keeps its part of x in registers. `stored`: columns written per row.
constexpr bool keepsRows(std::int64_t k, std::int64_t group, std::int64_t stored) {
    const bool fours = k % 4 == 0 && group % 4 == 0 && stored % 4 == 0;
    return fours && group > 1024 && group <= 4096 * kKeptFours && stored <= 4096 * kKeptFours;
}
/// Quantizes to nf4 with the bits of the reference. 15 thresholds; high nibble first. codes is [rows][padded columns /
/// 2]; absmax has one entry per block; block is even.
int quantizeNf4(const float* x, std::int64_t rows, std::int64_t columns, std::int64_t block, const float* thresholds,
                std::uint8_t* codes, float* absmax, Stream stream, const Measuring& measuring = {});
/// Quantizes to int8. `group` columns share a scale; the last group of a row may be shorter.
int quantizeInt8(const float* x, std::int64_t rows, std::int64_t columns, std::int64_t group, std::int8_t* q,
                 float* scales, Stream stream, const Measuring& measuring = {});

/// Quantizes to any other format whose codes are found by search. `group` columns share a scale. codes is [rows][whole
/// bytes]; scales may be null.
int quantizeBySearch(const float* x, std::int64_t rows, std::int64_t columns, std::int64_t group, const Coding& coding,
                     std::uint8_t* codes, float* scales, Stream stream, const Measuring& measuring = {});

/// Reads `bytes` (a multiple of 16) `passes` times. Several passes read from the cache that all multiprocessors share,
/// never from a nearer one. *sink counts the threads whose words have the exclusive-or sum kStreamSign, so that the
/// compiler cannot drop the reads.
int readStream(const void* data, std::int64_t bytes, int passes, std::uint32_t* sink, int processors, Stream stream);
inline constexpr std::uint32_t kStreamSign = 0x9E3779B9u;

/// Occupies the stream for `ns` nanoseconds, so that launches behind it wait in the queue of the device.
int holdStream(std::uint64_t ns, Stream stream);

} // namespace qs::cuda
