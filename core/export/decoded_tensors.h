// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/export/certificate.h"

namespace qs {

/// Whether a tensor of the source is stored quantized.
bool hasQuantizedTensors(const Model& source);
/// Needs the rows of the proof, if hasQuantizedTensors(). Tensors that are quantized in the source, have no spec, and were written as decoded values.
Result<std::uint64_t> decodedTensors(const Model& source, const Certificate& certificate);

} // namespace qs
