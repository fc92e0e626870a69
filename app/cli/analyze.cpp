// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/activations.h"
#include "app/cli/declare.h"
#include "app/cli/interrupt.h"
#include "app/cli/output_files.h"
#include "app/cli/selection.h"
#include "app/cli/terminal.h"
#include "core/analysis/analysis_report.h"
#include "core/analysis/input_errors.h"
#include "core/base/parallel.h"
#include "core/base/text.h"
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
    std::string solver;
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
std::string reasonsText(const std::vector<AnalysisRow>& rows) {
    std::vector<std::pair<std::string, std::size_t>> reasons;
    for (const auto& row : rows) {
        if (row->status == Status::Ok) continue;
        const auto known =
            std::find_if(reasons.begin(), reasons.end(), [&](const auto& r) { return r.first == row->reason; });
        if (known != reasons.end())
            ++known->second;
        else
            reasons.emplace_back(row->reason, 1);
    }
    std::string out;
    constexpr std::size_t most = 8;
    for (std::size_t i = 0; i < reasons.size() && i < most; ++i)
        out += fmt::format("{} refused: {}\n", reasons[i].second, oneSentence(reasons[i].first));
    if (reasons.size() > most) out += fmt::format("{} more reasons; --json lists them all.\n", reasons.size() - most);
    return out.empty() ? out : "\n" + out;
}

Result<void> printRows(const Options& options, const AnalysisPlan& plan, const AnalysisResult& result) {
    const Table table = makeTable({}, analysisColumns(), result.rows);
    std::vector<std::string_view> ids = {"tensor", "shape", "spec", "bpw", "sqnr_db", "nmse", "max_abs", "status"};
    if (plan.specs.size() == 1) std::erase(ids, "spec");
    if (plan.options.inputs) ids.insert(ids.end() - 1, {"weighted_nmse", "output_nmse"});
    if (narrowTerminal()) std::erase(ids, "shape"), std::erase(ids, "max_abs");
    const Table shown = withColumns(table, ids);
    const Table sums = withColumns(makeTable({}, totalColumns(), totals(result.rows)),
                                   {"spec", "tensors", "refused", "bytes_before", "bytes", "bpw", "nmse", "sqnr_db"});
    const std::string& inputs = options.learning.activations;
    std::string below = "\nWeight-space error: a screening proxy, not accuracy.\n";
    if (plan.options.inputs)
        below += fmt::format("Inputs of the layers: {}.\n",
                             inputs == "synthetic" ? "synthetic, seed 1" : escapeForPeople(inputs, 160));
    if (plan.options.solve)
        below += fmt::format("Codes are those of solver {}.\n", escapeForPeople(options.solver, 80));
    return print(tableText(shown) + reasonsText(result.rows) + "\n" + tableText(sums) + below);
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
    if (auto ready = useInputs(options, plan); !ready) return ready;
    auto result = analyse(plan, job);
    if (!result) return tl::unexpected(result.error());
    if (options.outputs.any()) {
        auto report = analysisReport(plan, *result, {}, options.commandLine);
        if (job.cancelled()) return cancelledError();
        if (!report) return tl::unexpected(report.error());
        if (!options.outputs.standardOutput())
            if (auto done = printRows(options, plan, *result); !done) return done;
        if (auto done = options.outputs.write(*report); !done) return done;
    } else if (auto done = printRows(options, plan, *result); !done)
        return done;

    const auto ok = [](const AnalysisRow& row) { return row->status == Status::Ok; };
    if (std::none_of(result->rows.begin(), result->rows.end(), ok)) {
        const auto& first = *result->rows.front();
        return fail(fmt::format("{}: none of the {} rows could be measured; the first, {} as {}: {}",
                                escapeForPeople(options.path, 160), result->rows.size(), escapeForPeople(first.tensor),
                                escapeForPeople(first.specAsTyped), first.reason),
                    options.path);
    }
    return {};
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
    options->outputs.declare(app, {"json", "csv", "html", "pdf", "md"});
    return [options] {
        std::string line = "quantscope-cli analyze " + options->path;
        for (const auto& spec : options->specs) line += " --spec " + spec;
        for (const auto& filter : options->filters) line += " --tensor " + filter;
        if (!options->solver.empty()) line += " --solver " + options->solver;
        if (!options->learning.activations.empty()) line += " --activations " + options->learning.activations;
        if (options->learning.share != "tensor") line += " --share-codebook " + options->learning.share;
        options->commandLine = line;
        return run(*options);
    };
}

} // namespace qs::cli
