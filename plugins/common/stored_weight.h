// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The values of a stored matrix of weights in f32.

#include "plugins/common/weight_layout.h"

namespace qs::plugin {

class StoredWeight {
public:
    /// What keeps [rows, columns] in this format from being read here; empty when nothing does.
    std::string accept(const qs_format& format, std::int64_t rows, std::int64_t columns);

    std::int64_t rows() const { return layout_.rows; }
    std::int64_t columns() const { return layout_.columns; }
    const char* dtype() const { return layout_.dtype; } ///< of the tensor "weight"
    std::uint64_t weightBytes() const { return layout_.weightBytes(); }
    std::uint64_t scaleCount() const {
        return layout_.scaleCount;
    } ///< f32 values of the tensor "scale"; 0: there is none
    /// Bytes that a product must read: codes and scales, once.
    std::uint64_t readBytes() const { return weightBytes() + 4 * scaleCount(); }
    bool isPlainF32() const { return kind_ == Kind::F32; }

    /// Values of rows begin..end-1, row-major. Any thread.
    void decode(const void* weight, const float* scales, std::int64_t begin, std::int64_t end, float* out) const;

private:
    enum class Kind { F32, F16, BF16, Signed, Nf4, Table };
    void decodeRow(const unsigned char* codes, float* out) const;
    void scaleRow(const float* scales, std::int64_t row, float* out) const;

    WeightLayout layout_;
    std::int64_t stored_ = 0; ///< columns with the padding of a row
    Kind kind_ = Kind::F32;
    std::vector<float> table_; ///< Table: the values of every byte, perByte of them
};

} // namespace qs::plugin
