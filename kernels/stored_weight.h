// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A stored weight read by output channel, for every packing, orientation and kind of scale. The reference decodes with
// it, and the fast variants repack from it.

#include "kernels/matmul.h"

namespace qs {

/// Read access to a stored weight.
class StoredWeight {
public:
    /// Keeps references to problem.weight and to the memory of `operand`; both must live longer.
    StoredWeight(const MatmulProblem& problem, const WeightOperand& operand);

    std::size_t n() const { return n_; }
    std::size_t k() const { return k_; }
    int codeBytes() const { return codeBytes_; } ///< bytes per code: 1 for up to 8 bits, else 2 or 4
    /// The value of each code, for codes of up to 8 bits. NaN for a code without a level.
    std::span<const float> levels() const { return levels_; }

    /// Reads the codes of channels [begin, end): codes[(n - begin) * k() + k], codeBytes() each.
    void readCodes(std::size_t begin, std::size_t end, void* codes) const;
    /// The scale of W at output channel n and inner index k; 1 if there are no scales.
    float scale(std::size_t n, std::size_t k) const;
    /// Decoded values level * scale in f32, in the same layout as readCodes().
    void decode(std::size_t begin, std::size_t end, float* values) const;

    bool hasScales() const { return format_.scale != NumberType::None; }
    std::size_t blockAlongK() const; ///< k() if it does not change along k
    std::size_t blockAlongN() const; ///< n() if it does not change along n; 1 if every channel has its own

private:
    std::size_t blockOf(int axis) const;
    void readRow(std::size_t row, std::size_t begin, std::size_t end, std::uint8_t* codes) const;

    const WeightFormat& format_;
    WeightOperand operand_;
    bool kn_;
    std::size_t n_, k_, rows_, cols_;
    int codeBytes_;
    std::vector<float> levels_;
};

float fp8E4m3ToF32(std::uint8_t code); ///< 8-bit float E4M3 (e4m3fn): codes 0x7f and 0xff are NaN
/// Scale i of an array as f32; 1 if the type has no scales.
float scaleToF32(NumberType type, const void* scales, std::size_t i);

} // namespace qs
