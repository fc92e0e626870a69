// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/recipes/resolve.h"

#include "core/base/text.h"
#include "core/layouts/linear_weights.h"
#include "core/recipes/matcher.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <unordered_map>

namespace qs {
namespace {

constexpr std::uint64_t kMostMatches = 40'000'000; ///< of patterns with names
constexpr std::size_t kMostNamedRules = 5;         ///< in a remark

std::string quotedRule(const RecipeRule& rule) { return "'" + escapeForPeople(rule.pattern, 80) + "'"; }

/// Rules by the way in which they are looked up.
class Rules {
public:
    static Result<Rules> of(const ForeignRecipe& recipe) {
        Rules out;
        for (std::size_t i = 0; i < recipe.rules.size(); ++i) {
            if (const auto exact = exactName(recipe.rules[i])) {
                out.exact_[*exact].push_back(i);
                continue;
            }
            auto matcher = RuleMatcher::of(recipe.rules[i]);
            if (!matcher) return tl::unexpected(matcher.error());
            out.patterns_.emplace_back(i, std::move(*matcher));
        }
        return out;
    }
    std::size_t patterns() const { return patterns_.size(); }
    /// In the order of the file. Error: a pattern takes too many steps.
    Result<std::vector<std::size_t>> matching(const ForeignRecipe& recipe, const std::vector<std::string>& names,
                                              bool isLinear) const {
        std::vector<std::size_t> out;
        for (const std::string& name : names)
            if (const auto found = exact_.find(name); found != exact_.end())
                out.insert(out.end(), found->second.begin(), found->second.end());
        for (const auto& [index, matcher] : patterns_) {
            const auto answer = matcher.matches(names, isLinear);
            if (answer == RuleMatcher::Answer::TooManySteps)
                return fail(fmt::format("the rule {} takes too many steps for the name {}",
                                        quotedRule(recipe.rules[index]), escapeForPeople(names.front(), 80)));
            if (answer == RuleMatcher::Answer::Yes) out.push_back(index);
        }
        std::ranges::sort(out);
        out.erase(std::unique(out.begin(), out.end()), out.end());
        return out;
    }

private:
    std::unordered_map<std::string, std::vector<std::size_t>> exact_;
    std::vector<std::pair<std::size_t, RuleMatcher>> patterns_;
};

std::optional<std::size_t> winner(const ForeignRecipe& recipe, const std::vector<std::size_t>& matching) {
    std::optional<std::size_t> best;
    for (const std::size_t i : matching) {
        const bool better = !best || recipe.rules[i].rank < recipe.rules[*best].rank ||
                            (recipe.rules[i].rank == recipe.rules[*best].rank && recipe.format->wins == Wins::Last);
        if (better) best = i;
    }
    return best;
}

/// Blocks whose number in a row is given, of which Python's round() makes their size.
void setTiles(ResolvedTensor& row, std::uint32_t tiles) {
    if (!row.spec || tiles == 0) return;
    const auto size = std::uint32_t(std::max(1.0, std::nearbyint(double(row.tensor->lastAxis()) / double(tiles))));
    row.spec->block = size, row.spec->scale = ScaleSpelling::Default, row.spec->axes.reset();
    if (!validate(*row.spec)) {
        row.problem = fmt::format("{} tiles of {} columns", tiles, row.tensor->lastAxis());
        row.spec.reset();
        return;
    }
    row.note = fmt::format("{} tiles of {} columns", tiles, row.tensor->lastAxis());
}

void decide(ResolvedTensor& row, const ForeignRecipe& recipe, std::vector<std::size_t> matching) {
    row.rule = winner(recipe, matching);
    if (!row.rule) {
        row.spec = recipe.rest, row.problem = recipe.restProblem;
        row.matchedBy = recipe.restText.empty() ? "no rule" : recipe.restText;
    } else {
        const RecipeRule& rule = recipe.rules[*row.rule];
        std::erase(matching, *row.rule);
        row.others = std::move(matching);
        row.spec = rule.spec, row.problem = rule.problem, row.matchedBy = rule.pattern;
        setTiles(row, rule.tiles);
    }
    if (row.spec && recipe.format->forShape) row.spec = recipe.format->forShape(*row.spec, *row.tensor, row.note);
}

std::string namedRules(const std::vector<ResolvedRule>& rules, const std::vector<std::size_t>& which) {
    std::string text;
    for (std::size_t i = 0; i < which.size() && i < kMostNamedRules; ++i)
        text += (i ? ", " : "") + quotedRule(rules[which[i]].rule);
    if (which.size() > kMostNamedRules) text += fmt::format(" and {} more", which.size() - kMostNamedRules);
    return text;
}

void addRemarks(ResolvedRecipe& out) {
    std::vector<std::size_t> idle, beaten, partly;
    for (std::size_t i = 0; i < out.rules.size(); ++i) {
        const ResolvedRule& rule = out.rules[i];
        if (rule.matches == 0)
            idle.push_back(i);
        else if (rule.decides == 0)
            beaten.push_back(i);
        else if (rule.decides < rule.matches)
            partly.push_back(i);
    }
    const auto say = [&](const char* one, const char* several, const std::vector<std::size_t>& which) {
        if (!which.empty())
            out.remarks.push_back(
                fmt::format(fmt::runtime(which.size() == 1 ? one : several), namedRules(out.rules, which)));
    };
    say("The rule {} matches no matrix.", "The rules {} match no matrix.", idle);
    say("The rule {} decides nothing: other rules win wherever it matches.",
        "The rules {} decide nothing: other rules win wherever they match.", beaten);
    say("The rule {} overlaps with others, which win for some of its tensors.",
        "The rules {} overlap with others, which win for some of their tensors.", partly);
}

} // namespace

ResolvedRecipe rulesAlone(const ForeignRecipe& recipe) {
    ResolvedRecipe out;
    for (const RecipeRule& rule : recipe.rules) out.rules.push_back({rule, out.rules.size() + 1});
    out.remarks = recipe.remarks;
    return out;
}

Result<ResolvedRecipe> resolveRecipe(const ForeignRecipe& recipe, const Model& model) {
    const auto rules = Rules::of(recipe);
    if (!rules) return tl::unexpected(rules.error());
    ResolvedRecipe out = rulesAlone(recipe);
    if (rules->patterns() * model.tensors.size() > kMostMatches)
        return fail(fmt::format("{} patterns for {} tensors are too many", rules->patterns(), model.tensors.size()));
    std::vector<bool> chooses(recipe.rules.size()); // matrices that a spec takes by itself
    for (const TensorInfo& tensor : model.tensors) {
        if (!isMatrix(tensor)) continue;
        ResolvedTensor row;
        row.tensor = &tensor;
        const auto names = namesIn(recipe.format->names, tensor.name);
        if (!names.empty()) row.name = names.front();
        const auto takes = recipe.format->takes ? recipe.format->takes(tensor, row.name) : Result<void>();
        if (names.empty()) {
            row.matchedBy = fmt::format("no rule: it has no name among {}", nameSpaceText(recipe.format->names));
        } else if (!takes) {
            row.matchedBy = "no rule: " + takes.error().message;
        } else {
            auto matching = rules->matching(recipe, names, isLinearWeight(tensor).has_value());
            if (!matching) return tl::unexpected(matching.error());
            for (const std::size_t i : *matching) ++out.rules[i].matches, chooses[i] = chooses[i] || tensor.isWeight();
            decide(row, recipe, std::move(*matching));
            if (row.rule) ++out.rules[*row.rule].decides;
        }
        out.problems += !row.problem.empty();
        out.tensors.push_back(std::move(row));
    }
    for (ResolvedTensor& row : out.tensors) {
        // A rule for others too says nothing of what no spec takes by itself.
        const bool isAdded = row.rule && !chooses[*row.rule];
        if (row.tensor->isWeight() || isAdded || (!row.spec && row.problem.empty())) continue;
        out.problems -= !row.problem.empty();
        if (row.rule) --out.rules[*row.rule].decides;
        row.matchedBy = std::string("no rule: ") + rowOf(row.tensor->role).why;
        row.rule.reset(), row.spec.reset(), row.problem.clear(), row.note.clear(), row.others.clear();
    }
    addRemarks(out);
    return out;
}

std::string askedText(const std::optional<QuantSpec>& spec, const std::string& problem) {
    if (!problem.empty()) return "no spec: " + problem;
    return spec ? specText(*spec) : "keep";
}

Result<Recipe> recipeOf(const ResolvedRecipe& resolved, const std::string& path) {
    Recipe recipe;
    for (const ResolvedTensor& row : resolved.tensors) {
        if (!row.problem.empty())
            return fail(fmt::format("{}: no spec says what it asks for {} ({}){}.", shownPath(path),
                                    escapeForPeople(row.tensor->name, 80), row.problem,
                                    resolved.problems > 1
                                        ? fmt::format(", nor for {} other tensors", resolved.problems - 1)
                                        : std::string()),
                        path);
        if (row.spec) recipe.rules.push_back({"^" + escapedRegex(row.tensor->name) + "$", row.spec});
    }
    return recipe;
}

Result<ReadRecipe> readAndResolve(const std::string& path, const Model& model) {
    const auto foreign = readForeignRecipe(path);
    if (!foreign) return tl::unexpected(foreign.error());
    auto resolved = resolveRecipe(*foreign, model);
    if (!resolved) return failAt(shownPath(path), resolved.error());
    ReadRecipe out{{}, foreign->format, std::move(*resolved)};
    // Our own recipes are not changed. Their rules may also match tensors that are not matrices.
    auto recipe = foreign->format == &kOwnRecipes ? readRecipe(path) : recipeOf(out.resolved, path);
    if (!recipe) return tl::unexpected(recipe.error());
    out.recipe = std::move(*recipe);
    return out;
}

Result<Recipe> readRecipeFor(const std::string& path, const Model& model) {
    auto read = readAndResolve(path, model);
    if (!read) return tl::unexpected(read.error());
    return std::move(read->recipe);
}

} // namespace qs
