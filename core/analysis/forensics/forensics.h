// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Shows one block value by value, with the cause of its error.

#include "core/analysis/analysis.h"

#include <limits>

namespace qs {

/// A block: its values, what they become, and the error.
struct BlockForensics {
    std::int64_t row = 0, block = 0; ///< indices of the row and of the block in it
    std::uint64_t firstElement = 0;  ///< flat index in the tensor
    std::vector<float> values, decoded;
    std::vector<std::uint8_t> codes;
    float scale = 0;
    double absMax = 0, sqnrDb = 0, nmse = 0; ///< sqnrDb in dB; NaN if the error is 0
    /// One of "outlier-dominated", "one-sided", "near zero", "constant", "already quantized" and "ordinary".
    std::string cause;
    std::string causeTip; ///< one sentence with the figure that decided
};
/// Quantizes one block. If the spec has no blocks, a block is 64 elements of a row, with the scale of the row or
/// tensor. Scales of a whole tensor are cached between calls. Fails if the tensor cannot be quantized, if there is no
/// such block, or if the file changed.
Result<BlockForensics> inspectBlock(const Model& model, const TensorInfo& tensor, const QuantSpec& spec,
                                    std::int64_t row, std::int64_t block);

/// One code of the codebook page: its level, its decision boundaries, and how often it occurs.
struct CodebookRow {
    int code = 0;
    double level = 0, polyLevel = 0; ///< level under decode=poly; NaN if the format has no such decode
    double lower = 0, upper = 0;     ///< decision boundaries in units of the scale; -inf and +inf at the ends
    std::uint64_t count = 0;         ///< number of weights with this code
    double share = 0;                ///< count divided by the number of weights
    /// Fraction of the squared error of W / scale; NaN if not known.
    double errorShare = std::numeric_limits<double>::quiet_NaN();
};
/// The codebook of an analysed tensor. `entropyBits`: entropy of the codes in bits per code; `maxBits`: log2 of their
/// number.
struct CodebookView {
    std::vector<CodebookRow> rows;
    double entropyBits = 0, maxBits = 0;
    int deadCodes = 0;
    bool hasPoly = false;
};
CodebookView codebookView(const TensorAnalysis& analysis);
const Columns<CodebookRow>& codebookColumns();

/// Errors of a tensor under decode=table and decode=poly. Their difference is the error that the decode adds.
struct DecodeComparison {
    ErrorSums table, poly;
};
Result<DecodeComparison> compareDecodes(const Model& model, const TensorInfo& tensor, const QuantSpec& spec,
                                        const Job& job);

} // namespace qs
