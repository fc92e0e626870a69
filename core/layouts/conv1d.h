// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// GPT-2 and its kin store the matrices of their layers as [in, out] (transformers' Conv1D). Loaders of bitsandbytes put
// a linear layer in the place of each, whose matrix is [out, in], and look for codes of that.
// Source: transformers pytorch_utils.py (Conv1D), integrations/bitsandbytes.py.

#include "core/layouts/layout.h"

namespace qs {

/// The modules, by what config.json of the model's folder says of its type, where `entries`, those that an output's
/// config.json gets, name such a loader.
class Conv1dLayers {
public:
    Conv1dLayers(const Model& model, const std::string& entries);
    bool has(const TensorInfo& tensor) const;

private:
    bool known_ = false;
};

/// The matrix with its axes changed over; null where its elements are not plain in a file.
std::shared_ptr<const TensorInfo> turned(const Model& model, const TensorInfo& tensor);

} // namespace qs
