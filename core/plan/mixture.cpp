// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/plan/mixture.h"

#include "core/export/rule_book.h"

#include <algorithm>
#include <fmt/format.h>
#include <unordered_map>

namespace qs::plan {

double Mixture::bpw(const Options& options) const {
    return options.elements ? 8.0 * double(bytes) / double(options.elements) : 0;
}

double Mixture::gap() const { return bound ? Selection{{}, loss, bytes, *bound}.gap() : 0; }

Mixture mixtureOf(std::string name, std::vector<std::size_t> picked, const Options& options) {
    Mixture out;
    out.name = std::move(name), out.picked = std::move(picked), out.bytes = options.fixedBytes;
    out.ns = options.fixedNs, out.nsRange = options.fixedNsRange, out.untimed = options.fixedUntimed;
    for (std::size_t u = 0; u < out.picked.size(); ++u) {
        const UnitOption option = options.of[u][out.picked[u]];
        out.bytes += option.bytes, out.loss += option.loss, out.error += option.error;
        out.unmeasured += !option.isMeasured;
        out.nsRange.low += option.nsRange.low, out.nsRange.high += option.nsRange.high;
        out.ns += option.ns, out.untimed += !option.isTimed;
    }
    return out;
}

Mixture uniformMixture(std::size_t spec, const Options& options) {
    std::vector<std::size_t> picked;
    picked.reserve(options.of.size());
    for (std::size_t u = 0; u < options.of.size(); ++u) {
        const UnitOptions unit = options.of[u];
        const auto same = std::ranges::find_if(unit, [&](const auto& o) { return o.spec == spec; });
        const auto smallest =
            std::ranges::min_element(unit, [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
        picked.push_back(std::size_t((same == unit.end() ? smallest : same) - unit.begin()));
    }
    return mixtureOf(specText(options.specs[spec]) + " everywhere", std::move(picked), options);
}

SpecOf specsOf(const Mixture& mixture, const Options& options, const std::vector<TensorRule>& locks) {
    auto specs = std::make_shared<std::unordered_map<std::string, std::optional<QuantSpec>>>();
    for (std::size_t u = 0; u < options.units.size(); ++u) {
        const QuantSpec* spec = options.specOf(options.of[u][mixture.picked[u]]);
        for (const TensorInfo* tensor : options.units.tensors(u))
            specs->emplace(tensor->name, spec ? std::optional(*spec) : std::nullopt);
    }
    const auto book = RuleBook::of(locks).value_or(RuleBook());
    return [specs, book](const TensorInfo& tensor) -> const QuantSpec* {
        if (const auto found = specs->find(tensor.name); found != specs->end())
            return found->second ? &*found->second : nullptr;
        const TensorRule* lock = book.first(tensor.name);
        return lock && lock->spec ? &*lock->spec : nullptr;
    };
}

Recipe recipeOf(const Mixture& mixture, const Options& options, const std::vector<TensorRule>& locks) {
    Recipe out;
    out.rules = locks;
    const auto book = RuleBook::of(locks).value_or(RuleBook());
    for (std::size_t u = 0; u < options.units.size(); ++u)
        for (const TensorInfo* tensor : options.units.tensors(u)) {
            const QuantSpec* spec = options.specOf(options.of[u][mixture.picked[u]]);
            if (!book.first(tensor->name))
                out.rules.push_back({regexOfName(tensor->name), spec ? std::optional(*spec) : std::nullopt});
        }
    return out;
}

MixtureRow mixtureRow(const Mixture& mixture, const Options& options, std::size_t unit) {
    const auto tensors = options.units.tensors(unit);
    const UnitOption option = options.of[unit][mixture.picked[unit]];
    const QuantSpec* spec = options.specOf(option);
    MixtureRow row;
    row.unit = options.units.name(unit), row.spec = spec ? specText(*spec) : "keep";
    row.bytes = option.bytes, row.tensors = tensors.size(), row.lock = options.units.lock(unit);
    if (option.isMeasured) row.loss = option.loss;
    if (options.latencies && option.isTimed) row.ns = double(option.ns);
    for (const TensorInfo* tensor : tensors) row.elements += tensor->elements;
    for (const RefusedSpec& refused : options.of.refused(unit))
        row.refused += fmt::format("{}{}: {}", row.refused.empty() ? "" : "; ", specText(options.specs[refused.spec]),
                                   refused.reason);
    if (mixture.loss != 0) row.share = option.loss / mixture.loss;
    return row;
}

std::vector<MixtureRow> mixtureRows(const Mixture& mixture, const Options& options) {
    std::vector<MixtureRow> rows;
    for (std::size_t u = 0; u < options.units.size(); ++u) rows.push_back(mixtureRow(mixture, options, u));
    return rows;
}

const Columns<MixtureRow>& mixtureColumns() {
    using Row = MixtureRow;
    static const Columns<Row> columns{
        {{"tensor", "Tensor", "", Show::Name, 0, Direction::None, "The tensor, or the group of tensors with one spec."},
         [](const Row& r) -> Value { return r.unit; }},
        {{"spec", "Spec", "", Show::Text, 0, Direction::None, "What the plan quantizes it as."},
         [](const Row& r) -> Value { return r.spec; }},
        {{"bytes", "Size", "", Show::Bytes, 0, Direction::LowerIsBetter, "Bytes that the layout stores."},
         [](const Row& r) -> Value { return std::int64_t(r.bytes); }},
        {{"bpw", "bpw", "", Show::Fixed, 3, Direction::LowerIsBetter, "8 * bytes / elements."},
         [](const Row& r) -> Value {
             return r.elements ? Value(8.0 * double(r.bytes) / double(r.elements)) : Value();
         }},
        {{"loss", "Loss", "", Show::Scientific, 3, Direction::LowerIsBetter, "What the objective measures for it."},
         [](const Row& r) -> Value { return r.loss ? Value(*r.loss) : Value(); }},
        {{"share", "Share of loss", "", Show::Percent, 1, Direction::None, "Of the sum over the plan."},
         [](const Row& r) -> Value { return r.share; }},
        {{"group", "Group", "", Show::Name, 0, Direction::None, "The same name where several tensors have one spec."},
         [](const Row& r) -> Value { return r.tensors > 1 ? Value(r.unit) : Value(); }},
        {{"elements", "Weights", "", Show::Integer, 0, Direction::None, "Number of weights."},
         [](const Row& r) -> Value { return std::int64_t(r.elements); }},
        {{"time_ns", "Time", "µs", Show::Time, 4, Direction::LowerIsBetter,
          "Measured time of its products in one pass over the model; empty: not measured."},
         [](const Row& r) -> Value { return r.ns ? Value(*r.ns) : Value(); }},
        {{"locked", "Locked by", "", Show::Text, 0, Direction::None,
          "The rule that decides for it instead of the plan."},
         [](const Row& r) -> Value { return r.lock.empty() ? Value() : Value(r.lock); }},
        {{"refused", "No choice", "", Show::Text, 0, Direction::None,
          "Specs that it cannot have in this layout, on this target or in this time, and why."},
         [](const Row& r) -> Value { return r.refused.empty() ? Value() : Value(r.refused); }}};
    return columns;
}

} // namespace qs::plan
