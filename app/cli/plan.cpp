// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/declare.h"
#include "app/cli/interrupt.h"
#include "app/cli/output_files.h"
#include "app/cli/selection.h"
#include "app/cli/terminal.h"
#include "app/cli/text_options.h"
#include "core/base/text.h"
#include "core/model/output/atomic_file.h"
#include "core/plan/budget.h"
#include "core/plan/report.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>

namespace qs::cli {
namespace {

constexpr std::size_t kMostPrinted = 40;

struct PlanCommand {
    std::string path, budget, by = plan::objectives().front().id, layout, output;
    std::vector<std::string> specs, tensors, locks, groups;
    unsigned draws = 19, proofChunks = 8;
    TextOptions text;
    OutputFiles outputs;
    std::string commandLine;
};

Result<std::vector<QuantSpec>> specsIn(const std::vector<std::string>& texts) {
    if (texts.size() < 2) return fail("plan chooses between specs: give --spec twice or more.");
    std::vector<QuantSpec> specs;
    for (const auto& text : texts) {
        auto spec = parseSpec(text);
        if (!spec) return tl::unexpected(spec.error());
        specs.push_back(std::move(*spec));
    }
    return specs;
}

/// Rank 2 and more, as a layout takes them.
std::vector<const TensorInfo*> weightsOf(const Model& model) {
    std::vector<const TensorInfo*> out;
    for (const TensorInfo& tensor : model.tensors)
        if (tensor.isWeight()) out.push_back(&tensor);
    return out;
}

/// The tokens behind the chunks that losses were measured on.
Result<eval::EvaluationPlan> heldOut(const eval::EvaluationText& text, const PlanCommand& options, std::size_t used) {
    eval::EvaluationPlan out;
    out.text = text;
    out.context = options.text.context, out.chunks = options.proofChunks;
    const std::size_t skipped = std::min(text.tokens.size(), used * out.context);
    out.text.tokens.erase(out.text.tokens.begin(), out.text.tokens.begin() + std::ptrdiff_t(skipped));
    if (out.text.tokens.size() < out.context)
        return fail(
            fmt::format("The text has {} tokens, and {} chunks of {} are used for the losses, so none is left for "
                        "the proof. Use a longer text, fewer --chunks, or --null 0.",
                        text.tokens.size(), used, out.context),
            text.path);
    return out;
}

/// Chunks for the losses: as many as were asked for; half of the text if nothing was, so that the rest can test the plan.
std::size_t lossChunksOf(const PlanCommand& options, const eval::EvaluationText& text) {
    if (options.text.chunks > 0) return options.text.chunks;
    const std::size_t all = text.tokens.size() / options.text.context;
    return options.draws > 0 ? std::max<std::size_t>(1, all / 2) : all;
}

Result<void> printPlan(const plan::PlanRecord& record) {
    auto rows = plan::mixtureRows(record.plan, *record.options);
    const std::size_t all = rows.size();
    std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.loss > b.loss; });
    if (all > kMostPrinted) rows.resize(kMostPrinted);
    std::string text =
        tableText(withColumns(makeTable({}, plan::mixtureColumns(), rows), {"unit", "spec", "bpw", "loss", "share"}));
    if (all > kMostPrinted)
        text += fmt::format("... and {} more tensors; --csv and --json have them all.\n", all - kMostPrinted);
    for (const auto& remark : record.options->remarks) text += remark + "\n";
    text += fmt::format("\nBy {}: {}.\n", record.objective->title, plan::planSummary(record));
    if (!record.losses->additivity.empty())
        text += "\n" + tableText(makeTable({}, eval::additivityColumns(), record.losses->additivity));
    if (record.proof) {
        text += "\nMeasured on chunks that no loss was measured on:\n" +
                tableText(withColumns(makeTable({}, plan::contenderColumns(), record.proof->contenders),
                                      {"name", "kind", "bytes", "kl_mean", "kl_se_chunk", "top1", "difference"}));
        for (const auto& verdict : record.proof->verdicts) text += verdict + "\n";
    }
    return print(text);
}

Result<void> checkPlan(const PlanCommand& options, const plan::Objective& objective) {
    const bool hasText = !options.text.text.empty() || !options.text.tokens.empty();
    if (hasText || objective.needsText)
        if (auto fine = options.text.check("plan"); !fine) return fine;
    return options.outputs.check();
}

Result<void> run(const PlanCommand& options) {
    const plan::Objective& objective = *plan::findObjective(options.by);
    if (auto fine = checkPlan(options, objective); !fine) return fine;
    const auto specs = specsIn(options.specs);
    if (!specs) return tl::unexpected(specs.error());
    auto locks = recipeOfSpecs(options.locks);
    if (!locks) return tl::unexpected(locks.error());
    if (locks->rest) return fail("--lock takes REGEX=SPEC or REGEX=keep.");
    const auto model = openServed(options.path);
    if (!model) return tl::unexpected(model.error());

    plan::OptionRequest wanted{*model, weightsOf(**model), *specs, options.layout, locks->rules, options.groups};
    if (!options.tensors.empty()) {
        auto selected = select(**model, options.tensors);
        if (!selected) return tl::unexpected(selected.error());
        std::erase_if(*selected, [](const TensorInfo* tensor) { return !tensor->isWeight(); });
        wanted.tensors = std::move(*selected);
    }
    plan::PlanRecord record;
    record.objective = &objective, record.context = options.text.context;
    if (!options.text.text.empty() || !options.text.tokens.empty()) {
        auto text = options.text.read(**model, processJob());
        if (!text) return tl::unexpected(text.error());
        record.text = std::move(*text);
    }
    plan::LossRequest ask{*model, wanted.tensors, *specs, {}};
    ask.text.text = record.text, ask.text.context = options.text.context;
    if (objective.needsText) record.lossChunks = lossChunksOf(options, record.text);
    ask.text.chunks = record.lossChunks;
    ask.text.cache = eval::defaultSensitivityCache();
    const auto losses = objective.measure(objective, ask, processJob());
    if (!losses) return tl::unexpected(losses.error());
    const auto choices = plan::planOptions(wanted, *losses, processJob());
    if (!choices) return tl::unexpected(choices.error());
    const auto budget = plan::parseBudget(options.budget, choices->elements);
    if (!budget) return tl::unexpected(budget.error());
    std::optional<EndsAtOnce> choosing(std::in_place); // one step, however many units there are
    auto best = plan::bestMixture(*choices, *budget);
    choosing.reset();
    if (!best) return tl::unexpected(best.error());
    record.options = &*choices, record.losses = &*losses, record.plan = std::move(*best), record.budget = *budget;

    if (!record.text.path.empty() && options.draws > 0) {
        auto text = heldOut(record.text, options, record.lossChunks);
        if (!text) return tl::unexpected(text.error());
        auto proof = plan::provePlan(
            {*model, &*choices, locks->rules, record.plan, *budget, options.draws, std::move(*text)}, processJob());
        if (!proof) return tl::unexpected(proof.error());
        record.proof = std::move(*proof);
    }
    if (!options.output.empty()) {
        const std::string text = recipeText(plan::recipeOf(record.plan, *choices, locks->rules));
        if (auto written = writeWholeFile(options.output, text); !written) return written;
    }
    if (!options.outputs.standardOutput())
        if (auto done = printPlan(record); !done) return done;
    if (!options.outputs.any()) return {};
    auto report = plan::planReport(**model, record, options.commandLine, processJob());
    if (!report) return tl::unexpected(report.error());
    auto paths = pathsOf(model->get());
    paths.push_back(options.path), paths.push_back(record.text.path);
    return options.outputs.write(std::move(*report), paths);
}

template<class Rows> std::vector<std::string> objectiveIds(const Rows& rows) {
    std::vector<std::string> ids;
    for (const auto& row : rows) ids.emplace_back(row.id);
    return ids;
}

} // namespace

Run declarePlan(CLI::App& app) {
    auto options = std::make_shared<PlanCommand>();
    addPath(app, options->path);
    option(app, "--spec", options->specs, "A spec to choose from; give two or more").type("SPEC").oneAtATime();
    option(app, "--budget", options->budget,
           "Size of the whole file: bits per weight, such as 4.5bpw, or bytes, such as 3.2GiB")
        .type("SIZE")
        .required();
    option(app, "--by", options->by,
           "What the plan makes least: the sum of this figure over all tensors. nmse needs no\ntext; the others are "
           "measured on the first --chunks of --text")
        .type("OBJECTIVE")
        .showDefault()
        .oneOf(objectiveIds(plan::objectives()));
    option(app, "--layout", options->layout,
           "Layout whose stored bytes count (default: the first that takes the most of the specs)")
        .type("ID");
    addTensorFilters(app, options->tensors);
    option(app, "--lock", options->locks, "REGEX=SPEC or REGEX=keep for tensors that the plan does not decide")
        .type("RULE")
        .oneAtATime();
    option(
        app, "--group", options->groups,
        "Tensors whose names are equal without what REGEX matches get one spec:\n\"(q|k|v)_proj\" joins three in each "
        "layer")
        .type("REGEX")
        .oneAtATime();
    options->text.declare(app);
    option(
        app, "--null", options->draws,
        "Random plans of each kind that the plan is tested against, on chunks of the text that\nno loss was measured "
        "on; 0: no test")
        .type("N")
        .showDefault()
        .range(0u, 1000u);
    option(app, "--null-chunks", options->proofChunks, "Chunks of that test at most").type("N").showDefault();
    option(app, "-o,--output", options->output, "Write the plan as a recipe, which quantize and eval take")
        .type("FILE")
        .writes();
    options->outputs.declare(app, {"json", "csv", "html", "pdf", "md"});
    return [options] {
        std::string line = "quantscope-cli plan " + options->path;
        for (const auto& spec : options->specs) line += " --spec " + spec;
        line += " --budget " + options->budget + " --by " + options->by;
        if (!options->layout.empty()) line += " --layout " + options->layout;
        for (const auto& one : options->tensors) line += " --tensor " + one;
        for (const auto& one : options->locks) line += " --lock " + one;
        for (const auto& one : options->groups) line += " --group " + one;
        if (!options->text.text.empty() || !options->text.tokens.empty())
            line += options->text.commandLine() +
                    fmt::format(" --null {} --null-chunks {}", options->draws, options->proofChunks);
        options->commandLine = line;
        return run(*options);
    };
}

} // namespace qs::cli
