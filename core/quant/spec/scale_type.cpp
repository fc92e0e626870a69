// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/quant/spec/scale_type.h"

#include "core/quant/encode/encode.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace qs {
namespace {

constexpr int kLowest = -127, kHighest = 127; ///< exponents of e8m0

float twoTo(int exponent) {
    const int within = std::clamp(exponent, kLowest, kHighest);
    return within == kLowest ? 0x1p-127f : std::bit_cast<float>(std::uint32_t(within + 127) << 23);
}

std::uint16_t toHalf(DType type, float value) {
    std::uint16_t half = 0;
    (type == DType::F16 ? scalarKernels().f32ToF16 : scalarKernels().f32ToBf16)(&value, 1, &half);
    return half;
}
float ofHalf(DType type, std::uint16_t half) {
    float value = 0;
    (type == DType::F16 ? scalarKernels().f16ToF32 : scalarKernels().bf16ToF32)(&half, 1, &value);
    return value;
}

/// The nearest finite F16 or BF16.
float finiteHalf(DType type, float value) {
    const float most = type == DType::F16 ? 65504.0f : 0x1.fep127f;
    return ofHalf(type, toHalf(type, std::clamp(value, -most, most)));
}

float roundToExponent(const EncodePlan& plan, float scale, float bound) {
    const int room = std::ilogb(plan.highest());
    if (plan.dialect().roundsMaximumUp && plan.format().ownScale == OwnScale::E8m0)
        return twoTo(int((std::bit_cast<std::uint32_t>(bound) + 0x200000u) >> 23) - 127 - room);
    if (bound == 0) return 1;
    if (plan.dialect().roundsExponentUp) return powerOfTwoAbove(scale);
    return powerOfTwoBelow(bound, -room);
}

bool hasPlainScales(const FormatTraits& f) {
    return f.ownScale == OwnScale::F32 && (f.kind == FormatKind::Integer || f.kind == FormatKind::Float);
}
bool takesExponents(const FormatTraits& f) { return hasPlainScales(f) || f.ownScale == OwnScale::E8m0; }

constexpr const ScaleType* kScaleTypes[] = {&ScaleType::F16,  &ScaleType::Bf16,  &ScaleType::E8m0,
                                            &ScaleType::Po2,  &ScaleType::E4m3,  &ScaleType::Ue4m3,
                                            &ScaleType::U8dq, &ScaleType::Input, &ScaleType::F32};

} // namespace

constinit const ScaleType ScaleType::F32 = {
    .id = "f32",
    .title = "32-bit floats",
    .takes = [](const FormatTraits&) { return true; },
    .defines = [](const FormatTraits& f) { return f.ownScale == OwnScale::F32; },
};
constinit const ScaleType ScaleType::F16 = {
    .id = "f16",
    .title = "16-bit floats",
    .stored = DType::F16,
    .takes = hasPlainScales,
    .round = [](const EncodePlan&, float scale, float) { return roundToHalf(DType::F16, scale); },
    .roundOffset = [](float value) { return finiteHalf(DType::F16, value); },
};
constinit const ScaleType ScaleType::Bf16 = {
    .id = "bf16",
    .title = "bfloat16",
    .stored = DType::BF16,
    .takes = hasPlainScales,
    .round = [](const EncodePlan&, float scale, float) { return roundToHalf(DType::BF16, scale); },
    .roundOffset = [](float value) { return finiteHalf(DType::BF16, value); },
};
constinit const ScaleType ScaleType::E8m0 = {
    .id = "e8m0",
    .title = "Powers of two by the exponent of the bound (OCP Microscaling)",
    .stored = DType::F8_E8M0,
    .takes = takesExponents,
    .defines = [](const FormatTraits& f) { return f.ownScale == OwnScale::E8m0; },
    .round = roundToExponent,
    .takesZeroPoints = false,
    .isPowerOfTwo = true,
};
constinit const ScaleType ScaleType::Po2 = {
    .id = "po2",
    .title = "The next power of two, nothing is clipped",
    .stored = DType::F8_E8M0,
    .takes = takesExponents,
    .round = [](const EncodePlan&, float scale, float) { return powerOfTwoAbove(scale); },
    .isPowerOfTwo = true,
};
constinit const ScaleType ScaleType::E4m3 = {
    .id = "e4m3",
    .title = "8-bit floats, relative to one f32 per tensor",
    .stored = DType::F8_E4M3,
    .takes = [](const FormatTraits& f) { return f.kind == FormatKind::Integer || f.ownScale == OwnScale::E4m3; },
    .defines = [](const FormatTraits& f) { return f.ownScale == OwnScale::E4m3; },
    .round =
        [](const EncodePlan& plan, float scale, float) {
            const float tensor = plan.tensorScale();
            return tensor > 0 ? roundToE4m3(scale * tensor) / tensor : scale;
        },
    .takesZeroPoints = false,
    .holdsNoZero = true,
    .ofTensor = true,
};
constinit const ScaleType ScaleType::Ue4m3 = {
    .id = "ue4m3",
    .title = "8-bit floats",
    .stored = DType::F8_E4M3,
    .takes = [](const FormatTraits& f) { return f.ownScale == OwnScale::E4m3; },
    .round = [](const EncodePlan&, float scale, float) { return roundToE4m3(scale); },
    .holdsNoZero = true,
};
constinit const ScaleType ScaleType::U8dq = {
    .id = "u8dq",
    .title = "8 bits of absolute maxima, in blocks of 256",
    .stored = DType::U8,
    .isNested = true,
    .broughtBy = "the double quantization of bitsandbytes",
};
constinit const ScaleType ScaleType::Input = {
    .id = "input",
    .title = "The tensor's own type",
    .isInput = true,
};

std::span<const ScaleType* const> scaleTypeRows() { return kScaleTypes; }

const ScaleType* findScaleType(std::string_view id) {
    for (const ScaleType* row : kScaleTypes)
        if (id == row->id) return row;
    return nullptr;
}

std::vector<const ScaleType*> commonScaleTypes(const FormatTraits& format) {
    std::vector<const ScaleType*> out;
    for (const bool own : {true, false})
        for (const ScaleType* row : kScaleTypes)
            if (row->takes && row->takes(format) && (row->defines && row->defines(format)) == own) out.push_back(row);
    return out;
}

namespace {

std::vector<const ScaleType*> typesUnder(const Dialect& dialect, const FormatTraits& format) {
    return dialect.scaleTypes ? dialect.scaleTypes(format) : commonScaleTypes(format);
}

} // namespace

std::vector<std::string_view> scaleTypeIds(const FormatTraits& format) {
    std::vector<std::string_view> out;
    for (const Dialect* dialect : dialectsOf(format))
        for (const ScaleType* type : typesUnder(*dialect, format))
            if (!std::count(out.begin(), out.end(), type->id)) out.push_back(type->id);
    return out;
}

std::vector<std::string_view> scaleTypesOf(const QuantSpec& spec) {
    std::vector<std::string_view> out;
    for (const ScaleType* type : typesUnder(dialectOf(spec), spec.traits())) out.push_back(type->id);
    return out;
}

const ScaleType& scaleTypeOf(const QuantSpec& spec) {
    const ScaleType* type =
        spec.scaleType ? findScaleType(*spec.scaleType) : typesUnder(dialectOf(spec), spec.traits()).front();
    return type ? *type : ScaleType::F32; // a word that validate() refuses
}

QuantSpec withScaleTypeOf(const QuantSpec& spec, DType source) {
    if (!scaleTypeOf(spec).isInput) return spec;
    QuantSpec out = spec;
    out.scaleType = ScaleType::F32.id;
    for (const ScaleType* type : {&ScaleType::F16, &ScaleType::Bf16})
        if (type->stored == source) out.scaleType = type->id;
    return out;
}

bool hasTensorScale(const QuantSpec& spec) { return scaleTypeOf(spec).ofTensor; }
bool isDoubleQuantized(const QuantSpec& spec) { return scaleTypeOf(spec).isNested; }

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

float largestOf(DType half) { return half == DType::F16 ? kLargestOfHalf : 0x1.fefffep127f; }

float roundToHalf(DType type, float x) {
    std::uint16_t half = toHalf(type, x);
    if (half == 0) ++half;
    return ofHalf(type, half);
}

DType storedScaleType(const QuantSpec& spec, DType source) {
    const ScaleType& type = scaleTypeOf(withScaleTypeOf(spec, source));
    const bool half = source == DType::F16 || source == DType::BF16;
    return type.stored ? *type.stored : half && spec.effectiveCompute() == Compute::Input ? source : DType::F32;
}

DType storedZeroType(const QuantSpec& spec) {
    if (!hasFractionalZeros(spec)) return DType::I8;
    const ScaleType& type = scaleTypeOf(spec);
    return type.roundOffset ? *type.stored : DType::F32;
}

float roundedTo(const ScaleType& type, float value) { return type.roundOffset ? type.roundOffset(value) : value; }

std::uint8_t scaleByte(DType dtype, float value) {
    if (!(value > 0)) return 0;
    if (dtype == DType::F8_E8M0) return std::uint8_t(std::ilogb(value) + 127);
    const int exponent = value < 0x1p-6f ? -6 : std::ilogb(value);
    const int units = int(std::nearbyint(std::ldexp(value, 3 - exponent)));
    return std::uint8_t(((exponent + 6) << 3) + units);
}

float scaleOfByte(DType dtype, std::uint8_t byte) {
    if (dtype == DType::F8_E8M0) return twoTo(int(byte) - 127);
    constexpr FloatShape kE4m3{3, 7, true};
    const unsigned magnitude = byte & 127u;
    if (magnitude == 127) return std::numeric_limits<float>::quiet_NaN();
    return byte & 128 ? -floatMagnitude(kE4m3, magnitude) : floatMagnitude(kE4m3, magnitude);
}

} // namespace qs
