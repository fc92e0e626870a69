// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/analysis/sweep/sweep.h"
#include "app/cli/declare.h"
#include "app/cli/evidence_options.h"
#include "app/cli/interrupt.h"
#include "app/cli/output_files.h"
#include "app/cli/selection.h"
#include "app/cli/terminal.h"
#include "app/cli/units.h"
#include "core/base/parallel.h"
#include "core/base/text.h"
#include "core/model/quantized_source.h"

#include <algorithm>
#include <fmt/format.h>
#include <thread>

namespace qs::cli {
namespace {

struct SweepOptions {
    std::string path;
    std::vector<std::string> lines;
    TensorChoice choice;
    std::vector<std::uint32_t> blocks;
    OutputFiles outputs;
    EvidenceOption evidence;
    UnitOptions units;
    std::string commandLine, decoded = "f32";
};

/// Prints the frontier of each class. With a single class, prints all points.
Result<void> printPoints(const Model& model, const SweepResult& result) {
    std::vector<SweepPoint> shown;
    for (const auto& point : result.points)
        if (point.frontier || result.classes.size() == 1) shown.push_back(point);
    std::ranges::stable_sort(shown, [](const SweepPoint& a, const SweepPoint& b) {
        return a.className == b.className && a.bpw().value_or(1e9) < b.bpw().value_or(1e9);
    });
    const std::size_t refused =
        std::size_t(std::ranges::count_if(result.points, [](const SweepPoint& p) { return p.refused > 0; }));
    std::vector<std::string_view> ids = {"class", "spec",  "bpw",      "sqnr_db",
                                         "nmse",  "bytes", "frontier", "worst_tensor"};
    if (result.classes.size() > 1) std::erase(ids, "frontier");
    if (narrowTerminal()) std::erase(ids, "worst_tensor"), std::erase(ids, "bytes");
    std::string text = tableText(withColumns(makeTable({}, sweepColumns(), shown), columnsWithEffects(shown, ids)));
    text += result.classes.size() > 1
                ? "\nThe frontier of each class: no other spec has fewer bits and no more error. --json lists all "
                  "points.\n"
                : "\nFrontier: no other spec has fewer bits and no more error.\n";
    if (refused)
        text += fmt::format("{} points without figures: a tensor refuses the spec; --json gives reasons.\n", refused);
    if (const std::string remark = quantizedSource(model).sentence(); !remark.empty()) text += remark + "\n";
    return print(text + sweepRemark(result) + "\n");
}

Result<void> runSweep(const SweepOptions& options) {
    std::vector<std::string> lines = options.lines;
    if (lines.empty())
        for (const auto& line : sweepLines())
            if (line.usual) lines.push_back(line.text);
    std::vector<std::uint32_t> blocks = options.blocks;
    if (blocks.empty()) blocks.assign(usualSweepBlocks().begin(), usualSweepBlocks().end());
    auto specs = sweepSpecs(lines, blocks);
    if (!specs) return tl::unexpected(specs.error());
    auto model = openServed(options.path);
    if (!model) return tl::unexpected(model.error());
    if (auto fine = options.outputs.check(); !fine) return fine;
    auto tensors = select(**model, options.choice);
    if (!tensors) return tl::unexpected(tensors.error());

    const Job& job = processJob();
    std::vector<std::jthread> hashing; // runs beside the sweep; the report finds the hashes in the cache
    if (options.outputs.any())
        hashing.emplace_back([&files = (*model)->files, &job] {
            const TakenCore busy;
            for (const auto& file : files)
                if (!sha256OfFile(file.path, job)) return;
        });
    const auto decoded = decodedAs(options.decoded);
    if (!decoded) return tl::unexpected(decoded.error());
    auto effects = options.evidence.read(*model);
    if (!effects) return tl::unexpected(effects.error());
    const auto units = options.units.open(options.outputs.any());
    if (!units) return tl::unexpected(units.error());
    const SweepPlan plan{*model,
                         std::move(*tensors),
                         std::move(*specs),
                         *decoded,
                         std::move(*effects),
                         *units,
                         !options.choice.filters.empty()};
    const auto result = runSweep(plan, job);
    if (!result) return tl::unexpected(result.error());
    if (const auto end = options.units.end()) return *end;
    if (options.outputs.any()) {
        auto report = sweepReport(plan, *result, options.commandLine, job);
        if (job.cancelled()) return cancelledError();
        if (!report) return tl::unexpected(report.error());
        if (!options.outputs.standardOutput())
            if (auto done = printPoints(**model, *result); !done) return done;
        auto paths = pathsOf(model->get());
        paths.push_back(options.path);
        paths.insert(paths.end(), options.evidence.files.begin(), options.evidence.files.end());
        if (auto done = options.outputs.write(std::move(*report), paths); !done) return done;
    } else if (auto done = printPoints(**model, *result); !done)
        return done;
    if (std::ranges::none_of(result->points, [](const SweepPoint& p) { return p.complete(); })) {
        const auto& first = result->points.front();
        return fail(fmt::format("None of the {} points could be measured; the first, {} as {}: {}",
                                result->points.size(), escapeForPeople(first.className), first.specText, first.reason),
                    options.path);
    }
    return {};
}

} // namespace

Run declareSweep(CLI::App& app) {
    auto options = std::make_shared<SweepOptions>();
    addPath(app, options->path);
    option(app, "--spec", options->lines,
           "A format or spec to sweep: with every block size if it names none; may be given several times. "
           "Without it: the usual formats")
        .type("SPEC")
        .oneAtATime();
    option(app, "--block", options->blocks, "A block size, elements per scale; without it: 16 32 64 128 256")
        .type("N")
        .oneAtATime();
    addTensorChoice(app, options->choice);
    options->evidence.declare(app);
    addDecoded(app, options->decoded);
    options->units.declare(app);
    options->outputs.declare(app, {"json", "csv", "html", "pdf", "md"});
    return [options] {
        std::string line = "quantscope-cli sweep " + options->path;
        for (const auto& spec : options->lines) line += " --spec " + spec;
        for (const auto block : options->blocks) line += fmt::format(" --block {}", block);
        line += choiceText(options->choice);
        if (options->decoded != "f32") line += " --decoded " + options->decoded;
        line += options->evidence.commandLine();
        options->commandLine = line;
        return runSweep(*options);
    };
}

} // namespace qs::cli
