// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// bitsandbytes' blocks and its double quantization: absolute maxima of blocks over the flattened tensor, themselves
// quantized to 8 bits.
//
// offset = mean of the maxima; what is left is cut into blocks of 256 and divided by their absolute maximum, and
// becomes the nearest of 256 values on a grid of 65,536 places; back: value * block's maximum + offset. Source:
// bitsandbytes 0.50.2 functional.py, backends/default/ops.py, csrc/cpu_ops.cpp; the mean is PyTorch's on one thread.

#include "core/quant/spec/spec.h"

#include <array>
#include <cstdint>
#include <vector>

namespace qs {

inline constexpr std::size_t kNestedBlock = 256;
/// Sizes of its blocks of weights, powers of two.
inline constexpr std::uint32_t kLeastBnbBlock = 32, kMostBnbBlock = 4096;

/// What PyTorch adds up in f32, on one thread, of values that come some at a time.
class TorchSum {
public:
    explicit TorchSum(std::uint64_t count); ///< of all values
    void add(std::span<const float> x);
    float sum() const;

private:
    using Lanes = std::array<float, 8>;
    void addRow(const float* x);
    std::uint64_t rows_, row_ = 0;
    unsigned power_;
    std::array<std::array<Lanes, 4>, 4> level_{};
    std::vector<float> rest_; ///< less than a row
};

/// What all 8-bit scales of a tensor are moved and scaled by.
struct NestedGrid {
    std::vector<float> absMax; ///< one per 256 scales
    float offset = 0;
    /// Encodes measured scales, and decodes them. `index` is the place of the first scale in the tensor.
    void encode(std::uint64_t index, std::span<const float> scales, std::uint8_t* codes) const;
    void decode(std::uint64_t index, std::span<const std::uint8_t> codes, float* scales) const;
};
/// Finds the grid from the scales of a tensor, which it takes in order and does not store.
class NestedGridOf {
public:
    explicit NestedGridOf(std::uint64_t scales) : sum_(scales), count_(scales) {}
    void add(std::span<const float> scales);
    NestedGrid grid() const;

private:
    TorchSum sum_;
    std::uint64_t count_, seen_ = 0;
    std::vector<float> least_, most_; ///< of each 256
};
struct NestedScales {
    std::vector<std::uint8_t> codes; ///< one per scale
    NestedGrid grid;
};
std::vector<float> unnestScales(const NestedScales& nested);
/// The 256 values, ascending.
std::span<const float> dynamicMap();
/// What values of a group are multiplied by, or, at the end of a tensor, divided by; `absMax` is never 0 there.
inline constexpr float kLeastAbsMax = 1e-38f;
/// The middles between levels: 0 between the zeros of fp4.
std::vector<float> middlesOf(std::span<const float> levels);

} // namespace qs
