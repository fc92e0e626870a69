// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/analysis/audit/audit_lattice.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <vector>

namespace qs {
namespace {

constexpr double kFewestSteps = 8, kMostSteps = 255.5, kBetween = 0.25;
constexpr double kReach = 64; ///< number of steps from 0 up to which values are used; see the header
constexpr std::size_t kFewest = 16;

/// Fits step and offset by least squares. Empty if a value does not lie on a step.
std::optional<double> refined(std::span<const double> values, double step, double rounding) {
    const double first = values.front();
    double offset = first;
    for (int round = 0; round < 2; ++round) {
        double n = 0, q1 = 0, q2 = 0, v1 = 0, qv = 0;
        for (const double v : values) {
            const double q = std::round((v - offset) / step);
            n += 1, q1 += q, q2 += q * q, v1 += v - first, qv += q * (v - first);
        }
        const double spread = n * q2 - q1 * q1;
        if (!(spread > 0)) return std::nullopt;
        step = (n * qv - q1 * v1) / spread;
        offset = first + (v1 - step * q1) / n;
        if (!(step > 0)) return std::nullopt;
    }
    for (const double v : values) {
        const double at = (v - offset) / step;
        if (std::fabs(at - std::round(at)) > 0.05 + std::fabs(v) * rounding / step) return std::nullopt;
    }
    return step;
}

} // namespace

std::optional<Lattice> latticeOf(std::span<const float> distinct, DType dtype) {
    if (distinct.size() < kFewest || distinct.size() > 257) return std::nullopt;
    const double range = double(distinct.back()) - double(distinct.front());
    if (!(range > 0) || !std::isfinite(range)) return std::nullopt;
    // Largest relative rounding error of the type. F32 is treated as BF16, because it may hold values that were BF16
    // before.
    const double rounding = dtype == DType::F16 ? 0x1p-11 : 0x1p-8;
    std::vector<double> values(distinct.begin(), distinct.end());
    std::ranges::sort(values, [](double a, double b) { return std::fabs(a) < std::fabs(b); });
    // For each value, its phase and the rotation to the next number of steps. So the loop needs no sine.
    std::vector<std::complex<double>> phases, turns;
    for (const double v : values) {
        const double angle = 2 * std::numbers::pi * v / range;
        phases.push_back(std::polar(1.0, angle * kFewestSteps));
        turns.push_back(std::polar(1.0, angle * kBetween));
    }
    std::size_t near = values.size(); // number of values close enough to 0; they come first
    for (double steps = kFewestSteps; steps <= kMostSteps; steps += kBetween) {
        const double step = range / steps;
        if (dtype != DType::BF16 && step < 0x1p-22) return std::nullopt;
        while (near > 0 && std::fabs(values[near - 1]) > kReach * step) --near;
        // Later steps are smaller and would have even fewer values.
        if (near < kFewest || near * 4 < values.size()) return std::nullopt;
        double real = 0, imaginary = 0;
        for (std::size_t i = 0; i < near; ++i) {
            const double x = phases[i].real(), y = phases[i].imag();
            real += x, imaginary += y;
            const double u = turns[i].real(), w = turns[i].imag();
            phases[i] = {x * u - y * w, x * w + y * u};
        }
        const double c = (real * real + imaginary * imaginary) / double(near);
        if (c < kLatticeThreshold || c < kLatticeCoherence * double(near)) continue;
        const auto exact = refined(std::span(values).first(near), step, rounding);
        if (!exact) continue;
        const double all = range / *exact;
        if (all < kMostSteps + 0.5) return Lattice{*exact, int(std::round(all))};
    }
    return std::nullopt;
}

} // namespace qs
