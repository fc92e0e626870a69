// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What the window has computed beside the rows of specs, as texts of a session file: what took minutes must survive a
// crash. A text that does not fit the model, or of another version, is an Error, and then nothing is shown.

#include "core/analysis/audit/audit.h"
#include "core/analysis/diff/diff.h"
#include "core/analysis/sweep/sweep.h"
#include "core/bench/run/benchmark.h"
#include "core/export/certificate.h"

namespace qs {

std::string keptAudit(const AuditResult& result);
Result<AuditResult> auditKept(const std::string& text);

struct KeptDiff {
    DiffPlan plan;
    DiffResult result;
};
std::string keptDiff(const KeptDiff& diff);
/// Opens the other checkpoint again; refused when it is another one now.
Result<KeptDiff> diffKept(const std::string& text, const std::shared_ptr<const Model>& a, const Job& job);

struct KeptSweep {
    SweepPlan plan;
    SweepResult result;
    bool complete = true; ///< else it was being measured
};
std::string keptSweep(const KeptSweep& sweep);
Result<KeptSweep> sweepKept(const std::string& text, const std::shared_ptr<const Model>& model);

/// A row of a benchmark; rows are written down as they arrive, so that the window does not do it for all of them.
std::string keptBenchRow(const BenchmarkRow& row);
struct KeptBench {
    BenchmarkPlan plan; ///< without backends: whoever made the file does not choose what is loaded; ids are beside it
    std::vector<std::string> backends;
    BenchmarkRun run;
    bool complete = false; ///< else the run had not ended
};
/// `rows`: texts of keptBenchRow(), in the place of those in `bench`.
std::string keptBench(const KeptBench& bench, const std::vector<std::shared_ptr<const std::string>>& rows);
Result<KeptBench> benchKept(const std::string& text, const std::shared_ptr<const Model>& model);

/// The layout that was chosen, and the certificate that was shown last.
struct KeptExport {
    std::string layout;
    std::string path; ///< of the certificate
    std::optional<Certificate> certificate;
};
std::string keptExport(const KeptExport& shown);
Result<KeptExport> exportKept(const std::string& text);

} // namespace qs
