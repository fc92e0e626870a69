// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Finds tensors that were to be quantized and cannot be, because of the layout or of their values.

#include "core/layouts/layout.h"

namespace qs {

/// When NaN and Inf are searched. A pass only for them takes as long as writing small codes, so it can be left out.
enum class NonFinites { Before, WhileWritten };

/// Fails if some tensors are refused. The error gives the number of all of them.
Result<void> checkAll(const Model& model, const QuantizeRequest& request, const std::vector<TakenTensor>& taken,
                      const Layout& layout, NonFinites when, const Job& job);
/// Removes the refused tensors from `taken` and lists them in `kept`. Fails if none is left.
Result<void> skipRefused(const Model& model, const Layout& layout, std::vector<TakenTensor>& taken, WrittenFiles& kept,
                         const Job& job);

} // namespace qs
