// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The classes of torch and Python that checkpoints use and that are understood here, by "module.name".

#include "core/model/dtype.h"

#include <optional>
#include <string_view>

namespace qs {

struct TorchElement {
    std::optional<DType> dtype; ///< empty: a type that cannot be shown
    unsigned bytes = 0;         ///< of one element
};

/// Element type of torch.FloatStorage and other storage classes. Empty for any other class.
std::optional<TorchElement> torchElement(std::string_view storageClass);
/// Dtype of torch.float32 and other dtype names. Empty for any other name.
std::optional<DType> torchType(std::string_view name);
/// True for classes that are plain values or only contain them.
bool isPlainClass(std::string_view name);
/// True for collections.OrderedDict, Counter and defaultdict.
bool isDictionaryClass(std::string_view name);

} // namespace qs
