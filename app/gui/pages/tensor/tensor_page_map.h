// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The error within the tensor: NMSE per block, max-pooled to the size of the map.

#include "app/gui/widgets/card.h"
#include "app/gui/widgets/heat_map.h"
#include "core/analysis/analysis.h"

namespace qs::gui {

/// The blocks behind one cell of the map: [row, rowEnd) x [block, blockEnd).
struct BlockRegion {
    std::int64_t row = 0, rowEnd = 0, block = 0, blockEnd = 0;
    bool operator==(const BlockRegion&) const = default;
};
BlockRegion regionOf(const BlockMap& map, int row, int column);
/// The cell that holds a block; clamped.
std::pair<int, int> cellOf(const BlockMap& map, std::int64_t row, std::int64_t block);
/// The cell with the largest NMSE; -1, -1 if nothing is measured.
std::pair<int, int> worstCell(const BlockMap& map);

class BlockMapCard : public Card {
    Q_OBJECT
public:
    explicit BlockMapCard(QWidget* parent = nullptr);
    void setRow(const AnalysisRow& row);
    void showBlock(std::int64_t row, std::int64_t block); ///< outlines its cell
    HeatMap* map() const { return map_; }

Q_SIGNALS:
    void picked(const qs::gui::BlockRegion& region); ///< by a click or a key
    void rowHovered(double row);                     ///< NaN when the mouse leaves

private:
    void draw();
    HeatMap* map_;
    AnalysisRow row_;
    bool logarithmic_ = false;
};

} // namespace qs::gui
