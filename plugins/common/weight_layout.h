// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// How a matrix of weights is stored, read once from the text of a qs_format and checked: where each code lies, what it
// means, which scale belongs to it. Every backend of this tree starts from this form and refuses what it cannot compute.

#include "plugins/abi/quantscope_backend.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace qs::plugin {

/// Where the codes of a row lie in its bytes.
enum class CodeOrder {
    OnePerElement, ///< an element of the tensor's dtype each
    HighFirst,     ///< the first code in the highest bits of a byte
    LowFirst,      ///< the first code in the lowest bits
    Planar         ///< bits p * bits ... of byte j are code p * (bytes of a row) + j
};

/// How a code becomes a number, before its scale.
enum class CodeMeaning {
    Float,   ///< it is an f32, f16 or bf16 number
    Integer, ///< code + bias
    Level    ///< levels[code]
};

/// What shares a scale. Rows and columns are those of the stored matrix.
enum class ScaleShare { None, Tensor, Row, Column, BlockOfColumns, BlockOfRows };

struct WeightLayout {
    std::string format;
    std::int64_t rows = 0, columns = 0; ///< numbers, as stored
    const char* dtype = "f32";          ///< of the tensor "weight"

    int bits = 32; ///< of a code
    CodeOrder order = CodeOrder::OnePerElement;
    int perByte = 1;   ///< codes in a byte; 1 too for elements of several bytes
    int packAxis = -1; ///< along which codes share bytes: 1, or 0 for Planar; -1: they share none
    std::int64_t storedRows = 0, rowBytes = 0;

    CodeMeaning meaning = CodeMeaning::Float;
    int bias = 0;
    std::vector<float> levels;   ///< the value of every code, 2^bits of them; empty for Float
    std::size_t levelsGiven = 0; ///< that the format names; the others are 0

    ScaleShare share = ScaleShare::None;
    std::string_view scaleType = "none"; ///< "f32" "f16" "bf16" "e8m0"
    std::int64_t block = 0;              ///< elements that share a scale; 0: no blocks
    std::uint64_t scaleCount = 0;        ///< 0: none
    /// Index of the scale of (row, column): row / rowBlock * rowStride + column / columnBlock * columnStride.
    std::int64_t rowBlock = 1, rowStride = 0, columnBlock = 1, columnStride = 0;

    std::uint64_t weightBytes() const { return std::uint64_t(storedRows) * std::uint64_t(rowBytes); }
    bool isFloat(int width) const { return meaning == CodeMeaning::Float && bits == width; }
    /// Bytes that are the values themselves, -128 ... 127.
    bool isSignedBytes() const { return meaning == CodeMeaning::Integer && perByte == 1 && bits == 8 && bias == 0; }
    bool hasF32Scales() const { return share == ScaleShare::None || scaleType == "f32"; }
    std::int64_t scaleIndex(std::int64_t row, std::int64_t column) const {
        return row / rowBlock * rowStride + column / columnBlock * columnStride;
    }
    /// Of codes that share bytes along rows, or take a byte each; not Float.
    unsigned codeAt(const std::uint8_t* bytes, std::int64_t row, std::int64_t column) const;
};

/// Empty, or one sentence about what in the format contradicts itself or is not known here. `rows`, `columns`: 1 or more.
std::string readWeightLayout(const qs_format& format, std::int64_t rows, std::int64_t columns, WeightLayout& to);

} // namespace qs::plugin
