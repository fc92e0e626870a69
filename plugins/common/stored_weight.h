// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Decodes a stored matrix of weights to f32.

#include "plugins/common/weight_layout.h"

namespace qs::plugin {

class StoredWeight {
public:
    /// Takes a matrix of [rows, columns] in this format. Returns the reason if it cannot be read, else "".
    std::string accept(const qs_format& format, std::int64_t rows, std::int64_t columns);

    std::int64_t rows() const { return layout_.rows; }
    std::int64_t columns() const { return layout_.columns; }
    const char* dtype() const { return layout_.dtype; } ///< dtype of the tensor "weight"
    std::uint64_t weightBytes() const { return layout_.weightBytes(); }
    /// Number of f32 values in the tensor "scale"; 0: there is no such tensor.
    std::uint64_t scaleCount() const { return layout_.scaleCount; }
    /// Bytes that a product must read: all codes and scales, each once.
    std::uint64_t readBytes() const { return weightBytes() + 4 * scaleCount(); }
    bool isPlainF32() const { return kind_ == Kind::F32; }

    /// Decodes rows begin .. end-1 to row-major f32. Any thread may call it.
    void decode(const void* weight, const float* scales, std::int64_t begin, std::int64_t end, float* out) const;

private:
    enum class Kind { F32, F16, BF16, Signed, Nf4, Table };
    void decodeRow(const unsigned char* codes, float* out) const;
    void scaleRow(const float* scales, std::int64_t row, float* out) const;

    WeightLayout layout_;
    std::int64_t stored_ = 0; ///< columns of a row, its padding included
    Kind kind_ = Kind::F32;
    std::vector<float> table_; ///< for Kind::Table: for each of 256 bytes its perByte values
};

} // namespace qs::plugin
