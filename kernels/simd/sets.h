// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/kernel_set.h"

namespace qs {

/// The kernel sets for x86-64. Call supported() before any other function of a set.
const KernelSet& avx2Kernels();
const KernelSet& avx512Kernels();

} // namespace qs
