// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/kernel_set.h"

namespace qs::reference {

/// Elements of a group whose squares are added in f32 before they go to f64.
inline constexpr std::size_t kStretch = 128;

/// A lane-strided f64 sum, see kernel_set.h. It has internal linkage because it is also compiled next to SIMD code: the
/// linker must not use that copy elsewhere.
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

/// The same sum, but the f32 terms are added in f32 lanes first. The caller calls flush() after every kStretch terms.
struct StretchLanes {
    float part[16] = {};
    Lanes total;
    void add(std::size_t i, float term) { part[i % 16] += term; }
    void flush() {
        for (std::size_t j = 0; j < 16; ++j) total.add(j, double(part[j])), part[j] = 0;
    }
};

/// Whether a magnitude, given by its bits, is 0 or 2^-36 to 2^50. Then 128 of its squares add up to a normal f32
/// number.
inline bool magnitudeInF32(unsigned bits) { return bits == 0 || (bits >= 0x2d800000 && bits <= 0x58800000); }

/// Whether the squares of a group are added in f32 first; see the top of kernel_set.h. `bits` are the bits of its
/// largest finite magnitude.
inline bool sumsInF32(const Run& run, const GroupParams& params, unsigned bits) {
    const float scale = params.scale < 0 ? -params.scale : params.scale;
    const bool hasCodes =
        run.encoder != Encoder::Identity && run.encoder != Encoder::RoundF16 && run.encoder != Encoder::RoundBf16;
    return run.group >= 16 && hasCodes && magnitudeInF32(bits) &&
           (scale == 0 || (scale >= 0x1p-56f && scale <= 0x1p50f));
}
} // namespace

} // namespace qs::reference
