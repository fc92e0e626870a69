// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Stores the result of training as a named spec: see core/quant/spec/trained.h.

#include "core/quant/spec/trained.h"
#include "core/value/qat.h"

namespace qs::value {

/// Writes it to the folder of the user's formats. `tensor` of `model` is what was trained.
Result<QuantSpec> keepTrained(const std::string& id, const Model& model, const TensorInfo& tensor,
                              const QatResult& result, const Job& job);

} // namespace qs::value
