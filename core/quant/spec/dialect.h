// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// dialect=: whose arithmetic makes the codes of a format. A row says everything in which one program differs from
// another: what a bound is divided by, what replaces a scale of 0, how a value becomes a level, which keys it knows.

#include "core/quant/spec/calibration.h"
#include "core/quant/spec/scale_type.h"

namespace qs {

class EncodePlan;
struct GroupBound;

/// Which integers the codes of an integer format of b bits stand for.
enum class IntegerLevels {
    Symmetric, ///< the format's own: -(2^(b-1) - 1) to 2^(b-1) - 1
    All,       ///< -2^(b-1) to 2^(b-1) - 1
    Halves,    ///< -2^(b-1) + 1/2 to 2^(b-1) - 1/2, none of which is 0
    FromZero,  ///< 0 to 2^b - 1
};

/// How a value becomes the number that is rounded to a level.
enum class Division {
    ByDivisor,             ///< as the encoder does it: divided by GroupParams::aux, or multiplied
    InHalf,                ///< rounded to f16 first
    Truncated,             ///< the quotient is cut off, as a cast to an integer does
    ByReciprocalOfMaximum, ///< multiplied by 1 / absolute maximum; divided by it in the last, short block
};

struct Dialect {
    const char* id;     ///< several rows may share one, for different formats
    const char* title;  ///< of the program and its function
    const char* source; ///< the program and the version that it is equal to
    bool (*takes)(const FormatTraits& format);
    /// The dialect that defines the format, which is its default; null: of none.
    bool (*defines)(const FormatTraits& format) = nullptr;

    // What a spec of the dialect may say, and what it means where it says nothing.
    std::optional<ScaleKind> defaultScale = std::nullopt; ///< none: the format's
    bool symmetric = true;                                ///< unless sym= is given
    bool zeroPoints = true;                               ///< takes sym=no
    bool randomFloats = true;                             ///< takes round=stochastic of float formats
    bool crossesRows = false;                             ///< blocks run over the flattened tensor
    bool lastAxisOnly = false;                            ///< blocks of the last axis alone: no flat=yes
    bool packsBlocks = false;                             ///< encodes by FormatTraits::codec
    bool isOwnArithmetic = false;                         ///< KernelSet::quantize and compute=input do it without help
    std::optional<std::span<const CalibrationTraits* const>> calibrations = std::nullopt; ///< none: the format's
    std::vector<const ScaleType*> (*scaleTypes)(const FormatTraits& format) = nullptr;    ///< null: the format's
    Result<void> (*check)(const QuantSpec& spec) = nullptr; ///< keys that the program does not know
    Result<void> (*checkNumbers)(const Calibration& calibration, const QuantSpec& spec) = nullptr; ///< null: the row's
    Result<void> (*checkRows)(const QuantSpec& spec, std::int64_t features) = nullptr; ///< the length of a row
    void (*fit)(QuantSpec& spec) = nullptr; ///< changes keys that leave no room for the dialect

    // How a group becomes codes.
    std::optional<Encoder> encoder = std::nullopt; ///< none: the format's
    IntegerLevels integers = IntegerLevels::Symmetric;
    /// What a symmetric bound is divided by, of an integer format with 2^(b-1) = `half`; null: the last level.
    float (*integerRange)(float half) = nullptr;
    Division division = Division::ByDivisor;
    bool hasBiases = false;        ///< decoded as level * scale + bias
    bool rangeHoldsZero = true;    ///< false: from the least to the largest value, even where 0 is outside
    bool zeroMaximumIsOne = false; ///< an absolute maximum of 0 counts as 1, before it is clipped
    bool dividesByScale = false;   ///< of codebooks: by the scale itself, not by scale + the least normal f32
    bool roundsExponentUp = false; ///< scaletype=e8m0: 2^ceil(log2 scale)
    /// Of a format that is defined with scaletype=e8m0: a maximum of 1.75 or more times a power of two counts as the next
    /// one; one of 0 has the least scale.
    bool roundsMaximumUp = false;
    /// The scale of a bound before it is rounded to its type: what is least, and what replaces 0.
    float (*scaleOf)(const EncodePlan& plan, float bound) = nullptr; ///< null: bound / range
    float (*affineScale)(float scale) = nullptr;                     ///< of a zero point's range; null: 0 becomes 1
    GroupParams (*params)(const EncodePlan& plan, GroupBound bound) = nullptr; ///< all of it; null: by the above
    /// The largest magnitude that is taken; a tensor with larger values is refused. Null: FLT_MAX.
    float (*largestTaken)(const QuantSpec& spec) = nullptr;
};

/// All rows, in the order in which they are listed.
std::span<const Dialect* const> dialects();
/// The dialects of a format, the default first.
std::vector<const Dialect*> dialectsOf(const FormatTraits& format);
std::vector<std::string_view> dialectIds(const FormatTraits& format);
/// Null: the format does not have it.
const Dialect* findDialect(std::string_view id, const FormatTraits& format);
/// The dialect of a spec. If it is a trained dialect, returns the dialect that was trained.
const Dialect& dialectOf(const QuantSpec& spec);

/// The largest magnitude that the arithmetic of a spec takes; a tensor with larger ones is refused.
float largestTaken(const QuantSpec& spec);
/// The largest f32 that f16 holds after rounding: 65520 is infinite there.
inline constexpr float kLargestOfHalf = 0x1.ffdffep15f;
/// Blocks over the flattened tensor, whatever its rows.
bool blocksCrossRows(const QuantSpec& spec);

} // namespace qs
