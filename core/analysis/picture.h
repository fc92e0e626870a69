// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Collects the pictures of a pass from all workers. Any worker may raise any cell, and the result does not depend on
// the order.

#include "core/analysis/analysis.h"

#include <atomic>
#include <bit>

namespace qs {

/// Cells that keep the largest of the non-negative values given to them.
class MaxCells {
public:
    explicit MaxCells(std::size_t count = 0) : cells_(count) {}
    std::size_t size() const { return cells_.size(); }
    void raise(std::size_t cell, float value) {
        const std::uint32_t bits = std::bit_cast<std::uint32_t>(value) + 1; // 0 is "nothing yet"
        std::atomic_ref<std::uint32_t> at(cells_[cell]);
        std::uint32_t seen = at.load(std::memory_order_relaxed);
        while (seen < bits && !at.compare_exchange_weak(seen, bits, std::memory_order_relaxed)) {
        }
    }
    std::vector<float> values() const; ///< NaN for cells that got no value

private:
    std::vector<std::uint32_t> cells_;
};

/// Block map and channel profile, fed with the figures of consecutive blocks.
class Picture {
public:
    Picture(const ScaleGrid& grid, const AnalysisOptions& options, std::size_t unitElements);
    std::int64_t blockElements() const { return blockElements_; }
    bool wantsBlocks() const { return inspect_; }

    /// Whole rows from `row` on, or a part of one row that begins at element `column`, a multiple of blockElements().
    void addBlocks(std::uint64_t row, std::uint64_t column, std::size_t n, const float* sse, const float* ssw,
                   const float* absMax);

    void finish(); ///< call it once after the pass; it joins the parts of long rows
    BlockMap map() const;
    ChannelProfile channels() const;

private:
    void addRow(std::uint64_t row, double sse, double ssw, float absMax);
    bool inspect_ = false;
    std::int64_t rows_ = 0, features_ = 0, blockElements_ = 64, blocksPerRow_ = 0;
    int mapRows_ = 0, mapColumns_ = 0;
    std::vector<std::uint32_t> columnCell_; ///< for each block of a row its column in the map
    MaxCells cells_, channelMax_, channelNmse_;
    struct RowPart {
        double sse = 0, ssw = 0;
        float absMax = 0;
    };
    std::size_t unit_ = 0, unitsPerRow_ = 0;
    std::vector<RowPart> parts_; ///< parts of rows that are longer than a unit
};

} // namespace qs
