// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The expected result: the same quantized operands evaluated in f64.

#include "core/bench/run/operands.h"

namespace qs {

struct Reference {
    std::int64_t rows = 0, columns = 0; ///< of the whole result
    std::vector<std::int64_t> checkedRows, checkedColumns;
    /// [checked rows, checked columns]. decode: level x scale, exact in f64; products and bias in f64.
    std::vector<double> y;
    /// Bit patterns that an exact evaluation can give (integer sums, then the scales in either order). Empty for
    /// operands without an exact evaluation: floats, or scales inside the sum.
    std::vector<float> exact[4];
    std::optional<double>
        /// the product with quantized W against the product with W, over a sample of the checked outputs
        formatNmse;
    /// Σ(x w)² / Σy² over that sample, from 1 to 100: how much cancelling terms magnify the effect of rounding on the
    /// NMSE. About 1 for independent signs; 8 in the last matrix of a small language model.
    double cancellation = 1;
    bool integer = false; ///< result of `quantize`: compared bit by bit with `codes` and `scales`
    std::uint64_t checked() const { return std::uint64_t(checkedRows.size()) * checkedColumns.size(); }
    std::uint64_t outputs() const { return std::uint64_t(rows) * std::uint64_t(columns); }
};

inline constexpr std::uint64_t kFullProducts = std::uint64_t(1) << 33; // M = 512, N = K = 4096
/// The full result up to `fullProducts` multiplications; above, a seeded sample of rows and columns with the first and
/// the last. `levels`: the values that an approximate variant decodes codes to; empty: those of the weights.
Result<Reference> evaluateReference(const Operands& operands, std::uint64_t seed, const Job& job,
                                    std::uint64_t fullProducts = kFullProducts, std::span<const float> levels = {});

} // namespace qs
