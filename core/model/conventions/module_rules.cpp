// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/conventions/module_rules.h"

#include <algorithm>
#include <optional>

namespace qs {
namespace {

constexpr std::size_t kMostRules = 65'536, kLongestRule = 1000;

bool isPlainName(const std::string& text) {
    return std::ranges::all_of(text, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
               c == '-';
    });
}

} // namespace

ModuleRules::ModuleRules(const nlohmann::json& quantization) : all_(quantization) {
    for (const char* key : {"dynamic", "extra_config"}) {
        const auto& said = valueAt(quantization, key);
        if (!said.is_object()) continue;
        for (const auto& [text, settings] : said.items()) {
            if (rules_.size() == kMostRules || text.size() > kLongestRule) continue;
            Rule rule;
            const bool isOut = text.starts_with("-:");
            const std::string name = isOut || text.starts_with("+:") ? text.substr(2) : text;
            if (!isOut && settings.is_object()) rule.settings = settings;
            // In a name of AutoRound a dot is a dot; GPTQModel matches every key as a pattern, to the same effect.
            if (isPlainName(name))
                rule.name = name;
            else
                rule.pattern = QRegularExpression(QString::fromStdString(name));
            if (rule.pattern.isValid()) rules_.push_back(std::move(rule));
        }
    }
}

const nlohmann::json* ModuleRules::settingsOf(const std::string& module) const {
    const QString name = QString::fromStdString(module);
    for (const Rule& rule : rules_) {
        const bool matches = rule.name.empty() ? rule.pattern
                                                     .match(name, 0, QRegularExpression::NormalMatch,
                                                            QRegularExpression::AnchorAtOffsetMatchOption)
                                                     .hasMatch()
                                               : rule.name == module;
        if (matches) return &rule.settings;
    }
    return nullptr;
}

const nlohmann::json& ModuleRules::at(const std::string& module, const char* key) const {
    if (const nlohmann::json* own = settingsOf(module))
        if (const auto& said = valueAt(*own, key); !said.is_null()) return said;
    return valueAt(all_, key);
}

std::optional<std::int64_t> ModuleRules::numberAt(const std::string& module, const char* key) const {
    const auto& said = at(module, key);
    return said.is_number_integer() ? std::optional(said.get<std::int64_t>()) : std::nullopt;
}

} // namespace qs
