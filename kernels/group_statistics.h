// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Scale parameters of groups that do not lie within one row: the whole matrix, long rows, columns. A sum is split into
// pieces of fixed size, and the pieces are added in order. So the number of threads does not change it.

#include "kernels/kernel_set.h"
#include "kernels/matmul.h"

namespace qs {

inline constexpr std::size_t kStatisticPiece = 65536; ///< elements per piece

/// How the elements of a matrix are divided into groups.
struct SharedGroups {
    bool columns = false;  ///< one group per column
    std::size_t group = 0; ///< else: elements per group, consecutive; divides rows * cols
};
/// Computes the parameters of every group from run.statistic, run.encoder and run.clip. x is [rows, cols], row-major,
/// and finite. params gets one entry per group; exactly one default entry if the statistic is None. Returns false if
/// stopped.
bool measureGroups(const KernelSet& kernels, const Run& run, const float* x, std::size_t rows, std::size_t cols,
                   const SharedGroups& groups, ThreadTeam& team, const StopRequest& stop,
                   std::vector<GroupParams>& params);

} // namespace qs
