// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The nearest-code decision of nf4 as thresholds: the code of v is the number of thresholds <= v, ties included,
// because the decision is monotone in v. A table of 32 buckets leaves at most one threshold to compare with.

#include <cstdint>

namespace qs {

struct Nf4Thresholds {
    /// threshold[k] is the smallest f32 whose code is k + 1; the last is +infinity.
    alignas(64) float threshold[16];
    /// v = fl(x / a) reaches threshold[k] exactly when x > midpoint[k] * a; the product is exact in f64.
    alignas(64) double midpoint[16];
    /// Per bucket: the threshold inside it (+infinity when none), its index (15 when none) and the code below it.
    alignas(64) float bucketThreshold[32];
    alignas(64) std::int32_t bucketIndex[32];
    alignas(64) std::int32_t bucketCode[32];

    // Bucket of v in [-1, 1]: the low five bits of the f32 bits of fma(v, kBucketScale, kBucketOffset).
    static constexpr float kBucketScale = 15.49f;
    static constexpr float kBucketOffset = 12582912.0f + 16.0f;
};
const Nf4Thresholds& nf4Thresholds();

} // namespace qs
