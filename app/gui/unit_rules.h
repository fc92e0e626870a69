// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The rules of the recipe for tensors that get one spec, as menus and popups change them.

#include "core/export/rule_book.h"

#include <memory>
#include <optional>
#include <vector>

namespace qs {
class Model;
}

namespace qs::gui {

class Session;

class UnitRules {
public:
    /// Of the session as it is now. `tensors` is not empty.
    UnitRules(Session& session, std::vector<const TensorInfo*> tensors);
    /// False: they are no weights, or the rules that somebody types are none yet.
    bool canChange() const;
    /// The rule for the very name of the first tensor, which locks it; null: none.
    const TensorRule* own() const;
    bool isRuled() const;                                  ///< some rule decides for it
    void give(const std::optional<QuantSpec>& spec) const; ///< none: keep
    void unlock() const;

private:
    /// Nothing happens if another model is open by now.
    template<class Change> void apply(const Change& rulesWith) const;
    Session* session_;
    std::vector<const TensorInfo*> tensors_;
    std::shared_ptr<const Model> model_;
    std::optional<RuleLines> lines_;
};

} // namespace qs::gui
