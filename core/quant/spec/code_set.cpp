// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/quant/spec/code_set.h"

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
const std::array<float, 256> kHalves = ascendingFrom(-127.5f); ///< AQT without a zero

std::span<const float> middle(const std::array<float, 256>& all, int bits) {
    const std::size_t half = std::size_t(1) << (bits - 1);
    return std::span(all).subspan(128 - half, 2 * half);
}

} // namespace

bool hasZeroPoints(const QuantSpec& spec) {
    return !spec.isSymmetric() && spec.traits().encoder == Encoder::RoundInteger && !hasBiases(spec);
}

bool hasBiases(const QuantSpec& spec) {
    return spec.traits().kind == FormatKind::Integer && spec.effectiveDialect() == "mlx";
}

CodeSet codeSetOf(const QuantSpec& spec) {
    const FormatTraits& traits = spec.traits();
    CodeSet set{traits.levels, traits.zeroCode, traits.valueOffset, traits.encoder};
    const std::string dialect = spec.effectiveDialect();
    if (dialect == "bitnet") set.encoder = Encoder::RoundTernary;
    if (traits.encoder != Encoder::RoundInteger) return set;
    const int half = 1 << (traits.bits - 1);
    if (hasBiases(spec)) return {std::span(kCounted).first(std::size_t(2 * half)), 0, 0, Encoder::RoundBiased};
    if (dialect == "aqt" || dialect == "aqt_max" || dialect == "aqt_halves") set.encoder = Encoder::RoundReciprocal;
    if (dialect == "bnb") set.encoder = Encoder::RoundReciprocal;
    if (hasZeroPoints(spec)) set.encoder = Encoder::RoundAffine;
    // Quotients of 16-bit floats are rounded before they become integers: -127.5 is one.
    const bool inInputType = spec.effectiveCompute() == Compute::Input;
    if (dialect == "aqt_halves")
        set.levels = middle(kHalves, traits.bits), set.zeroCode = half;
    else if (inInputType || hasZeroPoints(spec) || dialect == "qwix" || dialect == "ct" || dialect == "maxtext")
        set.levels = middle(kIntegers, traits.bits), set.zeroCode = half, set.valueOffset = -half;
    return set;
}

} // namespace qs
