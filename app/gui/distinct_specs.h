// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Lists of specs in which each stands once, however it is spelled. Each is spelled out once: lists of a hundred are made
// anew at every step of the block slider.

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
