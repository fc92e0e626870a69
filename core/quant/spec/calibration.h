// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// calib=: from the values of a group to its bound, which the outermost level stands for.

#include "core/quant/spec/spec.h"
#include "kernels/kernel_set.h"

namespace qs {

class EncodePlan;

/// Statistics that parts of a group have to be merged by, in a fixed order.
struct GroupStatistics {
    float absMax = 0, min = 0, max = 0; ///< min <= 0 <= max, but of dialects whose range need not hold 0
    double powers = 0;                  ///< sum |x|^p, see CalibrationTraits::power
    std::uint64_t count = 0, nonZero = 0;
    void merge(const GroupStatistics& other);
};
/// What is mapped onto the outermost levels; symmetric specs have low = -high.
struct GroupBound {
    float low = 0, high = 0; ///< low may be above 0, where the range need not hold 0
    float zero = 0;          ///< CalibrationTraits::findsZero: the zero point that was found, among the levels
};

/// Which specs a calibration is for: those that are symmetric around 0, those with a zero point, or both.
enum class Ends { Symmetric, ZeroPoint, Either };
/// What of a group's values the bound is made of, besides the numbers of the calibration.
enum class BoundFrom { Nothing, Largest, Ends, Powers, Values };

struct CalibrationTraits {
    const char* id;
    const char* title;
    const char* arguments;          ///< "[,c]"
    const char* summary;            ///< in words and as a formula
    int minArguments, maxArguments; ///< of formats with levels to divide by; sign formats take none
    bool (*takes)(const FormatTraits& format);
    Ends ends = Ends::Symmetric;
    bool isThreshold = false;             ///< for specs without a scale, and for no others
    bool isFactor = false;                ///< its one number is a factor of the bound; where it may be left out it is 1
    std::span<const double> example = {}; ///< numbers to begin with, where it does not do without
    /// Numbers to advise where `count` were typed; null: the example.
    std::vector<double> (*advised)(std::size_t count) = nullptr;
    /// The numbers make sense; their count does. Null: each is a factor.
    Result<void> (*check)(const Calibration& calibration, const QuantSpec& spec) = nullptr;

    BoundFrom from = BoundFrom::Largest;
    /// What KernelSet::quantize calls it; null: kernels do not know it.
    GroupStatistic (*statistic)(Encoder encoder) = nullptr;
    double (*power)(std::span<const double> arguments) = nullptr; ///< p of Powers
    /// The bound of merged statistics without NaN; null: the whole range, where a search begins.
    GroupBound (*bound)(const EncodePlan& plan, const GroupStatistics& statistics) = nullptr;
    /// Values: the bound of all values of one group.
    GroupBound (*boundOfValues)(const EncodePlan& plan, const float* x, std::size_t n) = nullptr;
    /// Moves the bounds of all groups of a run (x, n, group).
    void (*search)(const EncodePlan& plan, const Run& run, GroupBound* bounds) = nullptr;
    bool findsZero = false; ///< finds a zero point between the levels, stored as a float
};

std::span<const CalibrationTraits* const> calibrationRows();
/// Null: there is none of that name.
const CalibrationTraits* findCalibration(std::string_view id);
/// The calibration of a valid spec; null if nothing is calibrated.
const CalibrationTraits* calibrationOf(const QuantSpec& spec);
/// All calibrations that some spec of the format takes.
std::vector<std::string_view> calibrationIds(const FormatTraits& format);
/// Ids that apply to the spec's format and scale, the default first; empty when nothing is calibrated (f16, unscaled
/// binary).
std::vector<std::string_view> calibrationsOf(const QuantSpec& spec);

/// Numbers to begin with, where a calibration does not do without; `sign`: of binary and ternary.
std::vector<double> exampleArguments(std::string_view id, bool sign);
/// The numbers make sense for the calibration; the sentence names the nearest that do.
Result<void> checkArguments(const Calibration& calibration, const QuantSpec& spec);
/// "percentile,99.9"
std::string calibrationText(const Calibration& calibration);
/// The zero points of a spec lie between the levels.
bool hasFractionalZeros(const QuantSpec& spec);

/// MaxText's manual_quantize strings: "fixed,SCALE,MAX". The second field is ignored, as there; scale = MAX / the
/// largest value of the format (0 becomes 1), and what values are divided by is that scale rounded to bf16.
struct ManualScale {
    float scale = 1;   ///< stored
    float divisor = 1; ///< rounded to bf16
};
Result<ManualScale> parseManualQuantize(std::string_view text, const FormatTraits& format);

} // namespace qs
