// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Taken tensors that a layout or their own values refuse.

#include "core/layouts/layout.h"

namespace qs {

/// When NaN and Inf are looked for: reading all values for that alone takes as long as writing small codes.
enum class NonFinites { Before, WhileWritten };

/// Fails where some are refused. The error counts them all, whenever the first of them is met.
Result<void> checkAll(const Model& model, const QuantizeRequest& request, const std::vector<TakenTensor>& taken,
                      const Layout& layout, NonFinites when, const Job& job);
/// Leaves the refused ones out of `taken` and notes them in `kept`. Fails when none is left.
Result<void> skipRefused(const Model& model, const Layout& layout, std::vector<TakenTensor>& taken, WrittenFiles& kept,
                         const Job& job);

} // namespace qs
