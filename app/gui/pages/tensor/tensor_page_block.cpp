// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/tensor/tensor_page_block.h"

#include "app/gui/pages/tensor/tensor_page_cards.h"
#include "app/gui/theme.h"
#include "core/base/text.h"

#include <QKeyEvent>

#include <algorithm>
#include <cmath>

namespace qs::gui {
namespace {

constexpr std::size_t kMostDots = 1024;
constexpr std::int64_t kMostBlocks = 256; // of a pooled cell; of more blocks an even sample is taken

QString shortNumber(double value, int digits = 4) { return QString::fromStdString(significantText(value, digits)); }

// The worst block of a region: its value is the one that the cell of the map shows.
Result<BlockForensics> worstOf(const Model& model, const TensorInfo& tensor, const QuantSpec& spec,
                               const BlockRegion& region, const Job& job) {
    const std::int64_t across = std::max<std::int64_t>(1, region.blockEnd - region.block);
    const std::int64_t count = std::max<std::int64_t>(1, (region.rowEnd - region.row) * across);
    const std::int64_t stride = (count + kMostBlocks - 1) / kMostBlocks;
    Result<BlockForensics> worst = fail("no block was inspected");
    for (std::int64_t i = 0; i < count; i += stride) {
        if (job.cancelled()) return cancelledError();
        auto block = inspectBlock(model, tensor, spec, region.row + i / across, region.block + i % across);
        if (!block) return block;
        if (!worst || block->nmse > worst->nmse) worst = std::move(block);
    }
    return worst;
}

} // namespace

BlockWindow windowOf(const BlockForensics& block, std::size_t most) {
    const std::size_t n = std::min(block.values.size(), block.decoded.size());
    if (n <= most) return {0, n};
    std::size_t worst = 0;
    float largest = -1;
    for (std::size_t i = 0; i < n; ++i) {
        const float error = std::abs(block.decoded[i] - block.values[i]);
        if (error > largest) {
            largest = error;
            worst = i;
        }
    }
    const std::size_t begin = std::min(worst - std::min(worst, most / 2), n - most);
    return {begin, begin + most};
}

BlockCard::BlockCard(QWidget* parent) : Card(tr("Block"), parent), chart_(new PlotChart), cause_(new QLabel) {
    chart_->setAccessibleName(tr("Values of the block and what they become"));
    chart_->setToolTip(tr("Arrow keys show the neighbouring blocks."));
    chart_->setAxes(tr("element of the block"), tr("weight"));
    chart_->setXDecimals(0);
    chart_->setLegend(true);
    chart_->installEventFilter(this);
    dress(*cause_, Theme::words(11), "muted");
    cause_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
    cause_->setTextFormat(Qt::PlainText);
    auto* body = new QWidget;
    auto* layout = spaced(new QVBoxLayout(body), 4);
    layout->addWidget(chart_, 1);
    layout->addWidget(cause_);
    setBody(body);
    setMessage(tr("Click a cell of the block map."));
}

void BlockCard::setRow(const std::shared_ptr<const Model>& model, const TensorInfo* tensor, const AnalysisRow& row) {
    const bool another = tensor != tensor_ || model != model_;
    model_ = model;
    tensor_ = tensor;
    row_ = row;
    const QString reason = blockedReason(row);
    if (!reason.isEmpty() || !tensor || !model) {
        task_.drop();
        shown_ = nullptr;
        setTitle(tr("Block"));
        setNote({});
        setMessage(reason);
        return;
    }
    const BlockMap& map = row->blockMap();
    if (another || !shown_) {
        const auto [r, c] = worstCell(map);
        if (r < 0) return setMessage(tr("No block of this tensor was measured."));
        return ask(regionOf(map, r, c));
    }
    const std::int64_t block = wantedElement_ / std::max<std::int64_t>(1, map.blockElements);
    const std::int64_t last = std::max<std::int64_t>(0, map.blocksPerRow - 1);
    ask({wantedRow_, wantedRow_ + 1, std::min(block, last), std::min(block, last) + 1});
}

void BlockCard::pick(const BlockRegion& region) {
    if (drawable(row_) && tensor_) ask(region);
}

void BlockCard::step(int rows, int blocks) {
    if (!shown_ || !drawable(row_)) return;
    const BlockMap& map = row_->blockMap();
    const std::int64_t row =
        std::clamp<std::int64_t>(shown_->row + rows, 0, std::max<std::int64_t>(0, map.tensorRows - 1));
    const std::int64_t block =
        std::clamp<std::int64_t>(shown_->block + blocks, 0, std::max<std::int64_t>(0, map.blocksPerRow - 1));
    if (row != shown_->row || block != shown_->block) ask({row, row + 1, block, block + 1});
}

void BlockCard::ask(const BlockRegion& region) {
    const auto work = [model = model_, tensor = tensor_, spec = row_->spec, region](const Job& job) {
        return worstOf(*model, *tensor, spec, region, job);
    };
    task_.run({}, work, [this, elements = row_->blockMap().blockElements](BlockForensics block) {
        shown_ = std::make_shared<const BlockForensics>(std::move(block));
        wantedRow_ = shown_->row;
        wantedElement_ = shown_->block * elements;
        draw();
        Q_EMIT blockShown(shown_->row, shown_->block);
    });
}

void BlockCard::draw() {
    const BlockForensics& block = *shown_;
    setMessage({});
    setTitle(tr("Block %1:%2  %3").arg(block.row).arg(block.block).arg(QString::fromStdString(block.cause)));
    const BlockWindow window = windowOf(block, kMostDots);
    const QString part =
        window.end - window.begin < block.values.size()
            ? tr("elements %1–%2 of %3   ").arg(window.begin).arg(window.end - 1).arg(block.values.size())
            : QString();
    const QString quality = std::isnan(block.sqnrDb) ? tr("exact") : tr("SQNR %1 dB").arg(block.sqnrDb, 0, 'f', 2);
    // The card has room for three digits.
    const QString scale = shortNumber(double(block.scale), 3), absmax = shortNumber(block.absMax, 3);
    const QString sizes = shortNumber(double(block.scale)) == shortNumber(block.absMax)
                              ? tr("absmax = scale %1").arg(scale)
                              : tr("absmax %1  scale %2").arg(absmax, scale);
    setNote(part + sizes + QStringLiteral("  ") + quality);
    PlotSeries values{QStringLiteral("w"), PlotSeries::Style::Dots, 0, {}, {}};
    PlotSeries decoded{QStringLiteral("ŵ, reconstruction"), PlotSeries::Style::Dots, 1, {}, {}};
    for (std::size_t i = window.begin; i < window.end; ++i) {
        values.points.append({double(i), double(block.values[i])});
        decoded.points.append({double(i), double(block.decoded[i])});
        if (i < block.codes.size()) decoded.notes.append(tr("code %1").arg(int(block.codes[i])));
    }
    chart_->setData({values, decoded}, {}, true);
    const QString tip = QString::fromStdString(block.causeTip);
    cause_->setText(tip);
    cause_->setToolTip(tip);
}

bool BlockCard::eventFilter(QObject* object, QEvent* event) {
    if (event->type() == QEvent::KeyPress) {
        const auto* key = static_cast<QKeyEvent*>(event);
        if (key->modifiers() == Qt::NoModifier) {
            switch (key->key()) {
            case Qt::Key_Left: step(0, -1); return true;
            case Qt::Key_Right: step(0, 1); return true;
            case Qt::Key_Up: step(-1, 0); return true;
            case Qt::Key_Down: step(1, 0); return true;
            default: break;
            }
        }
    }
    return Card::eventFilter(object, event);
}

} // namespace qs::gui
