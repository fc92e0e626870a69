// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Largest |x| of each row and of each column of a tensor, seen as a matrix whose columns are its last axis. Any worker
// adds any part, in any order.

#include "core/analysis/picture.h"

namespace qs {

class AxisMaxima {
public:
    AxisMaxima(std::uint64_t elements, std::int64_t lastAxis);
    /// `allFinite`: the range has no NaN and no Inf, which are left out.
    void add(const PassRange& range, bool allFinite);
    /// Rows, and columns, whose largest |x| is above 6 times the median one's.
    std::int64_t outlierRows() const;
    std::int64_t outlierColumns() const;
    /// Columns in order, at most that many points: the largest of the columns that share one.
    ChannelProfile columnProfile() const;

private:
    void addColumns(const PassRange& range, bool allFinite);
    std::vector<float> columnMaxima() const;
    std::uint64_t rows_, columns_;
    MaxCells rowMax_, wideMax_; ///< wideMax_: of very many columns, shared by the workers
    std::size_t period_ = 0;    ///< whole rows that are added at once, in elements; 0: the columns are too many
    std::vector<std::vector<float>> own_; ///< a period of maxima per worker
};

} // namespace qs
