// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// How the groups of a spec become codes, composed once of its rows of formats(), dialects(), calibrationRows() and
// scaleTypeRows(): statistic -> bound -> scale -> scale type -> what the encoder needs. Kernels know the plain cases (scales
// of absolute maxima and mean magnitudes, as f32); this knows all.

#include "core/quant/spec/calibration.h"
#include "core/quant/spec/code_set.h"
#include "core/quant/spec/dialect.h"

#include "core/model/dtype.h"

#include <memory>
#include <optional>
#include <vector>

namespace qs {

class EncodePlan {
public:
    explicit EncodePlan(QuantSpec spec); ///< a valid one

    const QuantSpec& spec() const { return spec_; }
    /// What kernels run: statistic, encoder, levels and policy. x, n, group and given scales are the caller's.
    const Run& run() const { return run_; }
    /// The 16-bit type of the source when the arithmetic is done in it (compute=input).
    std::optional<DType> inputType(DType source) const;
    const FormatTraits& format() const { return *format_; }
    const Dialect& dialect() const { return *dialect_; }
    const ScaleType& scaleType() const { return *scaleType_; }
    std::span<const double> arguments() const { return arguments_; } ///< of the calibration
    /// The first number of the calibration; 1 when there is none.
    float factor() const { return arguments_.empty() ? 1.0f : float(arguments_.front()); }
    bool skipsNonFinite() const { return trial_.skipNonFinite; }
    Encoder encoder() const { return encoder_; }
    float lowest() const { return lowest_; } ///< outermost levels
    float highest() const { return highest_; }
    float range() const { return range_; } ///< what a symmetric bound is divided by
    float largestTaken() const { return largestTaken_; }
    /// Levels, encoder and policy for runs whose scales are given, as searches try them.
    const Run& trial() const { return trial_; }

    /// Whether every level of such a group decodes to a finite value. False also where only levels that no value of the
    /// group gets are beyond f32.
    bool decodesFinite(const GroupParams& params) const;

    /// KernelSet::quantize finds these scales by itself.
    bool isPlain() const { return plain_; }
    /// All bounds must be known before any scale is: see withTensorBound().
    bool needsTensorScale() const { return needsTensorScale_; }
    /// The bound takes all values of a group at once (percentile, searches).
    bool needsValues() const { return needsValues_; }

    GroupStatistics measure(const float* x, std::size_t n) const;
    GroupBound bound(const GroupStatistics& statistics) const;
    /// Bounds of the groups of a run (x, n, group); `out` has one per group.
    void bounds(const Run& run, GroupBound* out) const;
    GroupParams params(GroupBound bound) const;
    /// The scale of a range with a zero point.
    float affineScale(GroupBound bound) const;

    /// The plan with the largest bound of a tensor: what stored scales are divided by.
    std::shared_ptr<const EncodePlan> withTensorBound(float largest) const;
    float tensorScale() const { return tensorScale_; } ///< 0: not known yet

private:
    GroupParams symmetricParams(float bound) const;
    GroupParams affineParams(GroupBound bound) const;
    float typed(float scale, float bound) const;

    QuantSpec spec_;
    const FormatTraits* format_;
    const Dialect* dialect_;
    const CalibrationTraits* calibration_; ///< null: none
    const ScaleType* scaleType_;
    std::vector<double> arguments_;
    Encoder encoder_;
    Run trial_, run_;
    bool plain_ = true, needsTensorScale_ = false, needsValues_ = false, affine_ = false;
    float lowest_ = 0, highest_ = 0, range_ = 1;
    float tensorScale_ = 0, largestTaken_ = 0;
};

/// Composed once for a tensor and handed on to all that encodes it.
using SharedPlan = std::shared_ptr<const EncodePlan>;
inline SharedPlan composedPlan(QuantSpec spec) { return std::make_shared<const EncodePlan>(std::move(spec)); }

} // namespace qs
