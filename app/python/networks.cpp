// SPDX-License-Identifier: GPL-3.0-or-later
// eval and sensitivity: what quantized weights do to the output of a network.
#include "app/python/calibration.h"
#include "core/base/byte_count.h"
#include "core/base/tensor_name.h"
#include "core/base/text.h"
#include "core/bench/backend/source_named.h"
#include "core/eval/network/architecture.h"
#include "core/eval/network/weight_change.h"
#include "core/eval/run/embeddings.h"
#include "core/eval/run/report.h"
#include "core/eval/run/self_noise.h"
#include "core/eval/sensitivity/report.h"
#include "core/eval/trust/trust_report.h"
#include "core/layouts/select.h"
#include "core/recipes/recipe_of_model.h"
#include "core/serve/serve.h"

#include <algorithm>
#include <fmt/format.h>
#include <pybind11/stl.h>

namespace qs::python {
namespace {

/// The text of an evaluation, and what is taken of it.
struct TextArguments {
    std::string text, tokens;
    std::size_t context = 512, chunks = 0;
    std::string memory;

    eval::EvaluationText read(const char* who, const Model& model, const Job& job) const {
        if (text.empty() == tokens.empty())
            throw Fault(Error{fmt::format("{} needs one text: use text=FILE, or tokens=FILE for one that is token ids "
                                          "already.",
                                          who),
                              {}});
        if (context < 2) throw Fault(Error{"ctx must be at least 2.", {}});
        return take(tokens.empty() ? eval::textFromFile(model, text, job) : eval::textFromTokens(tokens, job));
    }
    /// `into` stays as it is where nothing was given.
    void readMemory(std::uint64_t& into) const {
        if (memory.empty()) return;
        into = take(parseByteCount(memory));
        if (into == 0) throw Fault(Error{"memory must be above 0.", {}});
    }
};

/// A backend that serves every spec and recipe once more.
struct ServingArguments {
    std::string backend, plugin, variant, act;

    /// Null: none was asked for.
    std::shared_ptr<eval::LinearServer> open(const Job& job) const {
        if (backend.empty() && plugin.empty()) {
            if (variant.empty() && act.empty()) return nullptr;
            throw Fault(Error{"variant and act are of a backend: name it with backend=ID.", {}});
        }
        const Texts plugins = plugin.empty() ? Texts() : Texts{plugin};
        serve::ServingChoice choice;
        choice.source = take(sourceNamed(backend, backendSources(plugins)));
        choice.variant = variant, choice.act = act;
        return take(serve::openServer(choice, job));
    }
};

std::vector<eval::WeightChange> changesOf(const Model& model, const Texts& specs, const Texts& recipes,
                                          const std::vector<std::shared_ptr<OpenModel>>& others,
                                          const ServingArguments& serving, const Job& job) {
    std::vector<eval::WeightChange> changes;
    const auto server = serving.open(job);
    const auto add = [&](eval::WeightChange change) {
        changes.push_back(change);
        if (server) changes.push_back(serve::servedBy(server, std::move(change)));
    };
    const auto scope = take(eval::scopeOf(model, {}, {}));
    for (QuantSpec& spec : specsOf(specs)) {
        auto own = take(eval::scopeOfSpec(model, scope, spec));
        add(eval::quantizedAs(std::move(spec), std::move(own)));
    }
    for (const RecipeOfModel& recipe : take(recipesOfModel(recipes, model))) {
        QuantizeRequest request;
        recipe.recipe->applyTo(request);
        add(take(eval::quantizedAsAsked(model, recipe.name, recipeInWords(*recipe.recipe), request, scope)));
    }
    if (server && changes.empty()) throw Fault(Error{"A backend needs something to serve: a spec or a recipe.", {}});
    Texts paths;
    for (const auto& other : others) paths.push_back(other->opened()->path);
    const Texts names = namesOfPaths(paths);
    for (std::size_t i = 0; i < others.size(); ++i) {
        changes.push_back(eval::replacedBy(others[i]->served(job), names[i]));
        changes.back().size = eval::storedSizeOf(*others[i]->opened(), *others[i]->served(job));
    }
    if (changes.empty())
        throw Fault(
            Error{"eval needs something to compare with the reference: a spec, recipe=FILE or against=MODEL.", {}});
    take(eval::measureSizes(model, changes, job));
    return changes;
}

/// An error where nothing could be evaluated.
void checkOutcome(const std::vector<eval::WeightChange>& changes, const Texts& reasons, const Model& model) {
    if (std::ranges::any_of(reasons, [](const auto& reason) { return reason.empty(); })) return;
    throw Fault(
        Error{fmt::format("Nothing could be evaluated; the first, {}: {}", changes.front().name, reasons.front()),
              model.path});
}

Rows embeddingRowsOf(const std::shared_ptr<const Model>& model, const eval::EvaluationPlan& plan,
                     const std::string& call, const Job& job) {
    const auto result =
        std::make_shared<const eval::EmbeddingEvaluation>(take(eval::evaluateEmbeddings(model, plan, job)));
    checkOutcome(plan.changes, result->reasons, *model);
    Rows out = Rows::of(eval::embeddingColumns(), eval::embeddingRows(plan, *result));
    out.summary = eval::referenceRemark(result->matrices, result->quantizedMatrices);
    out.report = [model, plan, result, call](const Job& at) {
        return eval::embeddingReport(*model, plan, *result, call, at);
    };
    return out;
}

/// Trust in proxies and what was imported, as tables.
void addTrust(const std::vector<eval::TrustRow>& trust, const std::vector<eval::ImportedColumn>& imported, Rows& out) {
    if (!trust.empty()) out.add("trust", eval::trustColumns(), trust);
    if (!imported.empty()) out.add("imported", eval::importedColumns(), imported);
}

/// Figures of the weights under each spec. Nothing for too few specs.
std::vector<eval::SpecProxies> proxiesOf(const std::shared_ptr<const Model>& model, const Texts& specs,
                                         const Job& job) {
    if (specs.size() < kLeastItems) return {};
    return take(eval::specProxies(model, specsOf(specs), nullptr, job));
}

Rows evaluationRowsOf(const std::shared_ptr<const Model>& model, const eval::EvaluationPlan& plan, bool withFloor,
                      const Texts& specs, const std::vector<eval::ImportedColumn>& imported, const std::string& call,
                      const Job& job) {
    eval::Evaluation found = take(eval::evaluate(model, plan, job));
    if (withFloor) found.floor = take(eval::selfNoise(model, plan, job));
    checkOutcome(plan.changes, found.reasons, *model);
    const auto result = std::make_shared<const eval::Evaluation>(std::move(found));
    const auto rows = eval::evaluationRows(plan, *result);
    Rows out = Rows::of(eval::evaluationTable({}, rows));
    out.summary =
        fmt::format("{} tokens in {} chunks. {}", result->tokens, result->chunks, eval::activationsRemark(rows));
    if (const auto remark = eval::referenceRemark(*result); !remark.empty()) out.summary += "\n" + remark;
    out.add("pairs", eval::pairedColumns(), eval::pairedOf(plan, *result));
    const auto trust = eval::specTrustRows(proxiesOf(model, specs, job), rows, imported);
    addTrust(trust, imported, out);
    out.report = [model, plan, result, trust, imported, call](const Job& at) -> Result<Report> {
        auto report = eval::evaluationReport(*model, plan, *result, call, at);
        if (report) eval::addTrust(trust, imported, *report);
        return report;
    };
    return out;
}

Rows evaluate(const OpenModel& model, const Texts& specs, const TextArguments& text, const Texts& recipes,
              const std::vector<std::shared_ptr<OpenModel>>& others, const std::string& scored, bool withFloor,
              const ServingArguments& serving, const Imports& imports, const std::string& call,
              const py::object& progress) {
    return run(progress, [&](const Job& job) {
        const auto served = model.served(job);
        eval::EvaluationPlan plan;
        plan.changes = changesOf(*served, specs, recipes, others, serving, job);
        plan.context = text.context, plan.chunks = text.chunks;
        if (scored != "second-half" && scored != "all")
            throw Fault(Error{fmt::format("scored is second-half or all, not '{}'.", escapeForPeople(scored, 40)), {}});
        plan.scored = scored == "all" ? eval::Scored::All : eval::Scored::SecondHalf;
        text.readMemory(plan.memory);
        plan.text = text.read("eval", *served, job);
        const auto imported = importedFrom(imports, served);
        const auto network = eval::readNetwork(*served);
        const bool isEncoder = network && network->isEncoder;
        if (isEncoder && !imported.empty())
            throw Fault(Error{"imports take figures of predicted tokens, and an encoder predicts none.", served->path});
        Rows out = isEncoder ? embeddingRowsOf(served, plan, call, job)
                             : evaluationRowsOf(served, plan, withFloor, specs, imported, call, job);
        addInputs(*served, out.inputs);
        addFiles(imports, out.inputs);
        out.inputs.push_back(plan.text.path);
        out.inputs.insert(out.inputs.end(), recipes.begin(), recipes.end());
        return out;
    });
}

template<class Row> const Row* rowNamed(std::span<const Row> rows, const char* what, const std::string& id) {
    std::string known;
    for (const Row& row : rows) {
        if (id == row.id) return &row;
        known += (known.empty() ? "" : ", ") + std::string(row.id);
    }
    throw Fault(Error{fmt::format("{} is one of {}, not '{}'.", what, known, escapeForPeople(id, 40)), {}});
}

Rows sensitivity(const OpenModel& model, const Texts& specs, const TextArguments& text, const Texts& hows,
                 const std::string& by, const Texts& filters, double until, const std::string& cache,
                 const Imports& imports, const std::string& call, const py::object& progress) {
    return run(progress, [&](const Job& job) {
        const auto served = model.served(job);
        eval::SensitivityPlan plan;
        plan.context = text.context, plan.chunks = text.chunks, plan.specs = specsOf(specs), plan.until = until;
        plan.by = rowNamed(eval::groupings(), "by", by);
        plan.cache = cache;
        text.readMemory(plan.memory);
        plan.text = text.read("sensitivity", *served, job);
        plan.scope = take(eval::scopeOf(*served, filters, {}));
        const auto imported = importedFrom(imports, served);
        eval::Sensitivity all;
        for (const auto& id : hows) {
            plan.how = rowNamed(eval::sensitivityHows(), "how", id);
            all.add(take(eval::sensitivity(served, plan, job)));
        }
        const auto result = std::make_shared<const eval::Sensitivity>(std::move(all));
        if (std::ranges::all_of(result->rows, [](const auto& row) { return !row.reason.empty(); }) &&
            !result->rows.empty()) {
            const auto& first = result->rows.front();
            throw Fault(
                Error{fmt::format("Nothing could be measured; the first, {} under {}: {}", quotedName(first.unit),
                                  first.spec.empty() ? "noise" : first.spec, first.reason),
                      served->path});
        }
        Rows out = Rows::of(eval::sensitivityColumns(), eval::ranked(result->rows));
        out.summary = eval::sensitivityNote(result->hows);
        out.add("additivity", eval::additivityColumns(), result->additivity);
        addTrust(eval::sensitivityTrust(*result, imported), imported, out);
        out.report = [served, plan, result, imported, call](const Job& at) {
            return eval::sensitivityReport(*served, plan, *result, imported, call, at);
        };
        addInputs(*served, out.inputs);
        addFiles(imports, out.inputs);
        out.inputs.push_back(plan.text.path);
        return out;
    });
}

} // namespace

void bindNetworks(py::module_& module) {
    py::class_<TextArguments>(module, "TextArguments")
        .def(py::init(
            [](std::string text, std::string tokens, std::size_t context, std::size_t chunks, std::string memory) {
                return TextArguments{std::move(text), std::move(tokens), context, chunks, std::move(memory)};
            }));
    py::class_<ServingArguments>(module, "ServingArguments")
        .def(py::init([](std::string backend, std::string plugin, std::string variant, std::string act) {
            return ServingArguments{std::move(backend), std::move(plugin), std::move(variant), std::move(act)};
        }));
    module.def("eval", &evaluate);
    module.def("sensitivity", &sensitivity);
    module.def("default_cache", &eval::defaultSensitivityCache);
    module.attr("USUAL_CHUNKS") = eval::kUsualChunks;
    module.attr("FIRST_HOW") = eval::sensitivityHows().front().id;
    module.attr("FIRST_GROUPING") = eval::groupings().front().id;
}

} // namespace qs::python
