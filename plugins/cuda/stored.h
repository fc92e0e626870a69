// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A stored weight as numbers rather than text: codes, their values, and where each scale is.

#include "plugins/abi/quantscope_backend.h"

#include <cstdint>
#include <string>
#include <vector>

namespace qs::cuda {

struct Stored {
    enum class Kind { F32, Bf16, Codes };
    Kind kind = Kind::F32;
    std::int64_t rows = 0, columns = 0, rowBytes = 0;
    const char* dtype = "f32"; ///< of the tensor "weight"
    int bits = 32;             ///< of a code: 1 2 4 8
    bool highFirst = false;
    bool signedBytes = false;     ///< 8 bits, value = code
    std::vector<float> levels;    ///< 1 << bits
    std::uint64_t scaleCount = 0; ///< 0: none
    /// Index of the scale of (row, column): row / rowBlock * rowStride + column / columnBlock * columnStride.
    std::int64_t rowBlock = 1, rowStride = 0, columnBlock = 1, columnStride = 0;

    std::uint64_t weightBytes() const { return std::uint64_t(rows * rowBytes); }
    std::int64_t scaleIndex(std::int64_t row, std::int64_t column) const {
        return row / rowBlock * rowStride + column / columnBlock * columnStride;
    }
    unsigned codeAt(const std::uint8_t* bytes, std::int64_t row, std::int64_t column) const;
};

/// What cannot be read in it; empty: `to` is filled.
std::string readFormat(const qs_format& format, std::int64_t rows, std::int64_t columns, Stored& to);

} // namespace qs::cuda
