// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Scales of groups that no row of a matrix holds alone: the whole matrix, long rows, columns. Sums are of fixed pieces
// and folded in order, so that they do not depend on the number of threads.

#include "kernels/kernel_set.h"
#include "kernels/matmul.h"

namespace qs {

inline constexpr std::size_t kStatisticPiece = 65536; ///< elements

struct SharedGroups {
    bool columns = false;  ///< one for each column
    std::size_t group = 0; ///< else consecutive elements, a divisor of rows x cols
};
/// Parameters of every group by run.statistic, encoder and clip; false: stopped. The values are finite.
bool measureGroups(const KernelSet& kernels, const Run& run, const float* x, std::size_t rows, std::size_t cols,
                   const SharedGroups& groups, ThreadTeam& team, const StopRequest& stop,
                   std::vector<GroupParams>& params);

} // namespace qs
