// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/declare.h"
#include "app/cli/evidence_options.h"
#include "app/cli/interrupt.h"
#include "app/cli/output_files.h"
#include "app/cli/selection.h"
#include "app/cli/terminal.h"
#include "app/cli/text_options.h"
#include "app/cli/units.h"
#include "core/base/byte_count.h"
#include "core/base/lists.h"
#include "core/base/tensor_name.h"
#include "core/base/text.h"
#include "core/eval/sensitivity/report.h"

#include <fmt/format.h>

namespace qs::cli {
namespace {

constexpr const char* kNoCache = "none";
constexpr std::size_t kMostRowsPrinted = 40;

struct SensitivityOptions {
    std::string path, by = eval::groupings().front().id, layout, cache, memory;
    std::vector<std::string> specs, tensors, hows = {eval::sensitivityHows().front().id};
    double until = 0;
    TextOptions text;
    ImportOptions imports;
    OutputFiles outputs;
    UnitOptions units;
    std::string commandLine;
};

Result<eval::SensitivityPlan> planOf(const SensitivityOptions& options) {
    eval::SensitivityPlan plan;
    plan.context = options.text.context, plan.chunks = options.text.chunks;
    plan.by = eval::findGrouping(options.by);
    plan.until = options.until;
    if (const char* alone = eval::sensitivityHows().front().id; plan.until > 0)
        if (options.hows != std::vector<std::string>{alone})
            return fail(fmt::format("--until is for --how {} only.", alone));
    plan.cache = options.cache.empty() ? eval::defaultSensitivityCache() : options.cache;
    if (options.cache == kNoCache) plan.cache.clear();
    for (const auto& text : options.specs) {
        auto spec = parseSpec(text);
        if (!spec) return tl::unexpected(spec.error());
        plan.specs.push_back(std::move(*spec));
    }
    if (options.memory.empty()) return plan;
    const auto bytes = parseByteCount(options.memory);
    if (!bytes) return tl::unexpected(bytes.error());
    if (*bytes == 0) return fail("--memory must be above 0.");
    plan.memory = *bytes;
    return plan;
}

/// Where finished runs are looked for.
std::string placeOfRuns(const eval::SensitivityPlan& plan) {
    if (plan.units) return "the records";
    return plan.cache.empty() ? "no cache" : escapeForPeople(plan.cache);
}

Result<void> printResult(const eval::SensitivityPlan& plan, const eval::Sensitivity& result,
                         const std::vector<eval::ImportedColumn>& imported) {
    std::string text;
    for (const eval::SensitivityHow* how : result.hows) { // a table each: they have other columns
        auto rows = eval::ranked(result.rowsOf(*how));
        const std::size_t all = rows.size();
        if (all > kMostRowsPrinted) rows.resize(kMostRowsPrinted);
        text += (text.empty() ? "" : "\n") + tableText(eval::sensitivityTable({}, rows));
        if (all > kMostRowsPrinted)
            text += fmt::format("... and {} more rows; --csv and --json have them all.\n", all - kMostRowsPrinted);
    }
    if (!result.additivity.empty()) text += "\n" + tableText(eval::additivityTable({}, result.additivity));
    text += importedText(imported) + trustText(eval::sensitivityTrust(result, imported));
    text += fmt::format("\n{} tokens in {} chunks; {} runs, {} more found in {}.\n{}\n", result.tokens, result.chunks,
                        result.runs, result.keptRuns, placeOfRuns(plan), eval::sensitivityNote(result.hows));
    if (plan.until > 0)
        text += fmt::format("{} runs ended before the last chunk, with an error by chunk of at most {} of the mean KL; "
                            "the column of tokens says where.\n",
                            result.endedRuns, plan.until);
    if (const std::string remark = eval::referenceRemark(result); !remark.empty()) text += remark + "\n";
    return print(text);
}

/// In every way that was asked for.
Result<eval::Sensitivity> measured(const SensitivityOptions& options, const std::shared_ptr<const Model>& model,
                                   eval::SensitivityPlan& plan, const std::size_t& rows) {
    eval::Sensitivity all;
    for (const auto& id : options.hows) {
        plan.how = eval::findSensitivityHow(id);
        auto result = eval::sensitivity(model, plan, processJob());
        if (!result && result.error().cancelled && !plan.units && !plan.cache.empty())
            stoppedWith(
                fmt::format("stopped; {} rows were done; finished runs are kept in {}, and the same command goes on.",
                            rows, escapeForPeople(plan.cache, 200)));
        if (!result) return result;
        all.add(std::move(*result));
    }
    return all;
}

Result<void> runSensitivity(const SensitivityOptions& options) {
    if (auto fine = options.text.check("sensitivity"); !fine) return fine;
    auto plan = planOf(options);
    if (!plan) return tl::unexpected(plan.error());
    auto model = openServed(options.path);
    if (!model) return tl::unexpected(model.error());
    if (auto fine = options.outputs.check(); !fine) return fine;
    const auto units = options.units.open(options.outputs.any());
    if (!units) return tl::unexpected(units.error());
    plan->units = *units;
    auto scope = eval::scopeOf(**model, options.tensors, options.layout);
    if (!scope) return tl::unexpected(scope.error());
    plan->scope = std::move(*scope);
    const auto imported = options.imports.read(*model);
    if (!imported) return tl::unexpected(imported.error());
    auto text = options.text.read(**model, processJob());
    if (!text) return tl::unexpected(text.error());
    plan->text = std::move(*text);
    std::size_t rows = 0;
    plan->arrived = [&](const eval::SensitivityRow&) { ++rows; };
    plan->expected = [](const eval::SensitivityCost& cost) {
        note(fmt::format("{} runs: {} tokens through {} layers in all, and logits of {} tokens a run; about {}.",
                         cost.runs, cost.tokens, cost.layerPasses, cost.scored, durationText(cost.seconds)));
    };
    const auto result = measured(options, *model, *plan, rows);
    if (!result) return tl::unexpected(result.error());
    if (const auto end = options.units.end()) return *end;
    if (!options.outputs.standardOutput())
        if (auto done = printResult(*plan, *result, *imported); !done) return done;
    if (options.outputs.any()) {
        auto report = eval::sensitivityReport(**model, *plan, *result, *imported, options.commandLine, processJob());
        if (!report) return tl::unexpected(report.error());
        auto paths = pathsOf(model->get());
        paths.push_back(options.path), paths.push_back(plan->text.path);
        paths.insert(paths.end(), options.imports.files.begin(), options.imports.files.end());
        if (auto done = options.outputs.write(std::move(*report), paths); !done) return done;
    }
    for (const auto& row : result->rows)
        if (row.reason.empty()) return {};
    const auto& first = result->rows.front();
    return fail(fmt::format("Nothing could be measured; the first, {} under {}: {}", quotedName(first.unit),
                            first.spec.empty() ? "noise" : first.spec, first.reason),
                options.path);
}

} // namespace

Run declareSensitivity(CLI::App& app) {
    auto options = std::make_shared<SensitivityOptions>();
    options->text.chunks = eval::kUsualChunks;
    addPath(app, options->path);
    option(app, "--spec", options->specs,
           "What a matrix is quantized as; may be given several times. slope needs none, and\nwith some predicts them")
        .type("SPEC")
        .oneAtATime();
    options->text.declare(app);
    option(app, "--how", options->hows,
           "alone: only one unit is quantized; spared: all but one; slope: noise of known size\n"
           "in one; output: the error of a layer's own output; may be given several times: proxies are\nthen held "
           "against what is measured (default: alone)")
        .type("HOW")
        .oneAtATime()
        .oneOf(idsOf(eval::sensitivityHows()));
    option(app, "--by", options->by, "What a unit is: a tensor, a role in all layers, or a layer")
        .type("UNIT")
        .showDefault()
        .oneOf(idsOf(eval::groupings()));
    option(app, "--tensor", options->tensors,
           "Only matrices whose name matches; may be given several times\n(default: those of all layers)")
        .type("REGEX")
        .oneAtATime();
    option(
        app, "--layout", options->layout,
        "Leave out what this layout keeps as it is, and take the values that its readers\ngive and the bytes that it "
        "stores; see `layouts`")
        .type("LAYOUT");
    option(app, "--until", options->until,
           "A run of alone ends once the error by chunk of its mean KL is at most this share of\n"
           "the mean, such as 0.1; looked at after every 4 chunks (default: never)")
        .type("SHARE")
        .range(0.0, 1.0);
    option(app, "--cache", options->cache,
           "Folder that keeps finished runs, so that a stopped command goes on; none keeps\n"
           "nothing (default: XDG_CACHE_HOME/quantscope/sensitivity)")
        .type("DIR")
        .role(OptionRole::NoEffect);
    option(app, "--memory", options->memory,
           "Memory for hidden states, such as 2GiB; more go to a temporary file (default: 1GiB)")
        .type("SIZE")
        .role(OptionRole::NoEffect);
    options->imports.declare(app);
    options->units.declare(app);
    options->outputs.declare(app, {"json", "csv", "html", "pdf", "md"});
    return [options] {
        std::string line = "quantscope-cli sensitivity " + options->path;
        for (const auto& spec : options->specs) line += " --spec " + spec;
        line += options->text.commandLine() + " --by " + options->by;
        for (const auto& how : options->hows) line += " --how " + how;
        for (const auto& tensor : options->tensors) line += " --tensor " + tensor;
        if (!options->layout.empty()) line += " --layout " + options->layout;
        if (options->until > 0) line += fmt::format(" --until {}", options->until);
        line += options->imports.commandLine();
        options->commandLine = line;
        return runSensitivity(*options);
    };
}

} // namespace qs::cli
