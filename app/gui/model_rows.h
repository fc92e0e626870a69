// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What is known of a model's weights under one spec. A value for handing to a job: a copy costs a pointer for every 256
// rows, and does not see what arrives later.

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

    qsizetype size() const { return known_; } ///< rows that are there
    bool isEmpty() const { return known_ == 0; }
    const AnalysisRow& at(std::size_t weight) const;  ///< by index into the model's weights; null: not measured yet
    void insert(std::size_t weight, AnalysisRow row); ///< once a weight

    // Of the measured rows taken together, kept while they arrive.
    const ErrorSums& sums() const { return sums_; }
    double elements() const { return elements_; }
    double bytesAfter() const { return bytesAfter_; }
    qsizetype refused() const { return refused_; }
    const AnalysisRow& firstRefused() const { return firstRefused_; } ///< null: none is

private:
    static constexpr std::size_t kChunk = 256;
    using Chunk = std::array<AnalysisRow, kChunk>;
    std::vector<std::shared_ptr<Chunk>> chunks_; ///< copied before it is written while somebody else has it
    qsizetype known_ = 0, refused_ = 0;
    AnalysisRow firstRefused_; ///< of those that have arrived
    ErrorSums sums_;
    double elements_ = 0, bytesAfter_ = 0;
};

} // namespace qs::gui
