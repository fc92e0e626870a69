// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The quantization_config of compressed-tensors: which scheme the weights of a module have.

#include "core/base/json_tree.h"

#include <QRegularExpression>
#include <optional>
#include <string>
#include <vector>

namespace qs {

/// Settings of one config group.
struct WeightScheme {
    std::uint64_t bits = 0; ///< 0: not given
    bool isFloat = false, isSymmetric = true;
    std::uint64_t group = 0;                       ///< group_size in columns; 0: not given or -1
    std::uint64_t blockRows = 0, blockColumns = 0; ///< block_structure; 0: not given
    std::string strategy, format;                  ///< "" if not given
};

class Schemes {
public:
    explicit Schemes(const nlohmann::json& quantization);
    /// Schemes of the groups whose targets name the module. If there are none, those of groups that target a class,
    /// because the class of a module is not known here.
    std::vector<WeightScheme> of(const std::string& module) const;
    bool empty() const { return groups_.empty(); }

private:
    struct Group {
        std::vector<std::string> names;
        std::vector<QRegularExpression> patterns;
        bool hasClass = false;
        WeightScheme scheme;
    };
    std::vector<Group> groups_;
};

} // namespace qs
