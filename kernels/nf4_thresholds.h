// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The nearest nf4 code as a count of thresholds: the code of v is the number of thresholds <= v. This also holds on
// ties, because the code never decreases as v grows. A table of 32 buckets leaves at most one threshold to compare
// with.

#include <cstdint>

namespace qs {

/// The thresholds and the bucket table.
struct Nf4Thresholds {
    /// threshold[k] is the smallest f32 whose code is k + 1. threshold[15] is +infinity.
    alignas(64) float threshold[16];
    /// v = x / a, rounded to f32, is at least threshold[k] exactly if x > midpoint[k] * a. The product is exact in f64.
    alignas(64) double midpoint[16];
    /// For each bucket: the threshold inside it (+infinity if none), the index of that threshold (15 if none), and the
    /// code below it.
    alignas(64) float bucketThreshold[32];
    alignas(64) std::int32_t bucketIndex[32];
    alignas(64) std::int32_t bucketCode[32];

    // The bucket of v in [-1, 1] is the low five bits of the f32 bits of fma(v, kBucketScale, kBucketOffset).
    static constexpr float kBucketScale = 15.49f;
    static constexpr float kBucketOffset = 12582912.0f + 16.0f;
};
/// Computed once from the reference encoder.
const Nf4Thresholds& nf4Thresholds();

} // namespace qs
