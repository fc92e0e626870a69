// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/activations.h"
#include "app/cli/analysis_summary.h"
#include "app/cli/declare.h"
#include "app/cli/evidence_options.h"
#include "app/cli/interrupt.h"
#include "app/cli/output_files.h"
#include "app/cli/row_spool.h"
#include "app/cli/selection.h"
#include "app/cli/terminal.h"
#include "app/cli/units.h"
#include "core/analysis/analysis_report.h"
#include "core/analysis/input_errors.h"
#include "core/analysis/proxy_trust.h"
#include "core/base/parallel.h"
#include "core/base/text.h"
#include "core/model/quantized_source.h"
#include "core/quant/encode/solved.h"
#include "core/solve/solver.h"
#include "core/value/tensor.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <iterator>
#include <map>
#include <span>
#include <thread>

namespace qs::cli {
namespace {

struct AnalyzeOptions {
    std::string path;
    std::vector<std::string> specs;
    TensorChoice choice;
    OutputFiles outputs;
    Learning learning;
    EvidenceOption evidence;
    UnitOptions units;
    std::string solver, decoded = "f32";
    std::string commandLine;
};

Result<std::vector<std::pair<std::string, QuantSpec>>> parsed(const std::vector<std::string>& texts) {
    std::vector<std::pair<std::string, QuantSpec>> specs;
    for (const auto& text : texts) {
        auto spec = parseSpec(text);
        if (!spec) return tl::unexpected(spec.error());
        const bool twice = std::ranges::any_of(specs, [&](const auto& known) { return known.first == text; });
        if (!twice) specs.emplace_back(text, *spec);
    }
    return specs;
}

/// The column behind that of the metric.
std::string_view errorColumn(const Metric& metric) {
    return analysisColumns()[analysisColumns().indexOf(metric.id) + 1].id;
}

std::vector<std::string_view> shownColumns(const AnalysisPlan& plan) {
    std::vector<std::string_view> ids = {"tensor", "shape", "spec", "bpw", "sqnr_db", "nmse", "max_abs", "status"};
    if (plan.specs.size() == 1) std::erase(ids, "spec");
    if (plan.options.inputs) ids.insert(ids.end() - 1, {"weighted_nmse", "output_nmse"});
    if (plan.options.effects)
        for (const Metric& metric : metrics())
            if (metric.onOutput || (metric.proxy && !metric.isOfWeights)) {
                ids.insert(ids.end() - 1, metric.id);
                if (metric.error) ids.insert(ids.end() - 1, errorColumn(metric));
            }
    if (narrowTerminal()) std::erase(ids, "shape"), std::erase(ids, "max_abs");
    return ids;
}

Result<void> printBelow(const AnalyzeOptions& options, const AnalysisPlan& plan, const AnalysisSummary& below) {
    std::vector<std::string_view> ids = {"spec",  "matrices", "refused", "kept", "bytes_before",
                                         "bytes", "bpw",      "bpw_all", "nmse", "sqnr_db"};
    if (std::ranges::none_of(below.totals, [](const SpecTotal& one) { return one.kept > 0; })) std::erase(ids, "kept");
    const Table sums = withColumns(makeTable({}, totalColumns(), below.totals), ids);
    const std::string& inputs = options.learning.activations;
    std::string text = "\n" + below.proxy + "\n";
    for (std::size_t i = 0; i < plan.stored.size(); ++i)
        if (const std::string& refusal = plan.stored[i].refusal; !refusal.empty())
            text += fmt::format("{}: {}.\n", plan.specs[i].first, refusal);
    if (plan.options.inputs)
        text += fmt::format("Inputs of the layers: {}.\n",
                            inputs == "synthetic" ? "synthetic, seed 1" : escapeForPeople(inputs, 160));
    if (plan.options.solve) text += fmt::format("Codes are those of solver {}.\n", escapeForPeople(options.solver, 80));
    for (const std::string& sentence : below.saidRemarks()) text += sentence + "\n";
    if (const std::string remark = quantizedSource(*plan.model).sentence(); !remark.empty()) text += remark + "\n";
    return print(below.reasons.text(*plan.model) + "\n" + tableText(sums) + text);
}

Result<void> printRows(const AnalyzeOptions& options, const AnalysisPlan& plan, const AnalysisResult& result,
                       const AnalysisSummary& below) {
    auto ids = shownColumns(plan);
    for (const Metric& metric : metrics()) // effects that no row has
        if ((metric.onOutput || !metric.isOfWeights) &&
            std::ranges::none_of(result.rows, [&](const auto& row) { return bool(metric.value(*row)); }))
            std::erase_if(
                ids, [&](const auto id) { return id == metric.id || (metric.error && id == errorColumn(metric)); });
    const Table table = withColumns(makeTable({}, analysisColumns(), result.rows), ids);
    if (auto done = print(tableText(table)); !done) return done;
    return printBelow(options, plan, below);
}

Result<void> useSolver(const std::string& text, const Learning& learning, AnalysisPlan& plan) {
    const auto settings = solve::parseSettings(text);
    if (!settings) return tl::unexpected(settings.error());
    if (learning.activations.empty())
        return fail(
            fmt::format("Solver {} needs calibration inputs: add --activations FILE, or --activations synthetic "
                        "to try it out.",
                        settings->solver));
    plan.options.solve = solvedFrom(learning.file, *settings, processJob());
    return {};
}

Result<void> useInputs(const AnalyzeOptions& options, AnalysisPlan& plan) {
    Learning learning = options.learning;
    std::vector<QuantSpec> specs;
    for (const auto& [asTyped, spec] : plan.specs) specs.push_back(spec);
    const bool solves = !options.solver.empty(), given = !learning.activations.empty();
    if (auto ready = learning.prepare(specs, solves, true); !ready) return ready;
    if (given) plan.options.inputs = layerInputsFrom(learning.file);
    if (solves) return useSolver(options.solver, learning, plan);
    for (std::size_t i = 0; learning.hasEffect() && i < specs.size(); ++i) {
        auto codebooks = learning.codebooks(*plan.model, plan.tensors, specs[i], processJob());
        if (!codebooks) return tl::unexpected(codebooks.error());
        plan.codebooks.push_back(std::move(*codebooks));
    }
    return {};
}

Result<void> anyMeasured(const AnalyzeOptions& options, const AnalysisSummary& below) {
    if (below.measured > 0 || !below.first) return {};
    const TensorAnalysis& first = *below.first;
    return fail(fmt::format("{}: none of the {} rows could be measured; the first, {} as {}: {}",
                            escapeForPeople(options.path, 160), below.rows, escapeForPeople(first.tensor),
                            escapeForPeople(first.specAsTyped), first.reason),
                options.path);
}

constexpr std::size_t kRowsInReport = 16'384; ///< A row takes some kilobytes, and the plots read all rows.

bool wantsPages(const OutputFiles& outputs) {
    return outputs.wants("html") || outputs.wants("pdf") || outputs.wants("md");
}

bool isLong(const AnalyzeOptions& options, const AnalysisPlan& plan) {
    const std::size_t rows = plan.tensors.size() * plan.specs.size();
    return plan.codebooks.empty() && rows > (wantsPages(options.outputs) ? kRowsInReport : kRowsKept);
}

/// Selects the tensors shown in a report of very many tensors: those with the largest errors, those with the smallest
/// errors, and some refused ones.
class ShownTensors {
public:
    /// `rows` are all rows of the tensor.
    void add(std::size_t tensor, std::span<const AnalysisRow> rows) {
        double errors = 0; // sum of log(NMSE) over the specs; with one spec this gives the order of the NMSE
        bool refused = false;
        for (const AnalysisRow& row : rows) {
            refused = refused || row->status != Status::Ok;
            errors += row->status == Status::Ok && row->sums.sw2 > 0 ? std::log(row->sums.se2 / row->sums.sw2) : 0;
        }
        if (std::isnan(errors)) errors = 0;
        if (refused) {
            if (refused_.size() < kMost / 4) refused_[tensor] = {rows.begin(), rows.end()};
            return;
        }
        keep(largest_, {-errors, tensor}, rows);
        keep(least_, {errors, tensor}, rows);
    }
    /// In the order of the model; each tensor appears once.
    std::map<std::size_t, std::vector<AnalysisRow>> take() {
        auto out = std::move(refused_);
        for (auto* kept : {&largest_, &least_})
            for (auto& [key, rows] : *kept) out.try_emplace(key.second, std::move(rows));
        return out;
    }

private:
    static constexpr std::size_t kMost = 1000;
    using Kept = std::map<std::pair<double, std::size_t>, std::vector<AnalysisRow>>; // sorted by error; the first kMost
                                                                                     // entries stay
    static void keep(Kept& kept, std::pair<double, std::size_t> key, std::span<const AnalysisRow> rows) {
        if (kept.size() == kMost && !(key < std::prev(kept.end())->first)) return;
        kept.emplace(key, std::vector<AnalysisRow>(rows.begin(), rows.end()));
        if (kept.size() > kMost) kept.erase(std::prev(kept.end()));
    }
    Kept largest_, least_;
    std::map<std::size_t, std::vector<AnalysisRow>> refused_;
};

/// Analyses the tensors in pieces and spools the rows. The result is the same as from one analysis.
Result<void> spoolRows(const AnalysisPlan& plan, RowSpool& spool, AnalysisSummary& below, ShownTensors* shown) {
    Progress before;
    before.itemsTotal = plan.tensors.size() * plan.specs.size();
    for (const auto* tensor : plan.tensors) before.total += double(tensor->bytes) * double(plan.specs.size());
    const std::size_t most = std::max<std::size_t>(1, kRowsKept / plan.specs.size());
    for (std::size_t first = 0; first < plan.tensors.size(); first += most) {
        const std::size_t end = std::min(first + most, plan.tensors.size());
        AnalysisPlan piece{plan.model, {}, plan.specs, plan.options};
        piece.units = plan.units, piece.named = plan.named, piece.stored = plan.stored;
        piece.tensors.assign(plan.tensors.begin() + std::ptrdiff_t(first), plan.tensors.begin() + std::ptrdiff_t(end));
        const Job job([&before](const Progress& progress) {
            Progress whole = before;
            whole.done += progress.done, whole.items += progress.items, whole.what = progress.what;
            showProgress(whole);
        });
        const auto result = analyse(piece, job, [&job](const AnalysisRow&) {
            if (processJob().cancelled()) job.cancel();
        });
        if (!result) return tl::unexpected(result.error());
        if (processJob().cancelled()) return cancelledError();
        below.add(result->rows, plan.model.get());
        below.seconds += result->seconds;
        const bool hasAllRows = result->rows.size() == piece.tensors.size() * plan.specs.size();
        for (std::size_t t = 0; shown && hasAllRows && t < piece.tensors.size(); ++t)
            shown->add(first + t, std::span(result->rows).subspan(t * plan.specs.size(), plan.specs.size()));
        std::vector<Value> cells;
        for (const auto& row : result->rows) {
            cells.clear();
            for (const auto& column : analysisColumns()) cells.push_back(column.value(row));
            if (auto kept = spool.add(cells); !kept) return kept;
        }
        for (const auto* tensor : piece.tensors) before.done += double(tensor->bytes) * double(plan.specs.size());
        before.items += result->rows.size();
    }
    return {};
}

Result<void> runInPieces(const AnalyzeOptions& options, const AnalysisPlan& plan, const std::vector<std::string>& paths,
                         AnalysisSummary& below) {
    RowSpool spool;
    ShownTensors shown;
    const bool pages = wantsPages(options.outputs);
    if (auto done = spoolRows(plan, spool, below, pages ? &shown : nullptr); !done) return done;
    if (const auto end = options.units.end()) return *end;
    if (!options.outputs.standardOutput()) {
        const auto& all = analysisColumns();
        if (auto done = printSpool({all.begin(), all.end()}, shownColumns(plan), spool); !done) return done;
        if (auto done = printBelow(options, plan, below); !done) return done;
    }
    if (!options.outputs.any()) return anyMeasured(options, below);
    const ReportContents none{false, false, false, false, false, false};
    AnalysisPlan part{plan.model, {}, plan.specs, plan.options};
    AnalysisResult rows;
    for (auto& [tensor, of] : shown.take()) {
        part.tensors.push_back(plan.tensors[tensor]);
        rows.rows.insert(rows.rows.end(), of.begin(), of.end());
    }
    rows.seconds = below.seconds;
    const WholeAnalysis whole{&plan, below.totals, below.saidRemarks()};
    auto report = analysisReport(part, rows, pages ? kPartContents : none, options.commandLine, processJob(), &whole);
    if (!report) return tl::unexpected(report.error());
    auto& all = report->data.rows; // behind those of the spool: layers that are left out
    all.erase(all.begin(), all.begin() + std::ptrdiff_t(rows.rows.size()));
    auto done = writeSpool(options.outputs, std::move(*report), spool, paths);
    return done ? anyMeasured(options, below) : done;
}

Result<void> runAnalyze(const AnalyzeOptions& options) {
    auto specs = parsed(options.specs);
    if (!specs) return tl::unexpected(specs.error());
    auto model = openServed(options.path);
    if (!model) return tl::unexpected(model.error());
    if (auto fine = options.outputs.check(); !fine) return fine;
    auto tensors = select(**model, options.choice);
    if (!tensors) return tl::unexpected(tensors.error());

    std::vector<std::jthread> hashing; // The hash threads read the same bytes as the analysis. The report then finds
                                       // the hashes in the cache.
    const Job& job = processJob();
    if (options.outputs.any())
        hashing.emplace_back([&files = (*model)->files, &job] {
            const TakenCore busy; // SHA-256 of a file cannot use two threads; on two cores it takes longest
            for (const auto& file : files)
                if (!sha256OfFile(file.path, job)) return;
        });

    AnalysisPlan plan{*model, std::move(*tensors), std::move(*specs), {}};
    plan.named = !options.choice.filters.empty();
    for (const auto& [asTyped, spec] : plan.specs)
        plan.stored.push_back(storedIn(*plan.model, plan.tensors, spec, plan.named));
    const auto decoded = decodedAs(options.decoded);
    if (!decoded) return tl::unexpected(decoded.error());
    plan.options.decodedAs = *decoded;
    if (auto ready = useInputs(options, plan); !ready) return ready;
    auto effects = options.evidence.read(*model);
    if (!effects) return tl::unexpected(effects.error());
    plan.options.effects = std::move(*effects);
    auto paths = pathsOf(model->get());
    paths.insert(paths.end(), {options.path, options.learning.activations});
    paths.insert(paths.end(), options.evidence.files.begin(), options.evidence.files.end());
    const auto units = options.units.open(options.outputs.any());
    if (!units) return tl::unexpected(units.error());
    plan.units = *units;
    if (plan.units) plan.units->begin(weightOf(plan));
    AnalysisSummary below;
    if (isLong(options, plan)) return runInPieces(options, plan, paths, below);
    auto result = analyse(plan, job);
    if (!result) return tl::unexpected(result.error());
    if (const auto end = options.units.end()) return *end;
    below.add(result->rows, plan.model.get());
    below.proxy = proxyRemark(nmseMetric(), result->rows, true);
    if (options.outputs.any()) {
        auto report = analysisReport(plan, *result, {}, options.commandLine);
        if (job.cancelled()) return cancelledError();
        if (!report) return tl::unexpected(report.error());
        if (!options.outputs.standardOutput())
            if (auto done = printRows(options, plan, *result, below); !done) return done;
        if (auto done = options.outputs.write(std::move(*report), paths); !done) return done;
    } else if (auto done = printRows(options, plan, *result, below); !done)
        return done;
    return anyMeasured(options, below);
}

} // namespace

Run declareAnalyze(CLI::App& app) {
    auto options = std::make_shared<AnalyzeOptions>();
    addPath(app, options->path);
    option(app, "--spec", options->specs, "What to measure, for instance nf4:block=64; may be given several times")
        .required()
        .type("SPEC")
        .oneAtATime();
    addTensorChoice(app, options->choice);
    option(app, "--solver", options->solver, "Measure what this solver makes of each layer; see `solvers`")
        .type("SOLVER");
    options->learning.declare(app);
    options->evidence.declare(app);
    addDecoded(app, options->decoded);
    options->units.declare(app);
    options->outputs.declare(app, {"json", "csv", "html", "pdf", "md"});
    return [options] {
        std::string line = "quantscope-cli analyze " + options->path;
        for (const auto& spec : options->specs) line += " --spec " + spec;
        line += choiceText(options->choice);
        if (!options->solver.empty()) line += " --solver " + options->solver;
        if (!options->learning.activations.empty()) line += " --activations " + options->learning.activations;
        if (options->learning.share != "tensor") line += " --share-codebook " + options->learning.share;
        if (options->decoded != "f32") line += " --decoded " + options->decoded;
        line += options->evidence.commandLine();
        options->commandLine = line;
        return runAnalyze(*options);
    };
}

} // namespace qs::cli
