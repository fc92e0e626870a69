// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/matmul.h"

namespace qs {

/// The variant that defines the correct result: it supports every operation and multiplies in f64.
const MatmulVariant& referenceMatmul();

} // namespace qs
