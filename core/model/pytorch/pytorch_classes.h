// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The classes of torch and Python that checkpoints name and that mean something here, by "module.name".

#include "core/model/dtype.h"

#include <optional>
#include <string_view>

namespace qs {

struct TorchElement {
    std::optional<DType> dtype; ///< nothing: of a kind that cannot be shown
    unsigned bytes = 0;
};

/// Of torch.FloatStorage and its like; nothing for another class.
std::optional<TorchElement> torchElement(std::string_view storageClass);
/// Of torch.float32 and its like.
std::optional<DType> torchType(std::string_view name);
/// A class that only carries plain values, or is one.
bool isPlainClass(std::string_view name);
bool isDictionaryClass(std::string_view name);

} // namespace qs
