// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The thresholds at which a format changes its code, found with the scalar kernels: what the device searches.

#include "kernels/cuda/coding.h"
#include "plugins/common/weight_layout.h"

#include <string>
#include <vector>

namespace qs::cuda {

struct Coder {
    std::vector<std::uint32_t> thresholds;
    std::vector<std::uint8_t> stored;
    Coding coding;          ///< without its tables
    std::int64_t group = 0; ///< columns a scale

    Coding on(const std::uint32_t* thresholdsThere, const std::uint8_t* storedThere) const {
        Coding whole = coding;
        whole.thresholds = thresholdsThere, whole.stored = storedThere;
        return whole;
    }
};

/// Empty: `to` is filled. Else why a weight of that format is not quantized by search.
std::string coderFor(const char* format, const plugin::WeightLayout& stored, Coder& to);

} // namespace qs::cuda
