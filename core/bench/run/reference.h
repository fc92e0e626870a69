// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What the result should be: f64 evaluation of the same quantized operands.

#include "core/bench/run/operands.h"

namespace qs {

struct Reference {
    std::int64_t rows = 0, columns = 0; ///< of the whole result
    std::vector<std::int64_t> checkedRows, checkedColumns;
    /// [checked rows, checked columns]. decode: level x scale, exact in f64; product in f64; bias.
    std::vector<double> y;
    /// Bit patterns that an exact evaluation may give (integer sums, then the scales in either order); empty when the
    /// operands have no exact evaluation: floats, or scales inside the sum.
    std::vector<float> exact[4];
    std::optional<double>
        formatNmse; ///< product with the quantized W against the product with W, over a sample of the checked outputs
    /// Σ(x w)² / Σy² over that sample, from 1 to 100: by how much terms that cancel magnify what rounding each of them
    /// does to the NMSE. About 1 where signs are independent; 8 in the last matrix of a small language model.
    double cancellation = 1;
    bool integer = false; ///< result of `quantize`: compared bit by bit with `codes` and `scales`
    std::uint64_t checked() const { return std::uint64_t(checkedRows.size()) * checkedColumns.size(); }
    std::uint64_t outputs() const { return std::uint64_t(rows) * std::uint64_t(columns); }
};

/// `levels`: what an approximate variant decodes the codes to, in place of the weights' own.
/// Full result up to kFullProducts multiplications; above, a seeded sample of rows and columns with the first and last.
inline constexpr std::uint64_t kFullProducts = std::uint64_t(1) << 33; // M = 512, N = K = 4096
Result<Reference> evaluateReference(const Operands& operands, std::uint64_t seed, const Job& job,
                                    std::uint64_t fullProducts = kFullProducts, std::span<const float> levels = {});

} // namespace qs
