// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/recipes/convert.h"

#include "core/base/tensor_name.h"
#include "core/base/text.h"
#include "core/model/file_set.h"
#include "core/recipes/matcher.h"
#include "core/recipes/recipe_specs.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace qs {
namespace {

/// The name of the tensor that a rule of one name is for; none: not to be known without a model.
std::optional<std::string> tensorOf(NameSpace space, const std::string& name) {
    switch (space) {
    case NameSpace::Tensor:
    case NameSpace::Gguf: return name;
    case NameSpace::Module: return name + ".weight";
    case NameSpace::Quantizer: {
        constexpr std::string_view kEnd = ".weight_quantizer";
        if (!name.ends_with(kEnd)) return {};
        return name.substr(0, name.size() - kEnd.size()) + ".weight";
    }
    case NameSpace::Flax: break;
    }
    return {};
}

/// A model of the matrices that a recipe names one by one. Their shapes are not known: all have [0, 0].
Result<std::shared_ptr<const Model>> namedMatrices(const ForeignRecipe& recipe) {
    const auto needsModel = [](const std::string& why) { return fail(why + ": name the model with --model"); };
    if (recipe.rest || !recipe.restProblem.empty())
        return needsModel(
            fmt::format("the recipe gives every other tensor {}", askedText(recipe.rest, recipe.restProblem)));
    auto model = std::make_shared<Model>();
    model->path = model->title = "recipe";
    std::set<std::string> seen;
    for (const RecipeRule& rule : recipe.rules) {
        const auto exact = exactName(rule);
        const auto tensor = exact ? tensorOf(recipe.format->names, *exact) : std::nullopt;
        if (!tensor)
            return needsModel(
                fmt::format("the rule '{}' is a pattern, and which tensors it is for depends on the model",
                            escapeForPeople(rule.pattern, 80)));
        if (!seen.insert(*tensor).second) continue;
        TensorInfo info;
        info.name = *tensor, info.dtype = DType::BF16, info.shape = std::vector<std::int64_t>{0, 0};
        model->tensors.push_back(std::move(info));
    }
    if (model->tensors.empty()) return needsModel("the recipe names no tensor");
    sortByName(*model);
    assignRoles(*model);
    return std::shared_ptr<const Model>(std::move(model));
}

Result<Assignment> assignmentOf(const ResolvedRecipe& resolved, const RecipeFormat& to, const Model& model) {
    Assignment out;
    out.model = &model;
    for (const ResolvedTensor& row : resolved.tensors) {
        const std::string shown = quotedName(row.tensor->name);
        if (!row.problem.empty())
            return fail(fmt::format("no spec says what the recipe asks for {} ({})", shown, row.problem));
        const auto names = namesIn(to.names, row.tensor->name);
        const auto takes = to.takes && !names.empty() ? to.takes(*row.tensor, names.front()) : Result<void>();
        if (row.spec && names.empty())
            return fail(fmt::format("{} has no name among {}", shown, nameSpaceText(to.names)));
        if (row.spec && !takes)
            return fail(fmt::format("{} cannot have a spec in {}: {}", shown, to.title, takes.error().message));
        if (!names.empty() && takes) out.tensors.push_back({row.tensor->name, names.front(), row.tensor, row.spec});
    }
    if (std::ranges::none_of(out.tensors, [](const Assigned& one) { return one.spec.has_value(); }))
        return fail("the recipe gives no matrix of the model a spec");
    return out;
}

/// Reads what was written; counts tensors whose spec has another dialect now.
Result<void> checkWritten(WrittenRecipe& written, const Assignment& assignment, const RecipeFormat& to,
                          const Model& model) {
    const auto failed = [](const std::string& why) { return fail("the recipe as written does not read back: " + why); };
    const auto source = recipeSource(written.text, "recipe");
    if (!source) return failed(source.error().message);
    if (!to.recognises(*source)) return failed("its format is not recognised");
    auto again = to.read(*source);
    if (!again) return failed(again.error().message);
    again->format = &to;
    const auto resolved = resolveRecipe(*again, model);
    if (!resolved) return failed(resolved.error().message);
    std::map<std::string, const ResolvedTensor*> rows;
    for (const ResolvedTensor& row : resolved->tensors) rows[row.tensor->name] = &row;
    std::map<std::string, std::size_t> changed;
    for (const Assigned& one : assignment.tensors) {
        const ResolvedTensor& row = *rows.at(one.tensor);
        const bool same = row.problem.empty() && row.spec.has_value() == one.spec.has_value() &&
                          (!one.spec || saySame(*one.spec, *row.spec));
        if (!same)
            return advise(
                fmt::format("{} cannot say {} for {}", to.title, askedText(one.spec, {}), quotedName(one.tensor)),
                {askedText(row.spec, row.problem)});
        if (one.spec && one.spec->effectiveDialect() != row.spec->effectiveDialect())
            ++changed[fmt::format("{} as {}", specText(*one.spec), specText(*row.spec))];
    }
    for (const auto& [what, count] : changed)
        written.remarks.push_back(
            fmt::format("Its program computes {} ({} tensor{}).", what, count, count == 1 ? "" : "s"));
    return {};
}

} // namespace

Result<WrittenRecipe> convertRecipe(const ForeignRecipe& recipe, const RecipeFormat& to, const Model* model) {
    std::shared_ptr<const Model> named;
    if (!model) {
        auto made = namedMatrices(recipe);
        if (!made) return tl::unexpected(made.error());
        named = std::move(*made);
        model = named.get();
    }
    const auto resolved = resolveRecipe(recipe, *model);
    if (!resolved) return tl::unexpected(resolved.error());
    auto assignment = assignmentOf(*resolved, to, *model);
    if (!assignment) return tl::unexpected(assignment.error());
    assignment->knowsShapes = named == nullptr;
    auto written = to.write(*assignment);
    if (!written) return written;
    if (auto same = checkWritten(*written, *assignment, to, *model); !same) return tl::unexpected(same.error());
    return written;
}

} // namespace qs
