// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The results for a model's weights under one spec. Copies are cheap (one pointer for 256 rows) and do not see rows
// that are inserted later, so that a job can take one.

#include "core/analysis/analysis.h"

#include <QtGlobal>

#include <array>
#include <memory>
#include <vector>

namespace qs::gui {

class ModelRows {
public:
    ModelRows() = default;
    explicit ModelRows(std::size_t weights) : chunks_((weights + kChunk - 1) / kChunk) {}

    qsizetype size() const { return known_; } ///< number of measured rows
    bool isEmpty() const { return known_ == 0; }
    const AnalysisRow& at(std::size_t weight) const;  ///< by index of the weight; null: not measured yet
    void insert(std::size_t weight, AnalysisRow row); ///< once for each weight

    void setEffects(std::size_t weight, const OutputEffects* effects); ///< of a row that is there

    // Totals over all measured rows, updated as rows arrive.
    const ErrorSums& sums() const { return sums_; }
    double elements() const { return elements_; }
    double bytesAfter() const { return bytesAfter_; }
    qsizetype refused() const { return refused_; }
    const AnalysisRow& firstRefused() const { return firstRefused_; } ///< null: no row was refused

private:
    static constexpr std::size_t kChunk = 256;
    using Chunk = std::array<AnalysisRow, kChunk>;
    AnalysisRow& writable(std::size_t weight);   ///< in a chunk that no copy shares
    std::vector<std::shared_ptr<Chunk>> chunks_; ///< a chunk that a copy shares is cloned before it is written
    qsizetype known_ = 0, refused_ = 0;
    AnalysisRow firstRefused_; ///< the first refused row that has arrived
    ErrorSums sums_;
    double elements_ = 0, bytesAfter_ = 0;
};

} // namespace qs::gui
