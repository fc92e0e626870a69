// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/quant/spec/formats.h"

#include "kernels/kernel_set.h"

namespace qs {

std::string isaName() { return bestKernels().id; }

} // namespace qs
