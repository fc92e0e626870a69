// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Rows and columns of one matrix that are those of another one in another order, value for value.

#include "core/analysis/diff/diff_compare.h"

namespace qs {

struct Permuted {
    bool rows = false, columns = false;
};
/// What is permuted, proved by comparing every value under the order that was found; none: nothing is.
/// Two passes over each tensor; 8 bytes of memory for each row and each column.
Result<std::optional<Permuted>> findPermutation(const Pairing& pairing, const Job& job);

} // namespace qs
