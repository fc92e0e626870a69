// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Layers that are stored transposed: codes [inputs, outputs], packed into 32-bit words along one of the axes. Used by
// GPTQ and AWQ.

#include "core/model/conventions/layer.h"

namespace qs {

struct InputCoding {
    const char* type;
    std::string description;
    std::int64_t outputs = 0, inputs = 0;
    std::vector<Field> fields; ///< codes, zero points and scales in this order, then other fields of the layer
    /// Bits per code.
    unsigned bits = 4;
    std::uint64_t group = 0;          ///< number of inputs that share a scale
    std::vector<std::uint32_t> order; ///< the group of each input (desc_act); empty if group = input / `group`
    /// True: 8 outputs per word, in the order 0 2 4 6 1 3 5 7; false: a word holds codes of consecutive inputs.
    bool isAwq = false;
    bool addsOne = false; ///< stored zero points are one too small
    bool isTable = false; ///< the layer is [inputs, outputs]: a row for each token
};

/// A layer [outputs, inputs], or a table, with value = scale * (code - zero point), rounded once to the dtype of the scales.
std::shared_ptr<const Layer> inputCodedLayer(InputCoding coding);

} // namespace qs
