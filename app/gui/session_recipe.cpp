// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/session_recipe.h"

#include "core/base/text.h"

#include <QCoreApplication>

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>

namespace qs::gui {
namespace {

/// Sets `specs` and `of`.
void assign(SessionRecipe& recipe, const Weights& weights) {
    std::map<const QuantSpec*, int> places; // of rules, which hold equal specs many times
    std::map<std::string, int> distinct;
    std::vector<std::size_t> counts;
    for (const TensorInfo* weight : weights) {
        const QuantSpec* spec = recipe.specOf(*weight);
        if (!spec) {
            recipe.of.push_back(-1);
            ++recipe.kept;
            continue;
        }
        auto place = places.find(spec);
        if (place == places.end()) {
            const auto [known, isNew] = distinct.emplace(canonicalText(*spec), int(recipe.specs.size()));
            if (isNew) recipe.specs.push_back(*spec), counts.push_back(0);
            place = places.emplace(spec, known->second).first;
        }
        recipe.of.push_back(place->second);
        ++counts[std::size_t(place->second)];
    }
    std::vector<std::size_t> order(recipe.specs.size());
    std::iota(order.begin(), order.end(), std::size_t(0));
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return counts[a] > counts[b]; });
    std::vector<int> rank(order.size());
    std::vector<QuantSpec> sorted;
    for (std::size_t i = 0; i < order.size(); ++i)
        rank[order[i]] = int(i), sorted.push_back(std::move(recipe.specs[order[i]]));
    recipe.specs = std::move(sorted);
    for (int& one : recipe.of)
        if (one >= 0) one = rank[std::size_t(one)];
}

} // namespace

const QuantSpec* SessionRecipe::specOf(const TensorInfo& tensor) const {
    if (const TensorRule* rule = book.first(tensor.name)) return rule->spec ? &*rule->spec : nullptr;
    return rest ? &*rest : nullptr;
}

Recipe SessionRecipe::asRecipe() const { return {rest, book.rules()}; }

QString SessionRecipe::title(const QuantSpec& specA) const {
    if (!isMixed()) return QString::fromStdString(specText(specA));
    const auto tr = [](const char* text) { return QCoreApplication::translate("SessionRecipe", text); };
    const QString count =
        specs.size() == 1 ? QString::fromStdString(specText(specs.front())) : tr("%1 specs").arg(specs.size());
    return kept == 0 ? tr("recipe: %1").arg(count) : tr("recipe: %1, %2 tensors kept").arg(count).arg(kept);
}

std::shared_ptr<SessionRecipe> sessionRecipe(const Weights& weights, const QString& rules, bool keepsRest,
                                             const QuantSpec& specA) {
    auto out = std::make_shared<SessionRecipe>();
    if (!keepsRest) out->rest = specA;
    if (auto lines = parseRuleLines(rules.toStdString())) {
        out->lines = std::move(*lines);
        out->book = RuleBook::of(out->lines.all()).value_or(RuleBook());
    }
    if (out->book.rules().empty() && !keepsRest) return out;
    assign(*out, weights);
    if (out->kept == 0 && out->specs.size() == 1 && out->specs.front() == specA) { // the rules change nothing
        out->of.clear();
        return out;
    }
    for (const QuantSpec& spec : out->specs) out->key += canonicalText(spec) + '\n';
    std::string places(out->of.size() * sizeof(int), '\0');
    if (!places.empty()) std::memcpy(places.data(), out->of.data(), places.size());
    out->key += places;
    return out;
}

void setSizes(SessionRecipe& recipe, const Model& model, const Weights& weights, const Layout* layout, const Job& job) {
    if (!recipe.isMixed()) return;
    const Layout& counted =
        layout ? *layout : countedLayout(model, weights.empty() ? nullptr : weights.front(), recipe.specs);
    if (auto sizes = recipeSizes(model, recipe.asRecipe(), counted, job)) recipe.sizes = std::move(*sizes);
}

} // namespace qs::gui
