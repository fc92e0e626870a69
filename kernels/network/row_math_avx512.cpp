// SPDX-License-Identifier: GPL-3.0-or-later
#define QS_LANES 16
#include "kernels/network/row_math_needs.h"

namespace qs {
namespace {

QS_TARGET_BEGIN("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c,bmi,bmi2,popcnt")
#include "kernels/network/row_math_text.h"
QS_TARGET_END

} // namespace

const RowMath& avx512RowMath() {
    static const RowMath set = setOf("avx512");
    return set;
}

} // namespace qs
