// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// compressed-tensors' quantization_config: which scheme the weights of a module have.

#include "core/base/json_tree.h"

#include <QRegularExpression>
#include <optional>
#include <string>
#include <vector>

namespace qs {

struct WeightScheme {
    std::uint64_t bits = 0; ///< 0: not said
    bool isFloat = false, isSymmetric = true;
    std::uint64_t group = 0;                       ///< group_size; 0: not said, or -1
    std::uint64_t blockRows = 0, blockColumns = 0; ///< block_structure
    std::string strategy, format;                  ///< "" where not said
};

class Schemes {
public:
    explicit Schemes(const nlohmann::json& quantization);
    /// Of the groups whose targets name the module, or else a class, which is known of no module here.
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
