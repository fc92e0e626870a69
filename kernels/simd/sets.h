// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/kernel_set.h"

namespace qs {

const KernelSet& avx2Kernels();
const KernelSet& avx512Kernels();

} // namespace qs
