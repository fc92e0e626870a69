// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Settings of single modules in a quantization_config: `dynamic` of GPTQModel and `extra_config` of AutoRound.
// Sources: GPTQModel:`gptqmodel/quantization/config.py`; auto-round:`auto_round/inference/convert_model.py`.

#include "core/base/json_tree.h"

#include <QRegularExpression>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace qs {

class ModuleRules {
public:
    explicit ModuleRules(const nlohmann::json& quantization);
    /// What is said under a key of this module; else what is said for all modules; null if neither is said. The first
    /// rule that matches a module decides.
    const nlohmann::json& at(const std::string& module, const char* key) const;
    /// The same as a whole number; -1 is one.
    std::optional<std::int64_t> numberAt(const std::string& module, const char* key) const;
    bool hasRules() const { return !rules_.empty(); }

private:
    struct Rule {
        std::string name;           ///< of one module; "" if there is a pattern
        QRegularExpression pattern; ///< matched at the start of a module's name
        nlohmann::json settings;    ///< null: the rule takes modules out of the quantization
    };
    const nlohmann::json* settingsOf(const std::string& module) const;
    nlohmann::json all_;
    std::vector<Rule> rules_;
};

} // namespace qs
