// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/kernel_set.h"

namespace qs::reference {

inline constexpr std::size_t kStretch = 128; ///< elements of a group whose squares are added in f32

/// A lane-strided f64 sum: see kernel_set.h. Internal linkage on purpose: it is compiled next to SIMD code.
namespace {
struct Lanes {
    double lane[16] = {};
    void add(std::size_t i, double value) { lane[i % 16] += value; }
    double fold() const {
        double a[16];
        for (int j = 0; j < 16; ++j) a[j] = lane[j];
        for (int half = 8; half > 0; half /= 2)
            for (int j = 0; j < half; ++j) a[j] += a[j + half];
        return a[0];
    }
};

/// The same with f32 lanes over a stretch at a time; the terms are f32.
struct StretchLanes {
    float part[16] = {};
    Lanes total;
    void add(std::size_t i, float term) { part[i % 16] += term; }
    void flush() {
        for (std::size_t j = 0; j < 16; ++j) total.add(j, double(part[j])), part[j] = 0;
    }
};

/// Of the bits of a magnitude: 0, or 2^-36 to 2^50, so that 128 squares are normal f32 numbers.
inline bool magnitudeInF32(unsigned bits) { return bits == 0 || (bits >= 0x2d800000 && bits <= 0x58800000); }

/// Whether the squares of a group are added in f32 first: see "Order of the sums" in kernel_set.h. `bits` are those of
/// its largest finite magnitude.
inline bool sumsInF32(const Run& run, const GroupParams& params, unsigned bits) {
    const float scale = params.scale < 0 ? -params.scale : params.scale;
    const bool hasCodes =
        run.encoder != Encoder::Identity && run.encoder != Encoder::RoundF16 && run.encoder != Encoder::RoundBf16;
    return run.group >= 16 && hasCodes && magnitudeInF32(bits) &&
           (scale == 0 || (scale >= 0x1p-56f && scale <= 0x1p50f));
}
} // namespace

} // namespace qs::reference
