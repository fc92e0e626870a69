// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Quantized layers that no convention decodes. They are recognised by names that only quantizers give, and by codes
// beside scales, so that their parts are not taken for weights.

#include "core/model/conventions/checkpoint.h"

namespace qs {

/// The layer that a tensor belongs to: its name without ".weight" at the end.
std::string_view moduleName(std::string_view tensorName);

/// A tensor whose name says how the layers of its file are stored, as ComfyUI's scaled_fp8.
bool isMarker(std::string_view tensorName);

/// Adds the layers that are left to Model::undecoded, and warnings. Those that are in the list get all their parts.
void addUndecoded(Model& model, const CheckpointConfig& config);

} // namespace qs
