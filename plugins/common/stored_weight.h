// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A matrix of weights as a qs_format describes it: what its bytes must be, and its values in f32.

#include "plugins/abi/quantscope_backend.h"

#include <cstdint>
#include <string>
#include <vector>

namespace qs::plugin {

class StoredWeight {
public:
    /// What keeps [rows, columns] in this format from being read here; empty when nothing does.
    std::string accept(const qs_format& format, std::int64_t rows, std::int64_t columns);

    std::int64_t rows() const { return rows_; }
    std::int64_t columns() const { return columns_; }
    const char* dtype() const { return dtype_; } ///< of the tensor "weight"
    std::uint64_t weightBytes() const { return rowBytes_ * std::uint64_t(rows_); }
    std::uint64_t scaleCount() const { return scaleCount_; } ///< f32 values of the tensor "scale"; 0: there is none
    /// Bytes that a product must read: codes and scales, once.
    std::uint64_t readBytes() const { return weightBytes() + 4 * scaleCount_; }
    bool isPlainF32() const { return kind_ == Kind::F32; }

    /// Values of rows begin..end-1, row-major. Any thread.
    void decode(const void* weight, const float* scales, std::int64_t begin, std::int64_t end, float* out) const;

private:
    enum class Kind { F32, F16, BF16, Signed, Nf4, Table };
    enum class Scales { None, Tensor, Row, Column, AlongRow, AlongColumn };
    std::string acceptCodes(const qs_format& format);
    std::string acceptScales(const qs_format& format);
    void decodeRow(const unsigned char* codes, float* out) const;
    void scaleRow(const float* scales, std::int64_t row, float* out) const;

    std::int64_t rows_ = 0, columns_ = 0, stored_ = 0; ///< stored: columns with the padding of a row
    std::uint64_t rowBytes_ = 0, scaleCount_ = 0;
    std::int64_t block_ = 0;
    Kind kind_ = Kind::F32;
    Scales scaled_ = Scales::None;
    const char* dtype_ = "f32";
    int perByte_ = 1;
    bool planar_ = false;
    std::vector<float> levels_; ///< Nf4: of a code; Table: perByte_ values of every byte; planar: of a code
};

} // namespace qs::plugin
