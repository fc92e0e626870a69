// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What `analyze` prints below its table, gathered while rows come.

#include "core/analysis/analysis_report.h"
#include "core/analysis/proxy_trust.h"

namespace qs::cli {

/// Collects why rows have no figures. Each reason is printed once, with the number of rows.
class RefusalReasons {
public:
    void add(const AnalysisRow& row);
    /// Each reason is followed by the specs that fit its first tensor.
    std::string text(const Model& model) const;

private:
    std::vector<std::pair<AnalysisRow, std::size_t>> reasons_;
    std::size_t more_ = 0;
};

struct AnalysisSummary {
    RefusalReasons reasons;
    std::vector<SpecTotal> totals;
    std::vector<std::string> remarks;                     ///< for the first remarkedRows rows
    std::size_t rows = 0, measured = 0, remarkedRows = 0; ///< rows: includes the rows of the last add()
    AnalysisRow first;
    double seconds = 0;
    /// What the errors are, and how far they can be trusted.
    std::string proxy = proxyRemark(nmseMetric(), std::nullopt);

    /// Says how many rows the remarks are about, if not all rows are covered.
    std::vector<std::string> saidRemarks() const;
    /// `model`: its bytes are counted with the first rows.
    void add(const std::vector<AnalysisRow>& some, const Model* model);
};

} // namespace qs::cli
