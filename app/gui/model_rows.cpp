// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/model_rows.h"

#include "app/gui/task.h"

#include <atomic>

namespace qs::gui {

const AnalysisRow& ModelRows::at(std::size_t weight) const {
    static const AnalysisRow none;
    const auto chunk = weight / kChunk;
    return chunk < chunks_.size() && chunks_[chunk] ? (*chunks_[chunk])[weight % kChunk] : none;
}

AnalysisRow& ModelRows::writable(std::size_t weight) {
    auto& chunk = chunks_[weight / kChunk];
    if (!chunk)
        chunk = freedOnPool(std::make_shared<Chunk>());
    else if (chunk.use_count() > 1)
        chunk = freedOnPool(std::make_shared<Chunk>(*chunk));
    else
        // the writes of the caller must come after the last read of another owner
        std::atomic_thread_fence(std::memory_order_acquire);
    return (*chunk)[weight % kChunk];
}

void ModelRows::setEffects(std::size_t weight, const OutputEffects* effects) {
    const AnalysisRow& row = at(weight);
    if (!row) return;
    if (AnalysisRow with = withEffect(row, effects); with != row) writable(weight) = std::move(with);
}

void ModelRows::insert(std::size_t weight, AnalysisRow row) {
    auto& place = writable(weight);
    if (place) return;
    ++known_;
    if (row->status == Status::Ok) {
        sums_.merge(row->sums);
        elements_ += double(row->elements);
        bytesAfter_ += double(row->bytesAfter);
    } else if (row->status == Status::Refused && ++refused_ == 1) {
        firstRefused_ = row;
    }
    place = std::move(row);
}

} // namespace qs::gui
