// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What training has made, kept as a spec of its own: see core/quant/spec/trained.h.

#include "core/quant/spec/trained.h"
#include "core/value/qat.h"

namespace qs::value {

/// In the folder of the user's formats. `tensor` is of `model` and what was trained.
Result<QuantSpec> keepTrained(const std::string& id, const Model& model, const TensorInfo& tensor,
                              const QatResult& result, const Job& job);

} // namespace qs::value
