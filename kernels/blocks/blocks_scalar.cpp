// SPDX-License-Identifier: GPL-3.0-or-later
#define QS_LANES 4
#include "kernels/blocks/text_needs.h"

namespace qs {
namespace {

#include "kernels/blocks/text.h"

} // namespace

const BlockSet& scalarBlocks() {
    static const BlockSet set{"scalar",     kCodecs,       measure,     range,
                              shiftedCodes, shiftedValues, biasedCodes, biasedValues};
    return set;
}

} // namespace qs
