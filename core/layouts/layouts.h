// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The rows of the layout registry, one file each.

#include "core/layouts/fields.h"
#include "core/layouts/layout.h"

namespace qs {

Layout bnbLayout();
Layout compressedTensorsLayout();
Layout ggufLayout();
Layout gptqLayout();
Layout hdf5Layout();
Layout llmInt8Layout();
Layout mlxLayout();
Layout eformerLayout();
Layout nativeLayout();
Layout npzLayout();
Layout plainLayout();

} // namespace qs
