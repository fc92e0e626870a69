// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// One block, value by value: what was stored, what comes back, and why it differs.

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

    /// A newer analysis of a tensor. Another tensor: its worst block; another spec: the block that holds the same
    /// weights.
    void setRow(const std::shared_ptr<const Model>& model, const TensorInfo* tensor, const AnalysisRow& row);
    /// The worst block of a region.
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
                 wantedElement_ = 0; ///< element: within the row, so that it survives another block size
    Task task_;
};

/// At most `most` elements of a block around its largest error, so that a block of 65,536 stays a chart.
struct BlockWindow {
    std::size_t begin = 0, end = 0;
};
BlockWindow windowOf(const BlockForensics& block, std::size_t most);

} // namespace qs::gui
