// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// bitsandbytes' blocks and its double quantization: absolute maxima of blocks over the flattened tensor, themselves
// quantized to 8 bits.
//
// offset = mean of the maxima; what is left is cut into blocks of 256 and divided by their absolute maximum, and becomes
// the nearest of 256 values on a grid of 65,536 places; back: value * block's maximum + offset. Source: bitsandbytes
// 0.50.2 functional.py, backends/default/ops.py, csrc/cpu_ops.cpp; the mean is PyTorch's on one thread.

#include "core/quant/spec.h"

namespace qs {

inline constexpr std::size_t kNestedBlock = 256;

bool isBnb(const QuantSpec& spec);
bool isDoubleQuantized(const QuantSpec& spec);
/// The blocks of this shape do not end with rows, so that the tensor counts as one row.
bool isFlattened(const QuantSpec& spec, std::span<const std::int64_t> shape);

struct NestedScales {
    std::vector<std::uint8_t> codes; ///< one per scale
    std::vector<float> absMax;       ///< one per 256 scales
    float offset = 0;
};
NestedScales nestScales(std::span<const float> scales);
std::vector<float> unnestScales(const NestedScales& nested);
/// The 256 values, ascending.
std::span<const float> dynamicMap();
/// What PyTorch adds up in f32, on one thread.
float torchSum(std::span<const float> x);

/// What values of a group are multiplied by, or, at the end of a tensor, divided by; `absMax` is never 0 there.
inline constexpr float kLeastAbsMax = 1e-38f;
/// Thresholds between the levels of nf4 and fp4, 0 between the zeros of fp4.
std::span<const float> bnbBoundaries(const QuantSpec& spec);

} // namespace qs
