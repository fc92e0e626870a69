// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Layers that are stored transposed: codes as [inputs, outputs], words of 32 bits along one of the two. GPTQ and AWQ.

#include "core/model/conventions/layer.h"

namespace qs {

struct InputCoding {
    const char* type;
    std::string description;
    std::int64_t outputs = 0, inputs = 0;
    std::vector<Field> fields; ///< codes, zero points, scales, and what else belongs to it
    unsigned bits = 4;
    std::uint64_t group = 0;          ///< inputs that share a scale
    std::vector<std::uint32_t> order; ///< the group of each input, where they are not in order
    bool isAwq = false;   ///< words run along the outputs in the order 0 2 4 6 1 3 5 7; else along the inputs
    bool addsOne = false; ///< stored zero points are one too small
};

/// The value is scale (code - zero), rounded once to the dtype of the scales.
std::shared_ptr<const Layer> inputCodedLayer(InputCoding coding);

} // namespace qs
