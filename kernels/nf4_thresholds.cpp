// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/nf4_thresholds.h"

#include "kernels/reference/reference.h"

#include <bit>
#include <cmath>
#include <limits>

namespace qs {
namespace {

// Maps floats to integers in the same order.
std::int32_t ordinal(float v) {
    const auto bits = std::bit_cast<std::int32_t>(v);
    return bits < 0 ? std::int32_t(0x80000000u - std::uint32_t(bits)) : bits;
}
float fromOrdinal(std::int32_t i) {
    return std::bit_cast<float>(i < 0 ? std::int32_t(0x80000000u - std::uint32_t(i)) : i);
}

int bucketOf(float v) {
    return int(std::bit_cast<std::uint32_t>(std::fma(v, Nf4Thresholds::kBucketScale, Nf4Thresholds::kBucketOffset)) &
               31u);
}

Nf4Thresholds compute() {
    Run run;
    run.levels = nf4Levels().data(), run.levelCount = 16, run.zeroCode = 7;
    const GroupParams unit{1, 1};
    Nf4Thresholds t{};
    for (auto& value : t.bucketThreshold) value = std::numeric_limits<float>::infinity();
    for (auto& index : t.bucketIndex) index = 15;
    t.threshold[15] = std::numeric_limits<float>::infinity();
    t.midpoint[15] = std::numeric_limits<double>::infinity();
    for (int k = 0; k < 15; ++k) {
        std::int32_t below = ordinal(-1.0f), reached = ordinal(1.0f);
        while (reached - below > 1) {
            const std::int32_t middle = below + (reached - below) / 2;
            (reference::encode(run, unit, fromOrdinal(middle)) > k ? reached : below) = middle;
        }
        t.threshold[k] = fromOrdinal(reached);
        t.midpoint[k] = (double(fromOrdinal(below)) + double(fromOrdinal(reached))) / 2;
        const int bucket = bucketOf(t.threshold[k]);
        t.bucketThreshold[bucket] = t.threshold[k];
        t.bucketIndex[bucket] = k;
        for (int later = bucket + 1; later < 32; ++later) t.bucketCode[later] = k + 1;
    }
    return t;
}

} // namespace

const Nf4Thresholds& nf4Thresholds() {
    static const Nf4Thresholds thresholds = compute();
    return thresholds;
}

} // namespace qs
