// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// From the values of a group to its scale: statistic -> bound -> scale -> scale type -> what the encoder needs. Kernels
// know the plain cases (FORMATS' own scales of absolute maxima and mean magnitudes); this knows all.

#include "core/quant/spec/calibration.h"
#include "core/quant/spec/scale_type.h"
#include "kernels/kernel_set.h"

#include <vector>

namespace qs {

/// Statistics that parts of a group have to be merged by, in a fixed order.
struct GroupStatistics {
    float absMax = 0, min = 0, max = 0; ///< min <= 0 <= max, but under dialect=mlx
    double squares = 0, powers = 0;     ///< sum x^2, sum |x|^p
    std::uint64_t count = 0, nonZero = 0;
    void merge(const GroupStatistics& other);
};
/// What is mapped onto the outermost levels; symmetric specs have low = -high.
struct GroupBound {
    float low = 0, high = 0; ///< low may be above 0 under dialect=mlx
    float zero = 0;          ///< calib=hqq: the zero point that was found, among the levels
};

class GroupRule {
public:
    explicit GroupRule(const QuantSpec& spec);

    /// KernelSet::quantize finds these scales by itself.
    bool isPlain() const { return plain_; }
    /// All bounds must be known before any scale is: see setTensorBound().
    bool needsTensorScale() const { return tensorScaled_; }
    /// The bound takes all values of a group at once (percentile, searches).
    bool needsValues() const { return needsValues_; }

    GroupStatistics measure(const float* x, std::size_t n) const;
    GroupBound bound(const GroupStatistics& statistics) const;
    /// Bounds of the groups of a run (x, n, group); `out` has one per group.
    void bounds(const Run& run, GroupBound* out) const;
    GroupParams params(GroupBound bound) const;

    /// With the largest bound of a tensor: what stored scales are divided by.
    void setTensorBound(float largest);
    float tensorScale() const { return tensorScale_; }

private:
    float percentileOf(const float* x, std::size_t n) const;
    void search(const Run& run, GroupBound* bounds) const;
    GroupBound halfQuadratic(const float* x, std::size_t n) const;
    GroupParams symmetricParams(float bound) const;
    GroupParams affineParams(GroupBound bound) const;
    GroupParams biasedParams(GroupBound bound) const;
    float typed(float scale, float bound) const;

    enum class Family { Eformer, Aqt, AqtMax, AqtHalves, Qwix, Ct, Bnb, Maxtext, Bnb8, Mlx };
    enum class Measure { AbsMax, MinMax, Rms, Fixed, AbsMean, Percentile, Mse, Snr, Hqq };
    Family family_ = Family::Eformer;
    Measure measure_ = Measure::AbsMax;
    Encoder encoder_ = Encoder::Identity;
    ScaleType scaleType_ = ScaleType::F32;
    std::vector<double> arguments_;
    Run run_; ///< levels and policy, for searches
    bool plain_ = true, tensorScaled_ = false, needsValues_ = false, affine_ = false;
    float lowest_ = 0, highest_ = 0; ///< outermost levels
    float range_ = 1;                ///< what a symmetric bound is mapped to
    float tensorScale_ = 0;          ///< 0: not known yet
    float largest_ = 0;              ///< magnitude that the arithmetic takes
    ManualScale manual_;             ///< of Maxtext
};

/// The clips that calib=mse tries, as shares of the range: 1 down to 0.3 in steps of 0.025.
std::span<const float> mseGrid();
/// Those of calib=snr when none are given: 0.1 to 1 in steps of 0.1.
std::span<const float> snrGrid();

} // namespace qs
