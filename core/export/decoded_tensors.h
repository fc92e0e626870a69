// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/export/certificate.h"

namespace qs {

/// Tensors that are quantized in the source, have no spec, and were written as decoded values.
std::uint64_t decodedTensors(const Model& source, const Certificate& certificate);

} // namespace qs
