// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// scaletype=: the numbers that a scale may be, and how it is stored.

#include "core/model/dtype.h"
#include "core/quant/spec/spec.h"

namespace qs {

class EncodePlan;

struct ScaleType {
    const char* id;
    const char* title;
    std::optional<DType> stored = std::nullopt; ///< none: F32, or the tensor's own type under compute=input
    /// Whatever the dialect; null: only dialects that bring it, see Dialect::scaleTypes.
    bool (*takes)(const FormatTraits& format) = nullptr;
    /// What a scale of the format is by its own definition, which is the default; null: of none.
    bool (*defines)(const FormatTraits& format) = nullptr;
    /// The nearest scale of this type; `bound` is that of the group. Null: the scale as it is.
    float (*round)(const EncodePlan& plan, float scale, float bound) = nullptr;
    /// Zero points between the levels, and biases; null: as they are.
    float (*roundOffset)(float value) = nullptr;
    bool takesZeroPoints = true;     ///< together with sym=no
    bool isPowerOfTwo = false;       ///< every scale is one
    bool holdsNoZero = false;        ///< a scale of 0 becomes another number by rounding
    bool ofTensor = false;           ///< stored scales are relative to one f32 per tensor, which is divided by
    bool isNested = false;           ///< all scales of a tensor are quantized themselves, see double_quant.h
    bool isInput = false;            ///< stands for the tensor's own type: see withScaleTypeOf()
    const char* broughtBy = nullptr; ///< what it belongs to, where few formats have it: "the double quantization of X"

    static const ScaleType F32, F16, Bf16, E8m0, Po2, E4m3, Ue4m3, U8dq, Input;
    bool operator==(const ScaleType& other) const { return id == other.id; }
};
/// All rows, in the order in which they are listed.
std::span<const ScaleType* const> scaleTypeRows();
/// Null: there is none of that name.
const ScaleType* findScaleType(std::string_view id);
/// The types of scales that a format takes in every dialect, the default first.
std::vector<const ScaleType*> commonScaleTypes(const FormatTraits& format);
/// The types of scales that at least one spec of the format takes, the default first.
std::vector<std::string_view> scaleTypeIds(const FormatTraits& format);
/// Values of scaletype= that the format and the dialect of a spec take, the default first.
std::vector<std::string_view> scaleTypesOf(const QuantSpec& spec);
const ScaleType& scaleTypeOf(const QuantSpec& spec);
/// The spec with the type that scaletype=input means for a tensor of this one; any other spec as it is. Until
/// forTensor() has said which, scales are F32.
QuantSpec withScaleTypeOf(const QuantSpec& spec, DType source);
bool hasTensorScale(const QuantSpec& spec);
bool isDoubleQuantized(const QuantSpec& spec);

/// 2^ceil(log2 x), 2^floor(log2 x) and multiples of the latter, within what a byte of exponent holds; x > 0.
float powerOfTwoAbove(float x);
float powerOfTwoBelow(float x, int exponents);
/// The nearest value of 8-bit e4m3 to x >= 0, half to even, saturating; what would be 0 is 0.125, as in
/// compressed-tensors.
float roundToE4m3(float x);
/// The largest f32 that a float type of 16 bits holds after rounding; what is larger is infinite there.
float largestOf(DType half);
/// The nearest F16 or BF16, not 0; infinite beyond largestOf().
float roundToHalf(DType type, float x);

/// What the native layout stores a scale as.
DType storedScaleType(const QuantSpec& spec, DType source);
/// What it stores a zero point as: an I8, except where the calibration finds one between the levels.
DType storedZeroType(const QuantSpec& spec);
/// The nearest finite value of f16 or bf16, of other types the value itself: zero points between the levels, biases.
float roundedTo(const ScaleType& type, float value);
/// One byte of F8_E8M0 or F8_E4M3 per value, each of which is one of theirs, and back.
std::uint8_t scaleByte(DType dtype, float value);
float scaleOfByte(DType dtype, std::uint8_t byte);

} // namespace qs
