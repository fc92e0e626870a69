// SPDX-License-Identifier: GPL-3.0-or-later
#define QS_LANES 4
#include "kernels/network/row_math_needs.h"

namespace qs {
namespace {

#include "kernels/network/row_math_text.h"

} // namespace

const RowMath& scalarRowMath() {
    static const RowMath set = setOf("scalar");
    return set;
}

} // namespace qs
