// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/matmul.h"

namespace qs {

const MatmulVariant& referenceMatmul();

} // namespace qs
