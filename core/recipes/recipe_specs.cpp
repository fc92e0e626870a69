// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/recipes/recipe_specs.h"

#include "core/base/text.h"
#include "core/quant/spec/calibrations/rows.h"
#include "core/quant/spec/scale_type.h"
#include "core/recipes/matcher.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace qs {
namespace {

tl::unexpected<Error> noWordFor(const QuantSpec& spec, const char* program, const char* what,
                                const std::string& works) {
    return advise(fmt::format("{} has no word for {} of {}", program, what, specText(spec)), {works});
}

bool isPlainFloat(const ScaleType& type) {
    return type == ScaleType::F32 || type == ScaleType::F16 || type == ScaleType::Bf16 || type.isInput;
}

} // namespace

void setSpec(RecipeRule& rule, const std::string& spec, const std::string& said) {
    auto parsed = spec.empty() ? Result<QuantSpec>(fail("")) : parseSpec(spec);
    if (parsed) {
        rule.spec = std::move(*parsed);
        return;
    }
    const std::string why = parsed.error().message;
    rule.problem = escapeForPeople(said, 80) + (why.empty() ? std::string() : " (" + why + ")");
}

std::string integerSpec(std::int64_t bits, std::int64_t group, bool isSymmetric, const std::string& dialect) {
    const auto found = std::find_if(formats().begin(), formats().end(), [&](const FormatTraits& f) {
        return f.kind == FormatKind::Integer && f.bits == bits;
    });
    if (found == formats().end()) return {};
    std::string text = found->id;
    if (!dialect.empty()) text += ":dialect=" + dialect;
    text += group > 0 ? fmt::format(":block={}", group) : group == 0 ? ":scale=channel" : ":scale=tensor";
    return isSymmetric ? text : text + ":sym=no";
}

Result<void> hasPlainKeys(const QuantSpec& spec, const char* program, const std::string& works) {
    if (spec.sparsity) return noWordFor(spec, program, "sparse", works);
    if (spec.randomSeed()) return noWordFor(spec, program, "round", works);
    if (spec.isFlat()) return noWordFor(spec, program, "flat", works);
    if (spec.effectiveCompute() != Compute::F32) return noWordFor(spec, program, "compute", works);
    return {};
}

Result<IntegerFacts> integerFacts(const QuantSpec& spec, const char* program, const std::string& works) {
    if (spec.traits().kind != FormatKind::Integer)
        return advise(fmt::format("{} has no word for {}", program, spec.format), {works});
    if (auto plain = hasPlainKeys(spec, program, works); !plain) return tl::unexpected(plain.error());
    if (spec.tiles) return noWordFor(spec, program, "tile", works);
    if (!isPlainFloat(scaleTypeOf(spec))) return noWordFor(spec, program, "scaletype", works);
    IntegerFacts facts;
    facts.bits = spec.traits().bits, facts.isSymmetric = spec.isSymmetric();
    if (spec.scaleKind() == ScaleKind::Block)
        facts.group = spec.blockSize();
    else if (spec.scaleKind() == ScaleKind::Tensor)
        facts.group = -1;
    else if (!spec.hasScalePerRow())
        return noWordFor(spec, program, "axis", works);
    const Calibration calibration = spec.effectiveCalibration();
    const bool isMaximum =
        calibration.id == kAbsMaxCalibration.id || (calibration.id == kMinMaxCalibration.id && !facts.isSymmetric);
    if (!isMaximum || calibration.arguments.size() > 1) return noWordFor(spec, program, "calib", works);
    if (!calibration.arguments.empty()) facts.clip = calibration.arguments.front();
    return facts;
}

bool saySame(const QuantSpec& a, const QuantSpec& b) {
    if (a.format != b.format || a.scaleKind() != b.scaleKind() || a.blockSize() != b.blockSize()) return false;
    if (a.tiles != b.tiles || a.isFlat() != b.isFlat() || a.sparsity != b.sparsity) return false;
    if (a.hasScalePerRow() != b.hasScalePerRow() || a.isSymmetric() != b.isSymmetric()) return false;
    if (a.randomSeed() != b.randomSeed() || a.codeBits() != b.codeBits()) return false;
    const ScaleType &x = scaleTypeOf(a), &y = scaleTypeOf(b);
    if (!(x == y) && !(isPlainFloat(x) && isPlainFloat(y))) return false;
    const Calibration p = a.effectiveCalibration(), q = b.effectiveCalibration();
    // The range of a zero point is from the least to the largest value under either name.
    const auto isRange = [](const Calibration& c) {
        return c.id == kAbsMaxCalibration.id || c.id == kMinMaxCalibration.id;
    };
    const auto factor = [](const Calibration& c) { return c.arguments.empty() ? 1.0 : c.arguments.front(); };
    if (isRange(p) && isRange(q) && (p.id == q.id || !a.isSymmetric())) return factor(p) == factor(q);
    return p == q;
}

std::string LayerRule::regex(const char* digits) const {
    const std::string whole =
        isLayered ? escapedRegex(name.before) + digits + escapedRegex(name.after) : escapedRegex(tensors.front()->name);
    return "^" + whole + "$";
}

std::vector<LayerRule> layerRules(const Assignment& assignment) {
    std::map<std::pair<std::string, std::string>, std::vector<const Assigned*>> families;
    std::vector<std::pair<LayeredName, const Assigned*>> named;
    for (const Assigned& one : assignment.tensors) {
        named.emplace_back(layeredName(one.name), &one);
        const LayeredName& name = named.back().first;
        if (name.layer >= 0) families[{name.before, name.after}].push_back(&one);
    }
    std::vector<LayerRule> rules;
    std::map<std::pair<std::string, std::string>, bool> done;
    for (auto& [name, one] : named) {
        const std::pair key(name.before, name.after);
        const auto family = name.layer >= 0 ? families.find(key) : families.end();
        const bool isWhole =
            family != families.end() && family->second.size() > 1 &&
            std::ranges::all_of(family->second, [&](const Assigned* mate) { return mate->spec == one->spec; });
        if (!isWhole) {
            rules.push_back({std::move(name), false, {one}});
        } else if (!done[key]) {
            done[key] = true;
            name.layer = -1;
            rules.push_back({std::move(name), true, family->second});
        }
    }
    return rules;
}

const QuantSpec* mostUsedSpec(const Assignment& assignment) {
    std::map<std::string, std::pair<std::size_t, const QuantSpec*>> counts;
    for (const Assigned& one : assignment.tensors)
        if (one.spec) {
            auto& [count, spec] = counts[canonicalText(*one.spec)];
            ++count, spec = &*one.spec;
        }
    const QuantSpec* best = nullptr;
    std::size_t most = 0;
    for (const auto& [text, one] : counts)
        if (one.first > most) most = one.first, best = one.second;
    return best;
}

} // namespace qs
