// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Results computed by the window, as texts of a session file. So results that took minutes survive a crash. A text of
// another version, or one that does not fit the model, is an Error; then nothing is shown.

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
/// Opens the second checkpoint again. It is an error if that file has changed.
Result<KeptDiff> diffKept(const std::string& text, const std::shared_ptr<const Model>& a, const Job& job);

struct KeptSweep {
    SweepPlan plan;
    SweepResult result;
    bool complete = true; ///< false: the sweep was still running
};
std::string keptSweep(const KeptSweep& sweep);
Result<KeptSweep> sweepKept(const std::string& text, const std::shared_ptr<const Model>& model);

/// One row of a benchmark as text. Each row is converted when it arrives, so saving does not convert all of them.
std::string keptBenchRow(const BenchmarkRow& row);
struct KeptBench {
    BenchmarkPlan plan; ///< without backends: the file must not choose which libraries are loaded; only their ids are
                        ///< kept
    std::vector<std::string> backends;
    BenchmarkRun run;
    bool complete = false; ///< false: the run had not ended
};
/// `rows`: texts of keptBenchRow(). They replace the rows in `bench`.
std::string keptBench(const KeptBench& bench, const std::vector<std::shared_ptr<const std::string>>& rows);
Result<KeptBench> benchKept(const std::string& text, const std::shared_ptr<const Model>& model);

/// The selected layout and the certificate shown last.
struct KeptExport {
    std::string layout;
    std::string path; ///< path of the certificate
    std::optional<Certificate> certificate;
};
std::string keptExport(const KeptExport& shown);
Result<KeptExport> exportKept(const std::string& text);

} // namespace qs
