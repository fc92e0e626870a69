// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// scaletype=: the numbers that a scale may be, and how it is stored.

#include "core/model/dtype.h"
#include "core/quant/spec/spec.h"

namespace qs {

enum class ScaleType { F32, F16, Bf16, E8m0, Po2, E4m3, Ue4m3, U8dq };
ScaleType scaleTypeOf(const QuantSpec& spec);
/// scaletype=input: F16 or BF16 where the tensor is, else F32; until forTensor() has said which, F32.
inline constexpr std::string_view kInputScales = "input";
/// The spec with the type that scaletype=input means for a tensor of this one; any other spec as it is.
QuantSpec withScaleTypeOf(const QuantSpec& spec, DType source);
/// E4m3: the stored scales are relative to one f32 per tensor, which is divided by.
bool hasTensorScale(const QuantSpec& spec);

/// 2^ceil(log2 x), 2^floor(log2 x) and multiples of the latter, within what a byte of exponent holds; x > 0.
float powerOfTwoAbove(float x);
float powerOfTwoBelow(float x, int exponents);
/// The nearest value of 8-bit e4m3 to x >= 0, half to even, saturating; what would be 0 is 0.125, as in
/// compressed-tensors.
float roundToE4m3(float x);
/// The nearest f16 or bf16, finite and not 0.
float roundToHalf(ScaleType type, float x);

/// What the native layout stores a scale as.
DType storedScaleType(const QuantSpec& spec, DType source);
/// What it stores a zero point as: an I8, except where calib=hqq finds one between the levels.
DType storedZeroType(const QuantSpec& spec);
/// The nearest finite value of f16 or bf16, of other types the value itself: zero points between the levels, biases.
float roundedTo(ScaleType type, float value);
/// One byte of F8_E8M0 or F8_E4M3 per value, each of which is one of theirs, and back.
std::uint8_t scaleByte(DType dtype, float value);
float scaleOfByte(DType dtype, std::uint8_t byte);

} // namespace qs
