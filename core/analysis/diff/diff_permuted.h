// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Finds out whether one matrix is another one with its rows or columns in another order.

#include "core/analysis/diff/diff_compare.h"

namespace qs {

/// Whether rows, and whether columns, are in another order.
struct Permuted {
    bool rows = false, columns = false;
    std::uint64_t zeroSigns = 0; ///< see DiffRow
};
/// Looks for a permutation of rows and columns, and proves it by comparing every value. Empty if there is none. Reads
/// each tensor twice, and uses 8 bytes of memory per row and per column. Fails if the job is cancelled or a file
/// changed.
Result<std::optional<Permuted>> findPermutation(const Pairing& pairing, const Job& job);

} // namespace qs
