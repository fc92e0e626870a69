// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The card of one block: each stored value, its decoded value, and the cause of the error.

#include "app/gui/pages/tensor/tensor_page_map.h"
#include "app/gui/task.h"
#include "app/gui/widgets/card.h"
#include "app/gui/widgets/plot_chart.h"
#include "core/analysis/forensics/forensics.h"

namespace qs::gui {

class BlockCard : public Card {
    Q_OBJECT
public:
    explicit BlockCard(QWidget* parent = nullptr);

    /// Takes a new analysis. For another tensor: shows its worst block. For another spec: shows the block with the same
    /// weights.
    void setRow(const std::shared_ptr<const Model>& model, const TensorInfo* tensor, const AnalysisRow& row);
    /// Shows the worst block of a region.
    void pick(const BlockRegion& region);
    void step(int rows, int blocks);
    const BlockForensics* shown() const { return shown_ ? shown_.get() : nullptr; }
    PlotChart* chart() const { return chart_; }

Q_SIGNALS:
    void blockShown(qint64 row, qint64 block);

protected:
    bool eventFilter(QObject*, QEvent*) override;

private:
    void ask(const BlockRegion& region);
    void draw();

    PlotChart* chart_;
    QLabel* cause_;
    std::shared_ptr<const Model> model_;
    const TensorInfo* tensor_ = nullptr;
    AnalysisRow row_;
    std::shared_ptr<const BlockForensics> shown_;
    std::int64_t wantedRow_ = 0,
                 wantedElement_ = 0; ///< element within the row, so that the choice survives another block size
    Task task_;
};

/// At most `most` elements of a block around its largest error, because a block may have 65,536 elements.
struct BlockWindow {
    std::size_t begin = 0, end = 0;
};
BlockWindow windowOf(const BlockForensics& block, std::size_t most);

} // namespace qs::gui
