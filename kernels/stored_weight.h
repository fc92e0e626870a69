// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A stored weight read by output channel, whatever its packing, orientation and scales: what the reference decodes and
// what the fast variants repack from.

#include "kernels/matmul.h"

namespace qs {

class StoredWeight {
public:
    StoredWeight(const MatmulProblem& problem, const WeightOperand& operand);

    std::size_t n() const { return m_n; }
    std::size_t k() const { return m_k; }
    int codeBytes() const { return m_codeBytes; } ///< 1 for up to 8 bits, 2, 4
    /// Value of each code of up to 8 bits.
    std::span<const float> levels() const { return m_levels; }

    /// codes[(n - begin) * k() + k] of channels [begin, end), codeBytes() each.
    void readCodes(std::size_t begin, std::size_t end, void* codes) const;
    /// Scale of W at output channel n and inner index k; 1 without scales.
    float scale(std::size_t n, std::size_t k) const;
    /// level * scale in f32, laid out as readCodes does.
    void decode(std::size_t begin, std::size_t end, float* values) const;

    bool hasScales() const { return m_format.scale != NumberType::None; }
    /// Scales lie along k in blocks (one for all k when there are none along it), or change with every k.
    bool scaleVariesAlongK() const;  ///< in blocks of blockAlongK()
    std::size_t blockAlongK() const; ///< k() where there is one scale
    bool scaleVariesAlongN() const;
    std::size_t blockAlongN() const; ///< n() where there is one scale, 1 where each channel has its own

private:
    std::size_t blockOf(int axis) const;
    void readRow(std::size_t row, std::size_t begin, std::size_t end, std::uint8_t* codes) const;

    const WeightFormat& m_format;
    WeightOperand m_operand;
    bool m_kn;
    std::size_t m_n, m_k, m_rows, m_cols;
    int m_codeBytes;
    std::vector<float> m_levels;
};

float fp8E4m3ToF32(std::uint8_t code); ///< e4m3fn: 0x7f and 0xff are NaN
float scaleToF32(NumberType type, const void* scales, std::size_t i);

} // namespace qs
