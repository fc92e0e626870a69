// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/model/model.h"

namespace qs::test {

/// The stored bytes of a tensor. Empty if it cannot be read.
inline std::vector<std::byte> bytesIn(const Model& model, const TensorInfo& tensor) {
    std::vector<std::byte> bytes(tensor.bytes);
    const auto view = model.view(tensor);
    if (!view) return {};
    view->readInto(0, bytes);
    return bytes;
}

} // namespace qs::test
