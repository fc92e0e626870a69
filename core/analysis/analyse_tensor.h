// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/analysis/analysis.h"

#include <atomic>

namespace qs {

inline constexpr std::uint64_t kProgressElements = std::uint64_t(1) << 20; ///< between two progress reports

/// Called by the workers with the number of elements that are done.
using ElementsDone = std::function<void(std::uint64_t elements)>;
Result<TensorAnalysis> analyseTensor(const Model& model, const TensorInfo& tensor, const QuantSpec& spec,
                                     const AnalysisOptions& options, const Job& job, const ElementsDone& onElements);

/// The row of a tensor that the layout keeps, see whyKept(); nullopt: it does not.
std::optional<TensorAnalysis> keptRow(const Layout* layout, const Model& model, const TensorInfo& tensor,
                                      const QuantSpec& spec, bool named);

/// Gives a measured row the bytes that the layout writes, or a warning with the refusal: the bytes are those of the spec
/// then, as in an evaluation. Error: cancelled.
Result<void> storeIn(const StoredIn& stored, const Model& model, const TensorInfo& tensor, TensorAnalysis& row,
                     const Job& job);

/// Reports the elements of one pass as progress of a longer job. The job was at `start` when the pass began.
struct ScanProgress {
    const Job& job;
    Progress start;
    double elementBytes; ///< bytes of an element; less than 1 if bits are packed
    std::atomic<std::uint64_t> elements{0};

    void operator()(std::uint64_t n) {
        const std::uint64_t now = elements.fetch_add(n, std::memory_order_relaxed) + n;
        if (now / kProgressElements == (now - n) / kProgressElements) return;
        Progress here = start;
        here.done += double(now) * elementBytes;
        job.progress(here);
    }
    std::uint64_t bytes() const { return std::uint64_t(double(elements.load()) * elementBytes); }
};

} // namespace qs
