// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Layers whose rows are streams of codes, lowest bits first. Groups of columns have scales, and maybe zero points or
// biases.

#include "core/model/conventions/layer.h"

#include <array>

namespace qs {

/// Plain: in the dtype of the tensor; E8m0: bytes 2^(code - 127); E4m3: bytes that are 8-bit floats.
enum class ScaleCoding { Plain, E8m0, E4m3 };

/// How scales, and zero points and biases, follow each other. Rows: [rows, groups]; Columns: [groups, rows] of each matrix;
/// Tiles: see tiledIndex(), of the rows of all matrices.
enum class ScaleOrder { Rows, Columns, Tiles };

/// Index of a scale in tiles of 128 rows x 4 columns, as cuBLAS wants them. `wide`: columns of all tiles.
std::uint64_t tiledIndex(std::uint64_t row, std::uint64_t column, std::uint64_t wide);
/// Number of scales in such tiles.
std::int64_t tiledScales(std::int64_t rows, std::int64_t columns);

struct RowCoding {
    const char* type;
    std::string description;
    /// Dtype of the layer's values.
    DType dtype;
    std::vector<std::int64_t> shape; ///< of the layer; the last two axes are [rows, columns]
    std::vector<std::int64_t>
        shown;                 ///< shape of the layer, if it has more axes than `shape`; the elements are the same
    std::vector<Field> fields; ///< codes and scales first; then in any order

    /// Bits per code.
    unsigned bits = 8;
    /// Codes per 32-bit word if no code crosses a word boundary; 0: codes follow each other without gaps.
    unsigned perWord = 0;
    /// Bytes of the codes of one row.
    std::uint64_t rowBytes = 0;
    const float* levels = nullptr;  ///< the value of each code before scaling; static data
    std::uint64_t group = 0;        ///< number of columns that share a scale
    std::uint64_t rowsPerScale = 1; ///< number of rows that share a scale
    ScaleCoding scaleCoding = ScaleCoding::Plain;
    ScaleOrder scaleOrder = ScaleOrder::Rows;
    /// Indices into `fields`, or -1; `global` is one value, or one for each matrix, that divides all scales.
    int zeros = -1, biases = -1, global = -1;
    bool globalMultiplies = false; ///< true: `global` multiplies the scales
    float globalDivisor = 1;       ///< of `global`
    bool scalesDivide = false;     ///< true: value = level / scale, without zero points and biases
    /// Bits of zero points that are packed along the rows into 32-bit words; 0: one element each.
    unsigned zeroBits = 0;
    std::vector<std::uint32_t> order; ///< the group of each column; empty if group = column / `group`
    bool roundsProducts = false;      ///< scale * level is rounded to `dtype` before the bias is added
};

/// A layer with value = (level - zero point) * scale + bias, computed in f32.
std::shared_ptr<const Layer> rowCodedLayer(RowCoding coding);

/// Number of groups in a row: ceil(columns / group).
std::int64_t groupsOf(std::int64_t columns, std::int64_t group);

const float* integerLevels(unsigned bits); ///< code - 2^(bits - 1): signed integers stored with an offset
const float* unsignedLevels();             ///< value = code
const float* signedByteLevels();           ///< value = code as a signed byte
const float* e4m3Levels();
const float* e5m2Levels();
const float* e2m1Levels();
const float* e2m3Levels();

/// Reads a tensor with the group number of each column (g_idx). Returns an empty list if column c always has group c /
/// group. Fails if a number is not below `groups`.
Result<std::vector<std::uint32_t>> readOrder(const Field& field, std::uint64_t group, std::uint64_t groups);

} // namespace qs
