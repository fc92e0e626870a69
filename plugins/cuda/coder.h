// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Finds the thresholds between the values of neighbouring codes of a format, with the scalar kernels. The device then
// quantizes a value with a binary search over the thresholds.

#include "kernels/cuda/coding.h"
#include "plugins/common/weight_layout.h"

#include <string>
#include <vector>

namespace qs::cuda {

struct Coder {
    std::vector<std::uint32_t> thresholds;
    std::vector<std::uint8_t> stored;
    Coding coding;          ///< its pointers to the tables are not set; see on()
    std::int64_t group = 0; ///< columns that share a scale

    Coding on(const std::uint32_t* thresholdsThere, const std::uint8_t* storedThere) const {
        Coding whole = coding;
        whole.thresholds = thresholdsThere, whole.stored = storedThere;
        return whole;
    }
};

/// Fills in `to` and returns "". Otherwise returns why weights of this format cannot be quantized by search.
std::string coderFor(const char* format, const plugin::WeightLayout& stored, Coder& to);

} // namespace qs::cuda
