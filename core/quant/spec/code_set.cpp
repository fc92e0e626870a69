// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/quant/spec/code_set.h"

#include "core/quant/spec/dialect.h"

#include <array>

namespace qs {
namespace {

std::array<float, 256> ascendingFrom(float first) {
    std::array<float, 256> out{};
    for (int i = 0; i < 256; ++i) out[std::size_t(i)] = first + float(i);
    return out;
}
const std::array<float, 256> kIntegers = ascendingFrom(-128);
const std::array<float, 256> kCounted = ascendingFrom(0);
const std::array<float, 256> kHalves = ascendingFrom(-127.5f);

std::span<const float> middle(const std::array<float, 256>& all, int bits) {
    const std::size_t half = std::size_t(1) << (bits - 1);
    return std::span(all).subspan(128 - half, 2 * half);
}

} // namespace

bool hasBiases(const QuantSpec& spec) { return dialectOf(spec).hasBiases; }

bool hasZeroPoints(const QuantSpec& spec) {
    return !spec.isSymmetric() && spec.traits().encoder == Encoder::RoundInteger && !hasBiases(spec);
}

bool holdsZero(const QuantSpec& spec) { return dialectOf(spec).integers != IntegerLevels::Halves; }

CodeSet codeSetOf(const QuantSpec& spec) {
    const FormatTraits& traits = spec.traits();
    const Dialect& dialect = dialectOf(spec);
    CodeSet set{traits.levels, traits.zeroCode, traits.valueOffset, dialect.encoder.value_or(traits.encoder)};
    if (traits.encoder != Encoder::RoundInteger) return set;
    const int half = 1 << (traits.bits - 1);
    IntegerLevels integers = dialect.integers;
    // Quotients of 16-bit floats are rounded before they become integers: -127.5 is one.
    const bool inInputType = spec.effectiveCompute() == Compute::Input;
    if (integers == IntegerLevels::Symmetric && (inInputType || hasZeroPoints(spec))) integers = IntegerLevels::All;
    if (hasZeroPoints(spec)) set.encoder = Encoder::RoundAffine;
    switch (integers) {
    case IntegerLevels::Symmetric: break;
    case IntegerLevels::All:
        set.levels = middle(kIntegers, traits.bits), set.zeroCode = half, set.valueOffset = -half;
        break;
    case IntegerLevels::Halves: set.levels = middle(kHalves, traits.bits), set.zeroCode = half; break;
    case IntegerLevels::FromZero:
        set.levels = std::span(kCounted).first(std::size_t(2 * half)), set.zeroCode = set.valueOffset = 0;
        break;
    }
    return set;
}

} // namespace qs
