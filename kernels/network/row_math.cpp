// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/network/row_math.h"

#include <string_view>

namespace qs {

const RowMath& rowMathOf(const KernelSet& kernels) {
#if defined(__x86_64__)
    for (const RowMath* set : {&avx2RowMath(), &avx512RowMath()})
        if (std::string_view(set->id) == kernels.id) return *set;
#endif
    (void)kernels;
    return scalarRowMath();
}

const RowMath& rowMath() {
    static const RowMath& set = rowMathOf(bestKernels());
    return set;
}

} // namespace qs
