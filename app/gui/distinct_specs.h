// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Lists of specs without duplicates: two spellings of the same spec count as one. Each spec is converted to text once,
// because lists of a hundred specs are rebuilt at every step of the block slider.

#include "core/quant/spec/spec.h"

#include <set>
#include <string>
#include <vector>

namespace qs::gui {

class DistinctSpecs {
public:
    void add(const QuantSpec& spec) {
        if (canonical_.insert(canonicalText(spec)).second) specs_.push_back(spec);
    }
    const std::vector<QuantSpec>& inOrder() const { return specs_; }

private:
    std::set<std::string> canonical_;
    std::vector<QuantSpec> specs_;
};

} // namespace qs::gui
