// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/activations.h"
#include "app/cli/declare.h"
#include "app/cli/interrupt.h"
#include "app/cli/output_files.h"
#include "app/cli/row_spool.h"
#include "app/cli/selection.h"
#include "app/cli/terminal.h"
#include "core/analysis/analysis_report.h"
#include "core/analysis/input_errors.h"
#include "core/base/parallel.h"
#include "core/base/text.h"
#include "core/quant/offers.h"
#include "core/quant/solved.h"
#include "core/solve/solver.h"
#include "core/value/tensor.h"

#include <algorithm>
#include <fmt/format.h>
#include <thread>

namespace qs::cli {
namespace {

struct Options {
    std::string path;
    std::vector<std::string> specs, filters;
    OutputFiles outputs;
    Learning learning;
    std::string solver, decoded = "f32";
    std::string commandLine;
};

Result<std::vector<std::pair<std::string, QuantSpec>>> parsed(const std::vector<std::string>& texts) {
    std::vector<std::pair<std::string, QuantSpec>> specs;
    for (const auto& text : texts) {
        auto spec = parseSpec(text);
        if (!spec) return tl::unexpected(spec.error());
        const bool twice =
            std::any_of(specs.begin(), specs.end(), [&](const auto& known) { return known.first == text; });
        if (!twice) specs.emplace_back(text, *spec);
    }
    return specs;
}

/// The reasons of rows without figures, each said once.
class Reasons {
public:
    void add(const AnalysisRow& row) {
        if (row->status == Status::Ok) return;
        const auto known = std::find_if(reasons_.begin(), reasons_.end(),
                                        [&](const auto& r) { return r.first->reason == row->reason; });
        if (known != reasons_.end())
            ++known->second;
        else if (reasons_.size() < kMost)
            reasons_.emplace_back(row, 1);
        else
            ++more_;
    }
    /// With what fits the first tensor of each reason.
    std::string text(const Model& model) const {
        std::string out;
        for (const auto& [row, rows] : reasons_)
            out += fmt::format("{} refused: {}\n", rows, oneSentence(row->reason + offersFor(*row, model)));
        if (more_) out += fmt::format("{} more rows for other reasons; --json lists them all.\n", more_);
        return out.empty() ? out : "\n" + out;
    }

private:
    static std::string offersFor(const TensorAnalysis& row, const Model& model) {
        const TensorInfo* tensor = model.find(row.tensor);
        const bool nonFinite = row.nan + row.inf > 0; // the reason itself says what leaves them out
        if (!tensor || nonFinite || row.status != Status::Refused) return {};
        return offersText(specsForRefused(row.spec, std::span(&tensor, 1), nonFinite));
    }

    static constexpr std::size_t kMost = 8;
    std::vector<std::pair<AnalysisRow, std::size_t>> reasons_;
    std::size_t more_ = 0;
};

void mergeTotals(SpecTotal& into, const SpecTotal& from) {
    into.tensors += from.tensors, into.refused += from.refused, into.elements += from.elements;
    into.bytesBefore += from.bytesBefore, into.bytesAfter += from.bytesAfter;
    into.allBytes += from.bytesAfter - from.bytesBefore;
    into.sums.merge(from.sums);
    into.bpw = into.elements ? 8.0 * double(into.bytesAfter) / double(into.elements) : 0;
}

/// What is said under the table.
struct Below {
    Reasons reasons;
    std::vector<SpecTotal> totals;
    std::vector<std::string> remarks; ///< of the first remarkedRows rows
    std::size_t rows = 0, measured = 0, remarkedRows = 0;
    AnalysisRow first;

    void add(const std::vector<AnalysisRow>& some, const Model* model) {
        if (rows == 0) remarks = remarksOf(some), remarkedRows = some.size();
        for (const auto& row : some) {
            reasons.add(row);
            if (!first) first = row;
            ++rows, measured += row->status == Status::Ok;
        }
        for (auto& total : qs::totals(some, model)) {
            const auto known = std::find_if(totals.begin(), totals.end(),
                                            [&](const SpecTotal& t) { return t.specAsTyped == total.specAsTyped; });
            if (known == totals.end())
                totals.push_back(std::move(total));
            else
                mergeTotals(*known, total);
        }
    }
};

std::vector<std::string_view> shownColumns(const AnalysisPlan& plan) {
    std::vector<std::string_view> ids = {"tensor", "shape", "spec", "bpw", "sqnr_db", "nmse", "max_abs", "status"};
    if (plan.specs.size() == 1) std::erase(ids, "spec");
    if (plan.options.inputs) ids.insert(ids.end() - 1, {"weighted_nmse", "output_nmse"});
    if (narrowTerminal()) std::erase(ids, "shape"), std::erase(ids, "max_abs");
    return ids;
}

Result<void> printBelow(const Options& options, const AnalysisPlan& plan, const Below& below) {
    const Table sums =
        withColumns(makeTable({}, totalColumns(), below.totals),
                    {"spec", "tensors", "refused", "bytes_before", "bytes", "bpw", "bpw_all", "nmse", "sqnr_db"});
    const std::string& inputs = options.learning.activations;
    std::string text = "\nWeight-space error: a screening proxy, not accuracy.\n";
    if (plan.options.inputs)
        text += fmt::format("Inputs of the layers: {}.\n",
                            inputs == "synthetic" ? "synthetic, seed 1" : escapeForPeople(inputs, 160));
    if (plan.options.solve) text += fmt::format("Codes are those of solver {}.\n", escapeForPeople(options.solver, 80));
    for (const std::string& sentence : below.remarks)
        text += (below.rows > below.remarkedRows ? fmt::format("Of the first {} rows: ", below.remarkedRows) : "") +
                sentence + "\n";
    return print(below.reasons.text(*plan.model) + "\n" + tableText(sums) + text);
}

Result<void> printRows(const Options& options, const AnalysisPlan& plan, const AnalysisResult& result,
                       const Below& below) {
    const Table table = withColumns(makeTable({}, analysisColumns(), result.rows), shownColumns(plan));
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
    plan.options.solve = [settings = *settings, file = learning.file](
                             const TensorView& view, const QuantSpec& spec) -> Result<std::shared_ptr<const Solved>> {
        const auto inputs = layerInputs(file.get(), *view.info);
        if (!inputs) return tl::unexpected(inputs.error());
        if (!*inputs || !(*inputs)->rows)
            return fail(fmt::format("the activations hold no inputs [..., K] for tensor '{}', which solver {} needs",
                                    escapeForPeople(view.info->name, 80), settings.solver));
        auto solution = solve::solve({view, spec, settings, *(*inputs)->rows}, processJob());
        if (!solution) return tl::unexpected(solution.error());
        return solution->solved;
    };
    return {};
}

Result<void> useInputs(const Options& options, AnalysisPlan& plan) {
    Learning learning = options.learning;
    std::vector<QuantSpec> specs;
    for (const auto& [asTyped, spec] : plan.specs) specs.push_back(spec);
    const bool solves = !options.solver.empty(), given = !learning.activations.empty();
    if (auto ready = learning.prepare(specs, solves, true); !ready) return ready;
    if (given)
        plan.options.inputs = [file = learning.file](const TensorInfo& layer) {
            return layerInputs(file.get(), layer);
        };
    if (solves) return useSolver(options.solver, learning, plan);
    for (std::size_t i = 0; learning.hasEffect() && i < specs.size(); ++i) {
        auto codebooks = learning.codebooks(*plan.model, plan.tensors, specs[i], processJob());
        if (!codebooks) return tl::unexpected(codebooks.error());
        plan.codebooks.push_back(std::move(*codebooks));
    }
    return {};
}

Result<void> anyMeasured(const Options& options, const Below& below) {
    if (below.measured > 0 || !below.first) return {};
    const TensorAnalysis& first = *below.first;
    return fail(fmt::format("{}: none of the {} rows could be measured; the first, {} as {}: {}",
                            escapeForPeople(options.path, 160), below.rows, escapeForPeople(first.tensor),
                            escapeForPeople(first.specAsTyped), first.reason),
                options.path);
}

constexpr std::size_t kRowsKept = 4096; ///< in memory, some kilobytes each; of more, only those of a piece are

/// Reports with plots look at all rows at once; a million of them take gigabytes, which is said in the manual.
bool isLong(const Options& options, const AnalysisPlan& plan) {
    for (const char* id : {"html", "pdf", "md"})
        if (options.outputs.wants(id)) return false;
    return plan.codebooks.empty() && plan.tensors.size() * plan.specs.size() > kRowsKept;
}

/// The rows of the pieces one after another, as if the plan had been analysed at once.
Result<void> spoolRows(const AnalysisPlan& plan, RowSpool& spool, Below& below) {
    Progress before;
    before.itemsTotal = plan.tensors.size() * plan.specs.size();
    for (const auto* tensor : plan.tensors) before.total += double(tensor->bytes) * double(plan.specs.size());
    const std::size_t most = std::max<std::size_t>(1, kRowsKept / plan.specs.size());
    for (std::size_t first = 0; first < plan.tensors.size(); first += most) {
        const std::size_t end = std::min(first + most, plan.tensors.size());
        AnalysisPlan piece{plan.model, {}, plan.specs, plan.options};
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

Result<void> printSpool(const AnalysisPlan& plan, RowSpool& spool) {
    const auto& all = analysisColumns();
    std::vector<ColumnInfo> columns;
    std::vector<std::size_t> picked;
    for (const auto id : shownColumns(plan))
        for (std::size_t c = 0; c < all.size(); ++c)
            if (all[c].id == id) picked.push_back(c), columns.push_back(all[c]);
    return printTable(columns, spool.size(), [&](std::size_t r) {
        const auto cells = spool.row(r);
        std::vector<Value> shown;
        for (const auto c : picked) shown.push_back(cells[c]);
        return shown;
    });
}

/// The file of a report whose rows are those of the spool: what the writer makes of no rows is put around them.
Result<void> writeSpool(const OutputFiles& outputs, const char* id, const Report& report, RowSpool& spool) {
    constexpr std::size_t atOnce = 1024;
    const bool isJson = std::string_view(id) == "json";
    return outputs.writeInPieces(id, [&](const OutputFiles::Sink& put) -> Result<void> {
        const auto around = findReportWriter(id)->render(report);
        if (!around) return tl::unexpected(around.error());
        const auto rows = isJson ? around->find("[]") + 1 : around->size();
        auto done = put(std::string_view(*around).substr(0, rows));
        Report piece;
        piece.data.columns = report.data.columns;
        for (std::size_t first = 0; done && first < spool.size(); first += atOnce) {
            piece.data.rows = spool.rows(first, atOnce);
            if (isJson) {
                const auto text = jsonRows(piece.data);
                done = put((first ? "," : "") + text.substr(1, text.size() - 3)); // without its brackets
            } else if (const auto text = findReportWriter(id)->render(piece); text)
                done = put(std::string_view(*text).substr(text->find("\r\n") + 2));
        }
        return done ? put((isJson ? "\n" : "") + around->substr(rows)) : done;
    });
}

Result<void> runInPieces(const Options& options, const AnalysisPlan& plan, const std::vector<std::string>& paths,
                         Below& below) {
    RowSpool spool;
    if (auto done = spoolRows(plan, spool, below); !done) return done;
    if (!options.outputs.standardOutput()) {
        if (auto done = printSpool(plan, spool); !done) return done;
        if (auto done = printBelow(options, plan, below); !done) return done;
    }
    if (!options.outputs.any()) return {};
    const ReportContents none{false, false, false, false, false, false};
    auto report = analysisReport(plan, {}, none, options.commandLine, processJob());
    if (!report) return tl::unexpected(report.error());
    const Report shown = options.outputs.shown(std::move(*report), paths);
    for (const char* id : {"json", "csv"})
        if (auto done = writeSpool(options.outputs, id, shown, spool); !done) return done;
    return {};
}

Result<void> run(const Options& options) {
    auto specs = parsed(options.specs);
    if (!specs) return tl::unexpected(specs.error());
    auto model = openServed(options.path);
    if (!model) return tl::unexpected(model.error());
    if (auto fine = options.outputs.check(); !fine) return fine;
    auto tensors = select(**model, options.filters);
    if (!tensors) return tl::unexpected(tensors.error());

    std::vector<std::jthread> hashing; // reads what the analysis reads anyway; the report finds the result in the cache
    const Job& job = processJob();
    if (options.outputs.any())
        hashing.emplace_back([&files = (*model)->files, &job] {
            const TakenCore
                busy; // SHA-256 of a file has one order and one thread: on two cores it is what takes longest
            for (const auto& file : files)
                if (!sha256OfFile(file.path, job)) return;
        });

    AnalysisPlan plan{*model, std::move(*tensors), std::move(*specs), {}};
    const auto decoded = decodedAs(options.decoded);
    if (!decoded) return tl::unexpected(decoded.error());
    plan.options.decodedAs = *decoded;
    if (auto ready = useInputs(options, plan); !ready) return ready;
    auto paths = pathsOf(model->get());
    paths.insert(paths.end(), {options.path, options.learning.activations});
    Below below;
    if (isLong(options, plan)) {
        auto done = runInPieces(options, plan, paths, below);
        return done ? anyMeasured(options, below) : done;
    }
    auto result = analyse(plan, job);
    if (!result) return tl::unexpected(result.error());
    below.add(result->rows, plan.model.get());
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
    auto options = std::make_shared<Options>();
    addPath(app, options->path);
    option(app, "--spec", options->specs, "What to measure, for instance nf4:block=64; may be given several times")
        .required()
        .type("SPEC")
        .oneAtATime();
    addTensorFilters(app, options->filters);
    option(app, "--solver", options->solver, "Measure what this solver makes of each layer; see `solvers`")
        .type("SOLVER");
    options->learning.declare(app);
    addDecoded(app, options->decoded);
    options->outputs.declare(app, {"json", "csv", "html", "pdf", "md"});
    return [options] {
        std::string line = "quantscope-cli analyze " + options->path;
        for (const auto& spec : options->specs) line += " --spec " + spec;
        for (const auto& filter : options->filters) line += " --tensor " + filter;
        if (!options->solver.empty()) line += " --solver " + options->solver;
        if (!options->learning.activations.empty()) line += " --activations " + options->learning.activations;
        if (options->learning.share != "tensor") line += " --share-codebook " + options->learning.share;
        if (options->decoded != "f32") line += " --decoded " + options->decoded;
        options->commandLine = line;
        return run(*options);
    };
}

} // namespace qs::cli
