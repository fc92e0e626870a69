// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/export/certificate.h"

namespace qs {

/// Tensors that the source holds quantized, that no spec took, and that were written as the values that they decode to.
std::uint64_t decodedTensors(const Model& source, const Certificate& certificate);

} // namespace qs
