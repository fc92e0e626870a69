// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/quant/spec/formats.h"

#include "kernels/kernel_set.h"

namespace qs {

std::string isaName() { return bestKernels().id; }

std::vector<std::string> isaNames() {
    std::vector<std::string> names;
    for (const KernelSet* set : kernelSets()) names.emplace_back(set->id);
    return names;
}

} // namespace qs
