// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/declare.h"
#include "app/cli/eval_changes.h"
#include "app/cli/interrupt.h"
#include "app/cli/latency_options.h"
#include "app/cli/output_files.h"
#include "app/cli/plan_output.h"
#include "app/cli/selection.h"
#include "app/cli/text_options.h"
#include "app/cli/units.h"
#include "core/base/lists.h"
#include "core/base/release.h"
#include "core/base/text.h"
#include "core/model/output/atomic_file.h"
#include "core/model/quantized_source.h"
#include "core/plan/report.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>

namespace qs::cli {
namespace {

struct PlanCommand {
    std::string path, by = plan::objectives().front().id, layout, output;
    std::vector<std::string> budgets, specs, recipes, tensors, locks, skips, skipLists, atLeast, atMost, groups;
    unsigned draws = plan::kUsualDraws, proofChunks = 8;
    LatencyOptions latency;
    TextOptions text;
    OutputFiles outputs;
    UnitOptions units;
    std::string commandLine;
};

Result<std::vector<QuantSpec>> specsIn(const PlanCommand& options) {
    if (options.specs.size() < 2 && options.recipes.empty())
        return fail("plan chooses between specs: give --spec twice or more, or a --recipe.");
    std::vector<QuantSpec> specs;
    for (const auto& text : options.specs) {
        auto spec = parseSpec(text);
        if (!spec) return tl::unexpected(spec.error());
        specs.push_back(std::move(*spec));
    }
    return specs;
}

/// The recipes of the command line. Their specs join those to choose from.
Result<std::vector<RecipeOfModel>> recipesIn(const PlanCommand& options, const Model& model,
                                             std::vector<QuantSpec>& specs) {
    auto out = recipesOfModel(options.recipes, model);
    if (!out) return out;
    for (const RecipeOfModel& recipe : *out)
        for (const QuantSpec& spec : recipe.specs) addOnce(specs, spec);
    if (specs.size() < 2)
        return fail(fmt::format("plan chooses between specs, and here there is only {}: give another --spec.",
                                specText(specs.front())));
    return out;
}

/// What was asked for; without --budget the size of the first recipe.
Result<plan::Budget> budgetOf(const PlanCommand& options, const plan::PlanRecord& record, std::uint64_t elements) {
    if (options.budgets.empty()) return plan::Budget(record.recipes.front().mixture.bytes);
    return plan::parseBudgets(options.budgets, elements);
}

/// REGEX=SPEC of an option called `name`.
Result<std::vector<TensorRule>> rulesIn(const std::vector<std::string>& texts, const char* name, bool canKeep) {
    auto recipe = recipeOfSpecs(texts);
    if (!recipe) return tl::unexpected(recipe.error());
    const bool keeps = std::ranges::any_of(recipe->rules, [](const auto& r) { return !r.spec; });
    if (recipe->rest || (keeps && !canKeep))
        return fail(fmt::format("{} takes REGEX=SPEC{}.", name, canKeep ? " or REGEX=keep" : ""));
    return std::move(recipe->rules);
}

/// Locks, skips and limits of the command line.
Result<void> addRules(const PlanCommand& options, plan::OptionRequest& wanted) {
    auto locks = rulesIn(options.locks, "--lock", true);
    if (!locks) return tl::unexpected(locks.error());
    wanted.locks = std::move(*locks);
    for (const auto& regex : options.skips) wanted.locks.push_back({regex, std::nullopt});
    for (const auto& [texts, name] : {std::pair(&options.atLeast, "--at-least"), {&options.atMost, "--at-most"}}) {
        const auto rules = rulesIn(*texts, name, false);
        if (!rules) return tl::unexpected(rules.error());
        for (const TensorRule& rule : *rules)
            wanted.limits.push_back({rule.regex, *rule.spec, texts == &options.atLeast});
    }
    return {};
}

/// Rank 2 and more, as a layout takes them.
std::vector<const TensorInfo*> weightsOf(const Model& model) {
    std::vector<const TensorInfo*> out;
    out.reserve(model.tensors.size()); // pages that are never written use no memory
    for (const TensorInfo& tensor : model.tensors)
        if (tensor.isWeight()) out.push_back(&tensor);
    return out;
}

/// Chunks for the losses: as many as were asked for; half of the text if nothing was, so that the rest can test the plan.
std::size_t lossChunksOf(const PlanCommand& options, const eval::EvaluationText& text) {
    if (options.text.chunks > 0) return options.text.chunks;
    const std::size_t all = text.tokens.size() / options.text.context;
    return options.draws > 0 ? std::max<std::size_t>(1, all / 2) : all;
}

Result<void> checkPlan(const PlanCommand& options, const plan::Objective& objective) {
    const bool hasText = !options.text.text.empty() || !options.text.tokens.empty();
    if (hasText || objective.needsText)
        if (auto fine = options.text.check("plan"); !fine) return fine;
    return options.outputs.check();
}

/// Some budget is a time. Errors: a text that is no time of its unit.
Result<bool> isByTime(const std::vector<std::string>& budgets) {
    bool out = false;
    for (const std::string& text : budgets) {
        const auto time = plan::parseTime(text);
        if (!time) return tl::unexpected(time.error());
        out |= time->has_value();
    }
    return out;
}

Result<void> runPlan(PlanCommand& options) {
    const plan::Objective& objective = *plan::findObjective(options.by);
    if (auto fine = checkPlan(options, objective); !fine) return fine;
    auto specs = specsIn(options);
    if (!specs) return tl::unexpected(specs.error());
    plan::OptionRequest wanted;
    if (auto fine = addRules(options, wanted); !fine) return fine;
    const auto model = openServed(options.path);
    if (!model) return tl::unexpected(model.error());
    const auto recipes = recipesIn(options, **model, *specs);
    if (!recipes) return tl::unexpected(recipes.error());
    const auto units = options.units.open(options.outputs.any());
    if (!units) return tl::unexpected(units.error());
    if (*units) (*units)->needOthers(); // the test against chance needs all losses

    wanted.model = *model, wanted.tensors = weightsOf(**model), wanted.specs = *specs;
    wanted.layout = options.layout, wanted.groups = options.groups;
    if (!options.tensors.empty()) {
        auto selected = select(**model, TensorChoice{options.tensors});
        if (!selected) return tl::unexpected(selected.error());
        std::erase_if(*selected, [](const TensorInfo* tensor) { return !isMatrix(*tensor); });
        wanted.tensors = std::move(*selected);
    }
    for (const std::string& path : options.skipLists) {
        const auto list = recipeOfModel(path, **model);
        if (!list) return tl::unexpected(list.error());
        const auto kept = keptBy(*list, wanted.tensors);
        wanted.locks.insert(wanted.locks.end(), kept.begin(), kept.end());
    }
    const auto byTime = isByTime(options.budgets);
    if (!byTime) return tl::unexpected(byTime.error());
    if (auto fine = options.latency.fill(wanted, *byTime, processJob()); !fine) return fine;
    plan::PlanRecord record;
    record.objective = &objective, record.context = options.text.context;
    if (!options.text.text.empty() || !options.text.tokens.empty()) {
        auto text = options.text.read(**model, processJob());
        if (!text) return tl::unexpected(text.error());
        record.text = std::move(*text);
    }
    const TensorInfo* example = wanted.tensors.empty() ? nullptr : wanted.tensors.front();
    const auto layout = plan::plannedLayout(**model, example, wanted.allSpecs(), wanted.layout);
    if (!layout) return tl::unexpected(layout.error());
    plan::LossRequest ask{*model, std::move(wanted.tensors), *specs, {}, !options.tensors.empty(), *layout};
    ask.text.text = record.text, ask.text.context = options.text.context;
    if (objective.needsText) record.lossChunks = lossChunksOf(options, record.text);
    ask.text.chunks = record.lossChunks;
    ask.text.cache = eval::defaultSensitivityCache(), ask.text.units = *units;
    auto losses = objective.measure(objective, ask, processJob());
    if (!losses) return tl::unexpected(losses.error());
    if (const auto pause = options.units.pause()) return *pause;
    wanted.tensors = std::move(ask.tensors); // a model may have a million
    auto sizes = plan::storedSizes(*model, example, wanted.allSpecs(), wanted.layout, processJob());
    if (!sizes) return tl::unexpected(sizes.error());
    const auto locks = wanted.locks;
    auto choices = plan::planOptions(std::move(wanted), *sizes, *losses);
    if (!choices) return tl::unexpected(choices.error());
    for (const RecipeOfModel& one : *recipes) {
        auto known = plan::knownRecipe(one.name, one.specOf, *sizes, *losses);
        if (!known) return tl::unexpected(known.error());
        record.recipes.push_back(std::move(*known));
    }
    // What a million tensors have is not needed any more.
    auto additivity = std::move(losses->additivity);
    *sizes = {}, *losses = {};
    losses->additivity = std::move(additivity);
    returnFreedMemory();
    const auto budget = budgetOf(options, record, choices->elements);
    if (!budget) return tl::unexpected(budget.error());
    std::optional<EndsAtOnce> choosing(std::in_place); // one step, however many units there are
    auto best = plan::bestMixture(*choices, *budget);
    choosing.reset();
    if (!best) return tl::unexpected(best.error());
    record.options = std::make_shared<const plan::Options>(std::move(*choices));
    record.losses = std::make_shared<const plan::Losses>(std::move(*losses)), record.plan = std::move(*best),
    record.budget = *budget;

    if (!record.text.path.empty() && options.draws > 0) {
        // --chunks are left out for any objective, so that plans by several are tested on the same text.
        const std::size_t left = std::max<std::size_t>(record.lossChunks, options.text.chunks);
        auto text = plan::heldOut(record.text, options.text.context, left, options.proofChunks);
        if (!text) return tl::unexpected(text.error());
        text->units = *units;
        auto proof = plan::provePlan({*model, record.options.get(), locks, record.plan, *budget, options.draws,
                                      std::move(*text), record.recipes},
                                     processJob());
        if (!proof) return tl::unexpected(proof.error());
        record.proof = std::move(*proof);
    }
    if (const auto end = options.units.end()) return *end;
    if (!options.latency.measured().empty())
        record.speed = std::make_shared<const plan::SpeedMap>(
            plan::speedMap(*record.options, options.latency.measured(), record.proof ? &*record.proof : nullptr));
    if (!options.output.empty()) {
        const std::string text = recipeText(plan::recipeOf(record.plan, *record.options, locks));
        if (auto written = writeWholeFile(options.output, text); !written) return written;
    }
    if (!options.outputs.standardOutput())
        if (auto done = printPlan(record, quantizedSource(**model).sentence()); !done) return done;
    if (!options.outputs.any()) return {};
    auto paths = pathsOf(model->get());
    paths.insert(paths.end(), {options.path, record.text.path, options.latency.latency, options.latency.plugin});
    for (const auto* more : {&options.recipes, &options.skipLists})
        paths.insert(paths.end(), more->begin(), more->end());
    return writePlan(options.outputs, **model, record, options.commandLine, paths);
}

} // namespace

Run declarePlan(CLI::App& app) {
    auto options = std::make_shared<PlanCommand>();
    addPath(app, options->path);
    option(app, "--spec", options->specs, "A spec to choose from; give two or more").type("SPEC").oneAtATime();
    const Option recipe =
        option(
            app, "--recipe", options->recipes,
            "A recipe of any program to start from: its specs join those to choose from, and it is a\nrow beside the "
            "plan; it locks nothing. May be given several times")
            .type("FILE")
            .reads()
            .oneAtATime();
    const Option budget =
        option(app, "--budget", options->budgets,
               "Size of the whole file: bits per weight, such as 4.5bpw, or bytes, such as 3.2GiB;\nor the time of the "
               "products of one pass, such as 12ms. Give a size and a time for both\n(default: the size of the first "
               "--recipe)")
            .type("SIZE|TIME")
            .oneAtATime();
    requireEither(app, budget, recipe, "--budget or --recipe");
    option(app, "--by", options->by,
           "What the plan makes least: the sum of this figure over all tensors. nmse needs no\ntext; the others are "
           "measured on the first --chunks of --text")
        .type("OBJECTIVE")
        .showDefault()
        .oneOf(idsOf(plan::objectives()));
    option(app, "--layout", options->layout,
           "Layout whose stored bytes count (default: the first that takes the most of the specs)")
        .type("ID");
    addTensorFilters(app, options->tensors);
    option(app, "--lock", options->locks, "REGEX=SPEC or REGEX=keep for tensors that the plan does not decide")
        .type("RULE")
        .oneAtATime();
    option(app, "--skip", options->skips, "Tensors that stay as they are: REGEX=keep as a lock")
        .type("REGEX")
        .oneAtATime();
    option(
        app, "--skip-list", options->skipLists,
        "What this recipe keeps stays as it is, such as llm_int8_skip_modules of a config.json;\nmay be given several "
        "times")
        .type("FILE")
        .reads()
        .oneAtATime();
    option(app, "--at-least", options->atLeast, "REGEX=SPEC: no spec with fewer stored bytes for these tensors")
        .type("RULE")
        .oneAtATime();
    option(app, "--at-most", options->atMost, "REGEX=SPEC: no spec with more stored bytes for these tensors")
        .type("RULE")
        .oneAtATime();
    option(
        app, "--group", options->groups,
        "Tensors whose names are equal without what REGEX matches get one spec:\n\"(q|k|v)_proj\" joins three in each "
        "layer")
        .type("REGEX")
        .oneAtATime();
    options->latency.declare(app);
    options->text.declare(app);
    option(
        app, "--null", options->draws,
        "Random plans of each kind that the plan is tested against, on chunks of the text that\nno loss was measured "
        "on; 0: no test. More than 19 go on from those of a run with the\nsame --records")
        .type("N")
        .showDefault()
        .range(0u, 1000u);
    option(app, "--null-chunks", options->proofChunks, "Chunks of that test at most").type("N").showDefault();
    option(app, "-o,--output", options->output, "Write the plan as a recipe, which quantize and eval take")
        .type("FILE")
        .writes({".json"});
    options->units.declare(app);
    options->outputs.declare(app, {"json", "csv", "html", "pdf", "md"});
    return [options] {
        std::string line = "quantscope-cli plan " + options->path;
        for (const auto& spec : options->specs) line += " --spec " + spec;
        for (const auto& path : options->recipes) line += " --recipe " + path;
        for (const auto& one : options->budgets) line += " --budget " + one;
        line += " --by " + options->by;
        if (!options->layout.empty()) line += " --layout " + options->layout;
        for (const auto& one : options->tensors) line += " --tensor " + one;
        for (const auto& one : options->locks) line += " --lock " + one;
        for (const auto& one : options->skips) line += " --skip " + one;
        for (const auto& one : options->skipLists) line += " --skip-list " + one;
        for (const auto& one : options->atLeast) line += " --at-least " + one;
        for (const auto& one : options->atMost) line += " --at-most " + one;
        for (const auto& one : options->groups) line += " --group " + one;
        line += options->latency.commandLine();
        if (!options->text.text.empty() || !options->text.tokens.empty())
            line += options->text.commandLine() +
                    fmt::format(" --null {} --null-chunks {}", options->draws, options->proofChunks);
        options->commandLine = line;
        return runPlan(*options);
    };
}

} // namespace qs::cli
