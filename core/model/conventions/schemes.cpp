// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/conventions/schemes.h"

#include "core/base/lists.h"
#include "core/base/wide_text.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace qs {
namespace {

constexpr std::size_t kMostGroups = 256, kMostTargets = 4096, kLongestPattern = 1000;

WeightScheme readScheme(const nlohmann::json& weights) {
    WeightScheme scheme;
    scheme.bits = countAt(weights, "num_bits").value_or(0);
    scheme.isFloat = textAt(weights, "type") == "float";
    scheme.isSymmetric = flagAt(weights, "symmetric", true);
    scheme.group = countAt(weights, "group_size").value_or(0);
    scheme.strategy = textAt(weights, "strategy");
    if (const auto block = weights.find("block_structure"); block != weights.end() && block->is_array() &&
                                                            block->size() == 2 && (*block)[0].is_number_unsigned() &&
                                                            (*block)[1].is_number_unsigned())
        scheme.blockRows = (*block)[0], scheme.blockColumns = (*block)[1];
    return scheme;
}

} // namespace

Schemes::Schemes(const nlohmann::json& quantization) {
    if (!quantization.is_object()) return;
    const auto groups = quantization.find("config_groups");
    if (groups == quantization.end() || !groups->is_object()) return;
    const std::string format = textAt(quantization, "format");
    for (const auto& [name, group] : groups->items()) {
        if (!group.is_object() || groups_.size() == kMostGroups) continue;
        const auto weights = group.find("weights"), targets = group.find("targets");
        if (weights == group.end() || !weights->is_object() || targets == group.end() || !targets->is_array()) continue;
        Group out;
        out.scheme = readScheme(*weights);
        out.scheme.format = textAt(group, "format");
        if (out.scheme.format.empty()) out.scheme.format = format;
        for (const auto& target : *targets) {
            if (!target.is_string() || out.names.size() + out.patterns.size() == kMostTargets) continue;
            const auto& text = target.get_ref<const std::string&>();
            if (text.starts_with("re:")) {
                QRegularExpression pattern(wideText(text.substr(3)));
                if (text.size() <= kLongestPattern && pattern.isValid()) out.patterns.push_back(std::move(pattern));
            } else {
                // A class name starts with a capital letter and has no dots.
                out.hasClass = out.hasClass || (text.find('.') == std::string::npos && !text.empty() &&
                                                text[0] >= 'A' && text[0] <= 'Z');
                out.names.push_back(text);
            }
        }
        groups_.push_back(std::move(out));
    }
}

std::vector<WeightScheme> Schemes::of(const std::string& module) const {
    std::vector<WeightScheme> byName, byClass;
    const QString name = wideText(module);
    for (const Group& group : groups_) {
        const bool named =
            contains(group.names, module) || std::ranges::any_of(group.patterns, [&](const auto& pattern) {
                return pattern
                    .match(name, 0, QRegularExpression::NormalMatch, QRegularExpression::AnchorAtOffsetMatchOption)
                    .hasMatch();
            });
        if (named)
            byName.push_back(group.scheme);
        else if (group.hasClass)
            byClass.push_back(group.scheme);
    }
    return byName.empty() ? byClass : byName;
}

} // namespace qs
