// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Where in the tensor the error is: NMSE per block, max-pooled to what fits.

#include "app/gui/widgets/card.h"
#include "app/gui/widgets/heat_map.h"
#include "core/analysis/analysis.h"

namespace qs::gui {

/// The blocks that one cell of the map stands for: [row, rowEnd) x [block, blockEnd).
struct BlockRegion {
    std::int64_t row = 0, rowEnd = 0, block = 0, blockEnd = 0;
    bool operator==(const BlockRegion&) const = default;
};
BlockRegion regionOf(const BlockMap& map, int row, int column);
/// Cell that holds a block; clamped.
std::pair<int, int> cellOf(const BlockMap& map, std::int64_t row, std::int64_t block);
/// Cell with the largest NMSE; -1, -1 when nothing is measured.
std::pair<int, int> worstCell(const BlockMap& map);

class BlockMapCard : public Card {
    Q_OBJECT
public:
    explicit BlockMapCard(QWidget* parent = nullptr);
    void setRow(const AnalysisRow& row);
    void showBlock(std::int64_t row, std::int64_t block); ///< outlined
    HeatMap* map() const { return map_; }

Q_SIGNALS:
    void picked(const qs::gui::BlockRegion& region); ///< a click or a key
    void rowHovered(double row);                     ///< NaN when the mouse leaves

private:
    void draw();
    HeatMap* map_;
    AnalysisRow row_;
    bool logarithmic_ = false;
};

} // namespace qs::gui
