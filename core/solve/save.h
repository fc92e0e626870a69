// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/quant/encode/solved.h"

namespace qs::solve {

/// Writes one tensor in the native layout, as `quantize --solver` does. Returns the number of bytes written.
Result<std::uint64_t> saveSolved(const Model& model, const TensorInfo& tensor, const QuantSpec& spec,
                                 const std::shared_ptr<const Solved>& solved, const std::string& path, const Job& job);

} // namespace qs::solve
