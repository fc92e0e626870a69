// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// GPT-2 and related models store matrices as [in, out] (Conv1D of transformers). Loaders of bitsandbytes replace each
// by a linear layer, whose matrix is [out, in], and expect codes of that matrix. Source: transformers pytorch_utils.py
// (Conv1D), integrations/bitsandbytes.py.

#include "core/layouts/layout.h"

namespace qs {

/// The modules that are Conv1D. `entries` are the entries of the output's config.json. If they do not name
/// bitsandbytes, the list is empty.
class Conv1dLayers {
public:
    Conv1dLayers(const Model& model, const std::string& entries);
    bool has(const TensorInfo& tensor) const;

private:
    bool known_ = false;
};

/// The transposed matrix. Null if the elements do not lie plain in a file.
std::shared_ptr<const TensorInfo> turned(const Model& model, const TensorInfo& tensor);

} // namespace qs
