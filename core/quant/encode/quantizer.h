// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A tensor through a spec: where the scales lie, chunked conversion to f32, and the drivers that keep both cores busy in
// one pass over memory with bounded scratch.

#include "core/base/job.h"
#include "core/model/model.h"
#include "core/quant/spec/spec.h"
#include "kernels/kernel_set.h"

#include <functional>

namespace qs {

/// How the elements of a shape are grouped under a spec. A tensor is `rows` rows of `features` consecutive elements
/// (rank 0: one row of one element).
struct ScaleGrid {
    ScaleKind kind = ScaleKind::Block;
    std::int64_t rows = 0, features = 0;
    std::int64_t group = 0;               ///< consecutive elements per scale when `contiguous`
    bool contiguous = true;               ///< false: reduced axes are not the trailing ones (int8:axis=0)
    std::vector<std::int64_t> scaleShape; ///< tensor [], axes kept as 1, block (..., ceil(F/N))
    std::int64_t scales = 0;              ///< product of scaleShape; 0 for unscaled
    std::vector<bool> reduced;            ///< per axis
    std::int64_t paddedFeatures = 0;      ///< stored last axis
};
/// The spec with the axes and the scale type that axis=out and scaletype=input mean for the tensor; any other as it is.
QuantSpec forTensor(const QuantSpec& spec, const TensorInfo& tensor);
/// Fails with the reason when the spec cannot take this shape. axis=out keeps the first axis here.
Result<ScaleGrid> scaleGrid(const QuantSpec& spec, std::span<const std::int64_t> shape);
Result<ScaleGrid> scaleGrid(const QuantSpec& spec, const TensorInfo& tensor);
/// The shape whose last axis blocks run over: the tensor's own, unless the blocks cross it (flat=yes, bitsandbytes).
std::vector<std::int64_t> blockedShape(const QuantSpec& spec, std::span<const std::int64_t> shape);
/// Whether the default layout stores the last block of a row in full.
bool padsBlocks(const QuantSpec& spec);

/// Whether every index of the first axis, [1, ...], can be quantized alone with the same result: no scale, level, block or random number is of two of them.
bool quantizesByFirstAxis(const QuantSpec& spec, const TensorInfo& tensor);

/// Bytes that the spec's default layout stores for a tensor (codes + scales + padding) and the true bits per weight,
/// 8 * bytes / elements.
struct StoredSize {
    std::uint64_t codes = 0, scales = 0, padding = 0;
    std::uint64_t codebook = 0; ///< that is stored with the tensor
    std::uint64_t total() const { return codes + scales + padding + codebook; }
};
Result<StoredSize> storedSize(const QuantSpec& spec, std::span<const std::int64_t> shape, DType source);
Result<StoredSize> storedSize(const QuantSpec& spec, const TensorInfo& tensor);
double bitsPerWeight(const StoredSize& size, std::uint64_t elements);

/// Converts elements [begin, begin + n) of a tensor to f32 (f64: rounds once). Quantizable dtypes only.
void loadF32(const TensorView& view, std::uint64_t begin, std::size_t n, float* out);
/// Rounds values to a type of 16 bits and back; other types leave them as they are.
void roundTo(DType type, float* values, std::size_t n);
/// Direct pointer when the tensor is aligned little-endian F32, else nullptr.
const float* directF32(const TensorView& view);

struct QuantizedTensor {
    QuantSpec spec;
    DType sourceDtype = DType::F32;
    std::vector<std::int64_t> shape;
    ScaleGrid grid;
    std::vector<std::uint8_t> codes;  ///< one a byte, unpadded, C order
    std::vector<float> scales;        ///< grid.scales, C order of grid.scaleShape
    std::vector<float> zeros;         ///< zero points or biases, where the spec has them: as scales
    std::vector<float> levels;        ///< of a codebook that was learned for this tensor, else the format's
    std::vector<std::uint8_t> blocks; ///< Superblock formats: the packed bytes, instead of codes and scales
    std::vector<float> values;        ///< of the identity formats, which have no codes
    std::vector<std::string> warnings;
};

/// Whole tensor in memory: for export and the peers' tests. Refuses NaN and Inf unless nan=skip.
Result<QuantizedTensor> quantizeTensor(const TensorView& view, const QuantSpec& spec, const Job& job);
/// Decoded f32, shape as the original (padding cropped).
std::vector<float> materialize(const QuantizedTensor& tensor);

/// What one pass over a tensor produces, range by range, for analyses. Ranges are whole groups inside rows (or runs of
/// whole rows); a worker's calls are sequential, workers run concurrently.
struct PassRange {
    std::uint64_t begin = 0; ///< first element, flat index
    std::size_t n = 0;
    const float* x = nullptr;     ///< f32 values of the range
    Run run;                      ///< ready for KernelSet::quantize
    std::uint64_t firstGroup = 0; ///< flat index of the range's first group (contiguous grids)
    unsigned worker = 0;
    std::size_t piece = 0; ///< below 2048 (kMaxPieces): one worker handles all ranges of a piece, in order
};
/// Scales that need whole-tensor or strided statistics are computed in a pass of their own before; then `body` sees every
/// element once. Checks job.cancelled() between ranges.
Result<void> forEachRange(const TensorView& view, const QuantSpec& spec, const ScaleGrid& grid, const Job& job,
                          const std::function<void(const PassRange&)>& body);

} // namespace qs
