// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/tensor/tensor_page_map.h"

#include "app/gui/pages/tensor/tensor_page_cards.h"
#include "core/base/text.h"

#include <QToolButton>

#include <algorithm>
#include <cmath>
#include <limits>

namespace qs::gui {

BlockRegion regionOf(const BlockMap& map, int row, int column) {
    const auto edge = [](std::int64_t cells, std::int64_t covered, std::int64_t cell) {
        // the first item whose cell is `cell`, when item i goes to cell i * cells / covered
        return (cell * covered + cells - 1) / cells;
    };
    return {edge(map.rows, map.tensorRows, row), edge(map.rows, map.tensorRows, row + 1),
            edge(map.columns, map.blocksPerRow, column), edge(map.columns, map.blocksPerRow, column + 1)};
}

std::pair<int, int> cellOf(const BlockMap& map, std::int64_t row, std::int64_t block) {
    if (map.rows == 0 || map.columns == 0) return {-1, -1};
    const auto cell = [](std::int64_t at, std::int64_t cells, std::int64_t covered) {
        return int(std::clamp<std::int64_t>(at * cells / std::max<std::int64_t>(covered, 1), 0, cells - 1));
    };
    return {cell(row, map.rows, map.tensorRows), cell(block, map.columns, map.blocksPerRow)};
}

std::pair<int, int> worstCell(const BlockMap& map) {
    int worst = -1;
    float most = -1;
    for (std::size_t i = 0; i < map.nmse.size(); ++i) {
        if (map.nmse[i] > most) { // false for NaN
            most = map.nmse[i];
            worst = int(i);
        }
    }
    if (worst < 0 || map.columns == 0) return {-1, -1};
    return {worst / map.columns, worst % map.columns};
}

BlockMapCard::BlockMapCard(QWidget* parent) : Card(tr("Block map: NMSE per block"), parent), map_(new HeatMap) {
    map_->setAccessibleName(tr("Block map: NMSE per block"));
    QToolButton* log = addToggle(QStringLiteral("log"), tr("Logarithmic colours"));
    connect(log, &QToolButton::toggled, this, [this](bool on) {
        logarithmic_ = on;
        draw();
    });
    setBody(map_);
    connect(map_, &HeatMap::cellClicked, this, [this](int row, int column) {
        if (drawable(row_) && row >= 0) Q_EMIT picked(regionOf(row_->blockMap(), row, column));
    });
    connect(map_, &HeatMap::cellHovered, this, [this](int row, int) {
        const bool inside = row >= 0 && drawable(row_);
        Q_EMIT rowHovered(inside ? double(regionOf(row_->blockMap(), row, 0).row)
                                 : std::numeric_limits<double>::quiet_NaN());
    });
    map_->setDescribe([this](int row, int column) {
        if (!drawable(row_)) return QString();
        const BlockMap& map = row_->blockMap();
        const BlockRegion at = regionOf(map, row, column);
        const auto range = [](std::int64_t from, std::int64_t end) {
            return end - from <= 1 ? QString::number(from) : QStringLiteral("%1–%2").arg(from).arg(end - 1);
        };
        const bool pooled = (at.rowEnd - at.row) * (at.blockEnd - at.block) > 1;
        const float value = map.nmse[std::size_t(row) * std::size_t(map.columns) + std::size_t(column)];
        return tr("row %1, block %2\nNMSE %3%4")
            .arg(range(at.row, at.rowEnd), range(at.block, at.blockEnd),
                 QString::fromStdString(significantText(double(value), 4)),
                 pooled ? tr(", the worst of them") : QString());
    });
}

void BlockMapCard::setRow(const AnalysisRow& row) {
    row_ = row;
    setMessage(blockedReason(row));
    if (!drawable(row)) return setNote({});
    draw();
}

void BlockMapCard::draw() {
    if (!drawable(row_)) return;
    const BlockMap& map = row_->blockMap();
    if (map.rows == 0 || map.columns == 0) return setMessage(tr("This tensor has no elements."));
    HeatMapData data;
    data.rows = map.rows;
    data.columns = map.columns;
    data.values = QVector<float>(map.nmse.begin(), map.nmse.end());
    data.rowScale = double(map.tensorRows) / map.rows;
    data.columnScale = double(map.blocksPerRow) / map.columns;
    data.xTitle = tr("block of %1 in the row").arg(map.blockElements);
    data.yTitle = tr("row");
    data.unit = QStringLiteral("NMSE");
    data.logColour = logarithmic_;
    const bool pooled = map.rows < map.tensorRows || map.columns < map.blocksPerRow;
    setNote(tr("%1 rows × %2 blocks%3")
                .arg(map.tensorRows)
                .arg(map.blocksPerRow)
                .arg(pooled ? tr("  max-pooled") : QString()));
    map_->setData(data);
}

void BlockMapCard::showBlock(std::int64_t row, std::int64_t block) {
    if (!drawable(row_)) return;
    const auto [r, c] = cellOf(row_->blockMap(), row, block);
    map_->setCurrent(r, c);
}

} // namespace qs::gui
