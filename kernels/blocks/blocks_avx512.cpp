// SPDX-License-Identifier: GPL-3.0-or-later
#define QS_LANES 16
#include "kernels/blocks/text_needs.h"

namespace qs {
namespace {

QS_TARGET_BEGIN("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx2,fma,f16c,bmi,bmi2,popcnt")
#include "kernels/blocks/text.h"
QS_TARGET_END

} // namespace

const BlockSet& avx512Blocks() {
    static const BlockSet set{"avx512",     kCodecs,       measure,     range,
                              shiftedCodes, shiftedValues, biasedCodes, biasedValues};
    return set;
}

} // namespace qs
