// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/quant/spec/scale_type.h"

#include "core/quant/encode/encode.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace qs {
namespace {

constexpr int kLowest = -127, kHighest = 127; ///< exponents of e8m0

float twoTo(int exponent) {
    const int within = std::clamp(exponent, kLowest, kHighest);
    return within == kLowest ? 0x1p-127f : std::bit_cast<float>(std::uint32_t(within + 127) << 23);
}

} // namespace

ScaleType scaleTypeOf(const QuantSpec& spec) {
    const std::string type = spec.effectiveScaleType();
    if (type == "f16") return ScaleType::F16;
    if (type == "bf16") return ScaleType::Bf16;
    if (type == "e8m0") return ScaleType::E8m0;
    if (type == "po2") return ScaleType::Po2;
    if (type == "e4m3") return ScaleType::E4m3;
    if (type == "ue4m3") return ScaleType::Ue4m3;
    return type == "u8dq" ? ScaleType::U8dq : ScaleType::F32;
}

QuantSpec withScaleTypeOf(const QuantSpec& spec, DType source) {
    if (spec.effectiveScaleType() != kInputScales) return spec;
    QuantSpec out = spec;
    out.scaleType = source == DType::F16 ? "f16" : source == DType::BF16 ? "bf16" : "f32";
    return out;
}

bool hasTensorScale(const QuantSpec& spec) { return scaleTypeOf(spec) == ScaleType::E4m3; }

float powerOfTwoAbove(float x) {
    int exponent = 0;
    const float mantissa = std::frexp(x, &exponent); // x = mantissa * 2^exponent, mantissa in [1/2, 1)
    return twoTo(mantissa == 0.5f ? exponent - 1 : exponent);
}

float powerOfTwoBelow(float x, int exponents) { return twoTo(std::ilogb(x) + exponents); }

float roundToE4m3(float x) {
    constexpr float kMost = 448, kLeastNormal = 0x1p-6f;
    const float within = std::min(x, kMost);
    if (!(within >= kLeastNormal)) { // multiples of 2^-9, as is what adding and taking off 1.5 * 2^14 leaves
        const float rounded = (within + 24576.0f) - 24576.0f;
        return rounded > 0 ? rounded : 0.125f;
    }
    const auto bits = std::bit_cast<std::uint32_t>(within); // to three bits of the mantissa, half to even
    return std::bit_cast<float>((bits + 0x7ffffu + (bits >> 20 & 1)) & ~0xfffffu);
}

float roundToHalf(ScaleType type, float x) {
    const KernelSet& kernels = scalarKernels();
    const bool f16 = type == ScaleType::F16;
    std::uint16_t half = 0;
    float out = 0;
    (f16 ? kernels.f32ToF16 : kernels.f32ToBf16)(&x, 1, &half);
    if (half == (f16 ? 0x7c00 : 0x7f80)) --half;
    if (half == 0) ++half;
    (f16 ? kernels.f16ToF32 : kernels.bf16ToF32)(&half, 1, &out);
    return out;
}

DType storedScaleType(const QuantSpec& spec, DType source) {
    switch (scaleTypeOf(withScaleTypeOf(spec, source))) {
    case ScaleType::F16: return DType::F16;
    case ScaleType::Bf16: return DType::BF16;
    case ScaleType::E8m0:
    case ScaleType::Po2: return DType::F8_E8M0;
    case ScaleType::E4m3:
    case ScaleType::Ue4m3: return DType::F8_E4M3;
    case ScaleType::U8dq: return DType::U8;
    case ScaleType::F32: break;
    }
    return inputTypeOf(spec, source).value_or(DType::F32);
}

DType storedZeroType(const QuantSpec& spec) {
    if (spec.effectiveCalibration().id != "hqq") return DType::I8;
    const ScaleType type = scaleTypeOf(spec);
    return type == ScaleType::F16 ? DType::F16 : type == ScaleType::Bf16 ? DType::BF16 : DType::F32;
}

float roundedTo(ScaleType type, float value) {
    if (type != ScaleType::F16 && type != ScaleType::Bf16) return value;
    const bool f16 = type == ScaleType::F16;
    const float most = f16 ? 65504.0f : 0x1.fep127f;
    const float within = std::clamp(value, -most, most);
    const KernelSet& kernels = scalarKernels();
    std::uint16_t half = 0;
    float out = 0;
    (f16 ? kernels.f32ToF16 : kernels.f32ToBf16)(&within, 1, &half);
    (f16 ? kernels.f16ToF32 : kernels.bf16ToF32)(&half, 1, &out);
    return out;
}

std::uint8_t scaleByte(DType dtype, float value) {
    if (!(value > 0)) return 0;
    if (dtype == DType::F8_E8M0) return std::uint8_t(std::ilogb(value) + 127);
    const int exponent = value < 0x1p-6f ? -6 : std::ilogb(value);
    const int units = int(std::nearbyint(std::ldexp(value, 3 - exponent)));
    return std::uint8_t(((exponent + 6) << 3) + units);
}

float scaleOfByte(DType dtype, std::uint8_t byte) {
    if (dtype == DType::F8_E8M0) return twoTo(int(byte) - 127);
    static const std::vector<float> table = floatTable(*findFormat("fp8_e4m3"));
    return table[byte];
}

} // namespace qs
