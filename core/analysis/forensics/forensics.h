// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// One block, value by value, and the cause of its error.

#include "core/analysis/analysis.h"

#include <limits>

namespace qs {

struct BlockForensics {
    std::int64_t row = 0, block = 0; ///< which
    std::uint64_t firstElement = 0;  ///< flat index
    std::vector<float> values, decoded;
    std::vector<std::uint8_t> codes;
    float scale = 0;
    double absMax = 0, sqnrDb = 0, nmse = 0; ///< sqnrDb is NaN when the error is zero
    /// "outlier-dominated" "one-sided" "near zero" "constant" "already quantized" "ordinary"
    std::string cause;
    std::string causeTip; ///< one sentence with the figure that decided
};
/// For specs without blocks a "block" is a piece of 64 elements of the row under that row's (or tensor's) scale;
/// `tensorScale` caches whole-tensor parameters between calls.
Result<BlockForensics> inspectBlock(const Model& model, const TensorInfo& tensor, const QuantSpec& spec,
                                    std::int64_t row, std::int64_t block);

/// Codebook page: levels, decision boundaries, occupancy.
struct CodebookRow {
    int code = 0;
    double level = 0, polyLevel = 0; ///< polyLevel NaN when the format has none
    double lower = 0, upper = 0;     ///< decision boundaries in units of the scale; -inf, +inf outside
    std::uint64_t count = 0;
    double share = 0;
    double errorShare = std::numeric_limits<double>::quiet_NaN(); ///< of the squared error of W / scale; NaN: not known
};
struct CodebookView {
    std::vector<CodebookRow> rows;
    double entropyBits = 0, maxBits = 0;
    int deadCodes = 0;
    bool hasPoly = false;
};
CodebookView codebookView(const TensorAnalysis& analysis);
const Columns<CodebookRow>& codebookColumns();

/// The same tensor under decode=table and decode=poly: which share of the error comes from the decode.
struct DecodeComparison {
    ErrorSums table, poly;
};
Result<DecodeComparison> compareDecodes(const Model& model, const TensorInfo& tensor, const QuantSpec& spec,
                                        const Job& job);

} // namespace qs
