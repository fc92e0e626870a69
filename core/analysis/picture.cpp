// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/analysis/picture.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace qs {
namespace {

constexpr std::int64_t kChannelPoints = 2048;

/// Relative error; NaN (leave out) when there is an error on nothing.
float nmseOf(double sse, double ssw) {
    if (ssw > 0) return float(std::min(sse / ssw, double(std::numeric_limits<float>::max())));
    return sse == 0 ? 0.0f : std::numeric_limits<float>::quiet_NaN();
}

std::size_t pooled(std::uint64_t index, std::int64_t count, std::size_t cells) {
    return std::size_t(std::int64_t(cells) == count ? index : index * cells / std::uint64_t(count));
}

} // namespace

std::vector<float> MaxCells::values() const {
    std::vector<float> out(cells_.size(), std::numeric_limits<float>::quiet_NaN());
    for (std::size_t i = 0; i < out.size(); ++i)
        if (cells_[i]) out[i] = std::bit_cast<float>(cells_[i] - 1);
    return out;
}

Picture::Picture(const ScaleGrid& grid, const AnalysisOptions& options, std::size_t unitElements)
    : inspect_(options.detail == Detail::Inspect && grid.rows * grid.features > 0), rows_(grid.rows),
      features_(grid.features) {
    blockElements_ = grid.kind == ScaleKind::Block ? grid.group : std::clamp<std::int64_t>(features_, 1, 64);
    blocksPerRow_ = (features_ + blockElements_ - 1) / blockElements_;
    if (!inspect_) return;
    mapRows_ = int(std::min<std::int64_t>(rows_, std::max(1, options.mapRows)));
    mapColumns_ = int(std::min<std::int64_t>(blocksPerRow_, std::max(1, options.mapColumns)));
    cells_ = MaxCells(std::size_t(mapRows_) * std::size_t(mapColumns_));
    columnCell_.resize(std::size_t(blocksPerRow_));
    for (std::size_t block = 0; block < columnCell_.size(); ++block)
        columnCell_[block] = std::uint32_t(pooled(block, blocksPerRow_, std::size_t(mapColumns_)));
    const auto points = std::size_t(std::min(rows_, kChannelPoints));
    channelMax_ = MaxCells(points), channelNmse_ = MaxCells(points);
    unit_ = unitElements;
    if (std::size_t(features_) <= unit_) return;
    unitsPerRow_ = (std::size_t(features_) + unit_ - 1) / unit_;
    parts_.resize(std::size_t(rows_) * unitsPerRow_);
}

void Picture::addRow(std::uint64_t row, double sse, double ssw, float absMax) {
    const std::size_t point = pooled(row, rows_, channelMax_.size());
    channelMax_.raise(point, absMax);
    if (const float nmse = nmseOf(sse, ssw); !std::isnan(nmse)) channelNmse_.raise(point, nmse);
}

void Picture::addBlocks(std::uint64_t row, std::uint64_t column, std::size_t n, const float* sse, const float* ssw,
                        const float* absMax) {
    const auto block = std::size_t(blockElements_);
    const std::size_t first = std::size_t(column) / block;
    const std::size_t perRow = unitsPerRow_ ? (n + block - 1) / block : std::size_t(blocksPerRow_);
    for (std::size_t done = 0; done < n; ++row, sse += perRow, ssw += perRow, absMax += perRow) {
        done += unitsPerRow_ ? n : std::size_t(features_);
        const std::size_t cellRow = pooled(row, rows_, std::size_t(mapRows_)) * std::size_t(mapColumns_);
        double rowSse = 0, rowSsw = 0;
        float rowMax = 0, worst = -1;
        std::uint32_t cell = columnCell_[first];
        for (std::size_t i = 0; i < perRow; ++i) {
            rowSse += double(sse[i]), rowSsw += double(ssw[i]);
            rowMax = std::max(rowMax, absMax[i]);
            if (columnCell_[first + i] != cell) {
                if (worst >= 0) cells_.raise(cellRow + cell, worst);
                cell = columnCell_[first + i], worst = -1;
            }
            if (const float nmse = nmseOf(double(sse[i]), double(ssw[i])); nmse > worst) worst = nmse;
        }
        if (worst >= 0) cells_.raise(cellRow + cell, worst);
        if (unitsPerRow_)
            parts_[row * unitsPerRow_ + column / unit_] = {rowSse, rowSsw, rowMax};
        else
            addRow(row, rowSse, rowSsw, rowMax);
    }
}

BlockMap Picture::map() const {
    BlockMap out;
    if (!inspect_) return out;
    out.rows = mapRows_, out.columns = mapColumns_;
    out.tensorRows = rows_, out.blocksPerRow = blocksPerRow_, out.blockElements = blockElements_;
    out.nmse = cells_.values();
    return out;
}

void Picture::finish() {
    for (std::size_t row = 0; unitsPerRow_ && row < std::size_t(rows_); ++row) {
        RowPart sum;
        for (std::size_t i = 0; i < unitsPerRow_; ++i) {
            const RowPart& part = parts_[row * unitsPerRow_ + i];
            sum.sse += part.sse, sum.ssw += part.ssw, sum.absMax = std::max(sum.absMax, part.absMax);
        }
        addRow(row, sum.sse, sum.ssw, sum.absMax);
    }
}

ChannelProfile Picture::channels() const {
    if (!inspect_) return {};
    return {rows_, channelMax_.values(), channelNmse_.values()};
}

} // namespace qs
