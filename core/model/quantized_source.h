// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Whether the weights of a model are stored quantized already. Every error that is measured against such a model is
// relative to what its matrices decode to, and says nothing of the network before it was quantized.

#include "core/model/model.h"

#include <string>

namespace qs {

/// It is stored in codes and scales: in blocks of GGUF, or as a layer that a convention decodes.
bool isStoredQuantized(const TensorInfo& tensor);

struct QuantizedSource {
    std::size_t matrices = 0;  ///< weights: see TensorInfo::isWeight()
    std::size_t quantized = 0; ///< of these
    std::string types;         ///< of the quantized ones, the most frequent first: "Q4_1, Q8_0"
    /// For people; "" if no matrix is stored quantized.
    std::string sentence() const;
};
QuantizedSource quantizedSource(const Model& model);

} // namespace qs
