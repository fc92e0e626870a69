// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// How a matrix of weights is stored: where each code lies, what it means, and which scale belongs to it. It is read
// once from the texts of a qs_format and checked. Every backend in this repository uses this form, and declines a
// layout that it cannot compute.

#include "plugins/abi/quantscope_backend.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace qs::plugin {

/// Where the codes of a row lie in its bytes.
enum class CodeOrder {
    OnePerElement, ///< each code is one element of the tensor's dtype
    HighFirst,     ///< the first code lies in the highest bits of a byte
    LowFirst,      ///< the first code lies in the lowest bits of a byte
    Planar         ///< code p * (bytes of a row) + j lies in byte j, from bit p * bits on
};

/// How a code becomes a number, before its scale.
enum class CodeMeaning {
    Float,   ///< the code is an f32, f16 or bf16 number
    Integer, ///< the number is code + bias
    Level    ///< the number is levels[code]
};

/// Which values share a scale. Rows and columns are those of the stored matrix.
enum class ScaleShare { None, Tensor, Row, Column, BlockOfColumns, BlockOfRows };

struct WeightLayout {
    std::string format;
    std::int64_t rows = 0, columns = 0; ///< shape of the stored matrix, in values
    const char* dtype = "f32";          ///< dtype of the tensor "weight"

    int bits = 32; ///< bits of a code
    CodeOrder order = CodeOrder::OnePerElement;
    int perByte = 1;   ///< codes in a byte; also 1 if an element has several bytes
    int packAxis = -1; ///< axis along which codes share bytes: 1, or 0 for Planar; -1: they share no bytes
    std::int64_t storedRows = 0, rowBytes = 0; ///< rows in memory; bytes of each of them

    CodeMeaning meaning = CodeMeaning::Float;
    int bias = 0;
    std::vector<float> levels;   ///< the value of every code, 2^bits of them; empty for Float
    std::size_t levelsGiven = 0; ///< number of levels that the format defines; the others are 0

    ScaleShare share = ScaleShare::None;
    std::string_view scaleType = "none"; ///< "f32" "f16" "bf16" "e8m0"
    std::int64_t block = 0;              ///< elements that share a scale; 0: no blocks
    std::uint64_t scaleCount = 0;        ///< number of scales; 0: no scales
    /// Index of the scale of (row, column): row / rowBlock * rowStride + column / columnBlock * columnStride.
    std::int64_t rowBlock = 1, rowStride = 0, columnBlock = 1, columnStride = 0;

    std::uint64_t weightBytes() const { return std::uint64_t(storedRows) * std::uint64_t(rowBytes); }
    bool isFloat(int width) const { return meaning == CodeMeaning::Float && bits == width; }
    /// True if each code is a byte that is the value itself, -128 ... 127.
    bool isSignedBytes() const { return meaning == CodeMeaning::Integer && perByte == 1 && bits == 8 && bias == 0; }
    bool hasF32Scales() const { return share == ScaleShare::None || scaleType == "f32"; }
    std::int64_t scaleIndex(std::int64_t row, std::int64_t column) const {
        return row / rowBlock * rowStride + column / columnBlock * columnStride;
    }
    /// The code of a value. Not for Float, and not for codes that share bytes along axis 0.
    unsigned codeAt(const std::uint8_t* bytes, std::int64_t row, std::int64_t column) const;
};

/// Reads a format into `to`. Returns "" or one sentence: what contradicts itself or is not known. `rows` and `columns`
/// are 1 or more.
std::string readWeightLayout(const qs_format& format, std::int64_t rows, std::int64_t columns, WeightLayout& to);

} // namespace qs::plugin
