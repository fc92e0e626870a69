// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What one thread of an analysis adds up over its ranges of a tensor.

#include "core/analysis/analysis.h"
#include "core/quant/encode/pass.h"

#include <algorithm>
#include <memory>
#include <vector>

namespace qs {

/// 32-bit bins are emptied before they can overflow.
struct AnalysisWorker {
    RunEncoder encoder;
    std::vector<std::uint32_t> errorBins, valueBins;
    std::vector<std::uint64_t> codeCounts;
    std::vector<float> sse, ssw, absMax, decoded;
    std::vector<GroupParams> params;
    std::uint64_t binned = 0;
    std::unique_ptr<Distribution> flushed; ///< what flush() took out of the bins; null: it was not called yet
    // For a range whose codes were chosen by a solver: the result of plain rounding. Only its clipping is used.
    ErrorSums rounded;
    std::vector<std::uint32_t> roundedBins;
    std::vector<std::uint64_t> roundedCodes;

    AnalysisWorker(SharedPlan plan, DType source, std::shared_ptr<const TensorScales> scales, std::size_t levels)
        : encoder(std::move(plan), source, std::move(scales)), errorBins(kFloatBins), valueBins(kFloatBins),
          codeCounts(levels) {}
    void flush() {
        if (!flushed) flushed = std::make_unique<Distribution>();
        flushed->error.add(errorBins), flushed->value.add(valueBins);
        std::fill(errorBins.begin(), errorBins.end(), 0u);
        std::fill(valueBins.begin(), valueBins.end(), 0u);
        binned = 0;
    }
    RunOut outputs(ErrorSums& sums) {
        RunOut out;
        out.sums = &sums;
        out.errorBins = errorBins.data(), out.valueBins = valueBins.data();
        out.codeCounts = codeCounts.empty() ? nullptr : codeCounts.data();
        return out;
    }
    RunOut roundedOutputs() {
        roundedBins.resize(kFloatBins);
        roundedCodes.resize(codeCounts.size());
        RunOut out;
        out.sums = &rounded;
        out.errorBins = roundedBins.data(), out.valueBins = valueBins.data();
        out.codeCounts = roundedCodes.empty() ? nullptr : roundedCodes.data();
        return out;
    }
    void roomForBlocks(std::size_t blocks) {
        if (sse.size() >= blocks) return;
        sse.resize(blocks), ssw.resize(blocks), absMax.resize(blocks);
    }
};

} // namespace qs
