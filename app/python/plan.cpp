// SPDX-License-Identifier: GPL-3.0-or-later
// plan: a spec for every tensor under a budget of bytes.
#include "app/python/commands.h"
#include "core/base/lists.h"
#include "core/base/text.h"
#include "core/layouts/select.h"
#include "core/model/output/atomic_file.h"
#include "core/plan/report.h"
#include "core/recipes/recipe_of_model.h"

#include <algorithm>
#include <fmt/format.h>
#include <pybind11/stl.h>

namespace qs::python {
namespace {

/// What plan() was asked for.
struct PlanArguments {
    Texts specs, budgets, recipes, filters, locks, skips, atLeast, atMost, groups;
    std::string by, layout, text, tokens;
    std::size_t context = 512, chunks = 0, draws = 0, proofChunks = 8;
    bool hasText() const { return !text.empty() || !tokens.empty(); }
};

const plan::Objective& objectiveNamed(const std::string& id) {
    if (id.empty()) return plan::objectives().front();
    if (const auto* found = plan::findObjective(id)) return *found;
    std::string known;
    for (const auto& row : plan::objectives()) known += (known.empty() ? "" : ", ") + std::string(row.id);
    throw Fault(Error{fmt::format("by is one of {}, not '{}'.", known, escapeForPeople(id, 40)), {}});
}

/// REGEX=SPEC texts of an argument called `name`.
std::vector<TensorRule> rulesIn(const Texts& texts, const char* name, bool canKeep) {
    Recipe recipe = take(recipeOfSpecs(texts));
    const bool keeps = std::ranges::any_of(recipe.rules, [](const auto& r) { return !r.spec; });
    if (recipe.rest || (keeps && !canKeep))
        throw Fault(Error{fmt::format("{} takes REGEX=SPEC{}.", name, canKeep ? " or REGEX=keep" : ""), {}});
    return std::move(recipe.rules);
}

plan::OptionRequest requestOf(const PlanArguments& asked, const std::shared_ptr<const Model>& model,
                              const std::vector<QuantSpec>& specs) {
    plan::OptionRequest wanted;
    wanted.model = model, wanted.specs = specs, wanted.layout = asked.layout, wanted.groups = asked.groups;
    wanted.locks = rulesIn(asked.locks, "lock", true);
    for (const auto& regex : asked.skips) wanted.locks.push_back({regex, std::nullopt});
    for (const TensorRule& rule : rulesIn(asked.atLeast, "at_least", false))
        wanted.limits.push_back({rule.regex, *rule.spec, true});
    for (const TensorRule& rule : rulesIn(asked.atMost, "at_most", false))
        wanted.limits.push_back({rule.regex, *rule.spec, false});
    wanted.tensors = take(selectAny(*model, TensorChoice{asked.filters}));
    std::erase_if(wanted.tensors, [](const TensorInfo* tensor) { return !isMatrix(*tensor); });
    return wanted;
}

/// As many chunks as were asked for; else half of the text, so that the rest can test the plan.
std::size_t lossChunksOf(const PlanArguments& asked, const eval::EvaluationText& text) {
    if (asked.chunks > 0) return asked.chunks;
    const std::size_t all = text.tokens.size() / asked.context;
    return asked.draws > 0 ? std::max<std::size_t>(1, all / 2) : all;
}

plan::PlanRecord recordOf(const PlanArguments& asked, const std::shared_ptr<const Model>& model, std::string& recipe,
                          const Job& job) {
    const plan::Objective& objective = objectiveNamed(asked.by);
    if (objective.needsText && !asked.hasText())
        throw Fault(Error{"plan needs one text: use text=FILE, or tokens=FILE for one that is token ids already.", {}});
    if (asked.context < 2) throw Fault(Error{"ctx must be at least 2.", {}});
    auto specs = specsOf(asked.specs);
    const std::vector<RecipeOfModel> recipes = take(recipesOfModel(asked.recipes, *model));
    for (const RecipeOfModel& recipe : recipes)
        for (const QuantSpec& spec : recipe.specs) addOnce(specs, spec);
    if (specs.size() < 2) throw Fault(Error{"plan chooses between specs: give two or more, or a recipe.", {}});
    plan::OptionRequest wanted = requestOf(asked, model, specs);

    plan::PlanRecord record;
    record.objective = &objective, record.context = asked.context;
    if (asked.hasText())
        record.text = take(asked.tokens.empty() ? eval::textFromFile(*model, asked.text, job)
                                                : eval::textFromTokens(asked.tokens, job));
    const TensorInfo* example = wanted.tensors.empty() ? nullptr : wanted.tensors.front();
    plan::LossRequest ask{
        model, wanted.tensors,         specs,
        {},    !asked.filters.empty(), take(plan::plannedLayout(*model, example, wanted.allSpecs(), wanted.layout))};
    ask.text.text = record.text, ask.text.context = asked.context, ask.text.cache = eval::defaultSensitivityCache();
    if (objective.needsText) record.lossChunks = lossChunksOf(asked, record.text);
    ask.text.chunks = record.lossChunks;
    auto losses = take(objective.measure(objective, ask, job));
    auto sizes = take(plan::storedSizes(model, example, wanted.allSpecs(), wanted.layout, job));
    const auto locks = wanted.locks;
    auto choices = take(plan::planOptions(std::move(wanted), sizes, losses));
    for (const RecipeOfModel& one : recipes)
        record.recipes.push_back(take(plan::knownRecipe(one.name, one.specOf, sizes, losses)));
    if (asked.budgets.empty() && recipes.empty())
        throw Fault(Error{"plan needs a budget, for instance \"4.5bpw\" or \"3.2GiB\", or a recipe.", {}});
    record.budget = asked.budgets.empty() ? plan::Budget(record.recipes.front().mixture.bytes)
                                          : take(plan::parseBudgets(asked.budgets, choices.elements));
    if (record.budget.ns)
        throw Fault(Error{"A budget of time needs measured times, which only the command line takes (--latency).", {}});
    record.plan = take(plan::bestMixture(choices, record.budget));
    record.options = std::make_shared<const plan::Options>(std::move(choices));
    record.losses = std::make_shared<const plan::Losses>(std::move(losses));
    if (asked.hasText() && asked.draws > 0) {
        const std::size_t left = std::max(record.lossChunks, asked.chunks);
        record.proof = take(
            plan::provePlan({model, record.options.get(), locks, record.plan, record.budget, asked.draws,
                             take(plan::heldOut(record.text, asked.context, left, asked.proofChunks)), record.recipes},
                            job));
    }
    recipe = recipeText(plan::recipeOf(record.plan, *record.options, locks));
    return record;
}

/// The rows, and the recipe as the text of a file.
std::pair<Rows, std::string> planned(const OpenModel& model, const PlanArguments& asked, const std::string& call,
                                     const py::object& progress) {
    return run(progress, [&](const Job& job) {
        const auto served = model.served(job);
        std::string recipe;
        const auto record = std::make_shared<const plan::PlanRecord>(recordOf(asked, served, recipe, job));
        Rows out = Rows::of(plan::mixtureColumns(), plan::mixtureRows(record->plan, *record->options));
        out.summary = fmt::format("By {}: {}.", record->objective->title, plan::planSummary(*record));
        for (const auto& remark : record->options->remarks) out.summary += "\n" + remark;
        if (!record->recipes.empty())
            out.add("recipes", plan::besideColumns(),
                    plan::besideRows(record->plan, record->recipes, *record->options));
        if (record->proof) {
            out.add("baselines", plan::contenderColumns(), record->proof->others(false));
            out.add("nulls", plan::contenderColumns(), record->proof->others(true));
            for (const auto& verdict : record->proof->verdicts) out.summary += "\n" + verdict;
        }
        out.report = [served, record, call](const Job& at) { return plan::planReport(*served, *record, call, at); };
        addInputs(*served, out.inputs);
        if (asked.hasText()) out.inputs.push_back(record->text.path);
        out.inputs.insert(out.inputs.end(), asked.recipes.begin(), asked.recipes.end());
        return std::pair(std::move(out), std::move(recipe));
    });
}

} // namespace

void bindPlan(py::module_& module) {
    py::class_<PlanArguments>(module, "PlanArguments")
        .def(py::init<>())
        .def_readwrite("specs", &PlanArguments::specs)
        .def_readwrite("budgets", &PlanArguments::budgets)
        .def_readwrite("recipes", &PlanArguments::recipes)
        .def_readwrite("tensors", &PlanArguments::filters)
        .def_readwrite("lock", &PlanArguments::locks)
        .def_readwrite("skip", &PlanArguments::skips)
        .def_readwrite("at_least", &PlanArguments::atLeast)
        .def_readwrite("at_most", &PlanArguments::atMost)
        .def_readwrite("groups", &PlanArguments::groups)
        .def_readwrite("by", &PlanArguments::by)
        .def_readwrite("layout", &PlanArguments::layout)
        .def_readwrite("text", &PlanArguments::text)
        .def_readwrite("tokens", &PlanArguments::tokens)
        .def_readwrite("ctx", &PlanArguments::context)
        .def_readwrite("chunks", &PlanArguments::chunks)
        .def_readwrite("null", &PlanArguments::draws)
        .def_readwrite("null_chunks", &PlanArguments::proofChunks);
    module.def("plan", &planned);
}

} // namespace qs::python
