// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/plan/options.h"

#include "core/base/tensor_name.h"
#include "core/base/text.h"
#include "core/export/recipe.h"

#include <QRegularExpression>
#include <algorithm>
#include <fmt/format.h>
#include <set>
#include <unordered_map>

namespace qs::plan {
namespace {

Result<QRegularExpression> compiled(const std::string& text, const char* what) {
    QRegularExpression regex(QString::fromStdString(text));
    if (!regex.isValid())
        return fail(fmt::format("The {} '{}' is not a regular expression: {} at character {}.", what,
                                escapeForPeople(text, 80), regex.errorString().toStdString(),
                                regex.patternErrorOffset()));
    return regex;
}

/// The name without what the first matching group expression matches; the name itself where none does.
std::string groupKey(const std::string& name, const std::vector<QRegularExpression>& groups) {
    QString text = QString::fromStdString(name);
    for (std::size_t i = 0; i < groups.size(); ++i)
        if (text.contains(groups[i])) return fmt::format("{}\n{}", i, text.remove(groups[i]).toStdString());
    return name;
}

/// How many of the specs it takes for a tensor.
std::size_t takenBy(const Layout& layout, const OptionRequest& request, const TensorInfo& tensor) {
    return std::size_t(std::count_if(request.specs.begin(), request.specs.end(), [&](const QuantSpec& spec) {
        return layout.accepts(spec, tensor.shape).has_value();
    }));
}

/// The first layout that takes the most specs.
const Layout& layoutFor(const OptionRequest& request) {
    const auto all = layouts();
    if (request.tensors.empty()) return all.front();
    return *std::max_element(all.begin(), all.end(), [&](const Layout& a, const Layout& b) {
        return takenBy(a, request, *request.tensors.front()) < takenBy(b, request, *request.tensors.front());
    });
}

std::vector<PlanUnit> unitsOf(const std::vector<const TensorInfo*>& tensors,
                              const std::vector<QRegularExpression>& groups) {
    std::vector<PlanUnit> units;
    std::unordered_map<std::string, std::size_t> places;
    for (const TensorInfo* tensor : tensors) {
        const auto [place, isNew] = places.emplace(groupKey(tensor->name, groups), units.size());
        if (isNew) units.push_back({tensor->name, {}, {}});
        units[place->second].tensors.push_back(tensor);
    }
    for (PlanUnit& unit : units)
        if (const std::size_t others = unit.tensors.size() - 1; others > 0)
            unit.name += fmt::format(" and {} more", others);
    return units;
}

/// What the layout stores of a tensor under a spec. A model may have a million tensors.
struct StoredAs {
    std::uint64_t bytes = 0;
    bool isQuantized = false;
};
/// Of all tensors of the model, in its order.
struct Stored {
    std::vector<StoredAs> tensors;
    std::unordered_map<std::size_t, std::string> reasons; ///< of those that are not quantized, where there is one
    std::uint64_t bytes = 0, elements = 0;
};

Stored storedOf(ExportPlan plan) {
    Stored out;
    out.bytes = plan.bytes, out.elements = plan.elements;
    out.tensors.reserve(plan.tensors.size());
    for (PlannedTensor& tensor : plan.tensors) {
        const bool isQuantized = tensor.becomes == Becomes::Quantized;
        if (!isQuantized && !tensor.reason.empty()) out.reasons.emplace(out.tensors.size(), std::move(tensor.reason));
        out.tensors.push_back({tensor.bytes, isQuantized});
    }
    return out;
}

} // namespace

bool Options::isEverywhere(std::size_t spec) const {
    return std::all_of(of.begin(), of.end(), [&](const auto& options) {
        return std::any_of(options.begin(), options.end(), [&](const UnitOption& o) { return o.spec == spec; });
    });
}

std::uint64_t Options::leastBytes() const {
    std::uint64_t sum = fixedBytes;
    for (const auto& options : of)
        sum += std::min_element(options.begin(), options.end(), [](const auto& a, const auto& b) {
                   return a.bytes < b.bytes;
               })->bytes;
    return sum;
}

std::uint64_t Options::mostBytes() const {
    std::uint64_t sum = fixedBytes;
    for (const auto& options : of)
        sum += std::max_element(options.begin(), options.end(), [](const auto& a, const auto& b) {
                   return a.bytes < b.bytes;
               })->bytes;
    return sum;
}

Result<Options> planOptions(const OptionRequest& request, const Losses& losses, const Job& job) {
    Options out;
    out.model = request.model, out.specs = request.specs;
    out.layout = request.layout.empty() ? &layoutFor(request) : findLayout(request.layout);
    if (!out.layout) return fail(fmt::format("There is no layout '{}'.", escapeForPeople(request.layout, 60)));
    std::vector<QRegularExpression> groups;
    for (const auto& text : request.groups) {
        auto regex = compiled(text, "group");
        if (!regex) return tl::unexpected(regex.error());
        groups.push_back(std::move(*regex));
    }
    for (const TensorRule& lock : request.locks)
        if (auto regex = compiled(lock.regex, "lock"); !regex) return tl::unexpected(regex.error());

    std::vector<const TensorInfo*> free;
    for (const TensorInfo* tensor : request.tensors)
        if (!firstRule(request.locks, tensor->name)) free.push_back(tensor);
    std::vector<PlanUnit> units = unitsOf(free, groups);

    // Bytes of every tensor: under the locks alone, and with each spec.
    const auto planned = [&](const QuantSpec* spec) -> Result<Stored> {
        QuantizeRequest quantize;
        quantize.layout = out.layout->id, quantize.rules = request.locks, quantize.keepsRest = spec == nullptr;
        if (spec) quantize.spec = *spec;
        quantize.skipRefused = true;
        auto plan = planExport(*request.model, quantize, job);
        return plan ? Result<Stored>(storedOf(std::move(*plan))) : tl::unexpected(plan.error());
    };
    const auto kept = planned(nullptr);
    if (!kept) return tl::unexpected(kept.error());
    out.elements = kept->elements;
    const auto placeOf = [&](const TensorInfo* tensor) { return std::size_t(tensor - request.model->tensors.data()); };
    std::vector<Stored> bySpec;
    for (const QuantSpec& spec : request.specs) {
        auto plan = planned(&spec);
        if (!plan) return tl::unexpected(plan.error());
        bySpec.push_back(std::move(*plan));
    }

    out.fixedBytes = kept->bytes;
    std::map<std::string, std::size_t> left;                                    // reasons, with the number of units
    std::vector<std::pair<std::size_t, std::string>> refused(out.specs.size()); // of each spec: units, the first reason
    for (PlanUnit& unit : units) {
        std::vector<UnitOption> options;
        std::string reason;
        for (std::size_t s = 0; s < out.specs.size(); ++s) {
            UnitOption option{s, 0, 0};
            bool possible = true;
            for (const TensorInfo* tensor : unit.tensors) {
                const StoredAs& row = bySpec[s].tensors[placeOf(tensor)];
                const auto found = losses.of.find(tensor->name);
                const bool hasLoss = found != losses.of.end() && s < found->second.size() && found->second[s];
                if (!row.isQuantized || !hasLoss) {
                    possible = false;
                    const auto why = losses.reasons.find(tensor->name);
                    const auto whyNot = bySpec[s].reasons.find(placeOf(tensor));
                    std::string one = whyNot != bySpec[s].reasons.end() ? whyNot->second
                                      : why != losses.reasons.end()     ? why->second
                                                                        : "it has no loss by this objective";
                    if (refused[s].first++ == 0) refused[s].second = one;
                    if (reason.empty()) reason = std::move(one);
                    break;
                }
                option.bytes += row.bytes, option.loss += *found->second[s];
            }
            if (possible) options.push_back(option);
        }
        if (options.empty()) {
            ++left[reason];
            continue;
        }
        for (const TensorInfo* tensor : unit.tensors) {
            out.fixedBytes -= kept->tensors[placeOf(tensor)].bytes;
            out.matched += tensor->elements;
        }
        out.units.push_back(std::move(unit));
        out.of.push_back(std::move(options));
    }
    for (const auto& [reason, count] : left)
        out.remarks.push_back(fmt::format("{} stay as they are: {}",
                                          count == 1 ? "1 unit" : fmt::format("{} units", count),
                                          reason.empty() ? "no spec fits." : reason));
    for (std::size_t s = 0; s < out.specs.size(); ++s)
        if (const auto& [count, reason] = refused[s]; count > left.size() || (count > 0 && left.empty()))
            out.remarks.push_back(fmt::format("{} is no choice for {} of {} units in the layout {}: {}",
                                              specText(out.specs[s]), count, units.size(), out.layout->id, reason));
    if (out.units.empty())
        return fail(fmt::format("There is no tensor to plan{}.",
                                left.empty() ? "" : fmt::format("; the first reason: {}", left.begin()->first)));
    return out;
}

} // namespace qs::plan
