// SPDX-License-Identifier: GPL-3.0-or-later
#define QS_LANES 8
#include "kernels/blocks/text_needs.h"

namespace qs {
namespace {

QS_TARGET_BEGIN("avx2,fma,f16c,bmi,bmi2,popcnt")
#include "kernels/blocks/text.h"
QS_TARGET_END

} // namespace

const BlockSet& avx2Blocks() {
    static const BlockSet set{"avx2", kCodecs, measure, range, shiftedCodes, shiftedValues, biasedCodes, biasedValues};
    return set;
}

} // namespace qs
