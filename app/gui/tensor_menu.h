// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The context menu of a tensor, the same on every page: rules of the recipe, copy the name, open the tensor or the
// codebook.

#include "core/quant/spec/spec.h"

#include <optional>
#include <string>
#include <vector>

class QMenu;
class QPoint;
class QWidget;

namespace qs {
struct TensorInfo;
}

namespace qs::gui {

class Session;

/// Tensors that get one spec, and what can be done with them.
struct UnitActions {
    std::string title;
    std::vector<const TensorInfo*> tensors;
    std::vector<QuantSpec> choices = {};                        ///< specs that the menu offers beside spec A
    std::optional<QuantSpec> planned = {};                      ///< what "lock" locks
    bool isPlanned = false;                                     ///< `planned` counts; false: what the recipe gives
    std::optional<QuantSpec> has(const Session& session) const; ///< none: they are kept as they are
};
void addUnitActions(QMenu& menu, Session& session, const UnitActions& unit);

/// Adds the actions of the tensor and a separator. While there is a plan, its specs are offered too.
void addTensorActions(QMenu& menu, Session& session, const TensorInfo& tensor);
/// Shows a menu of these actions; the menu deletes itself.
void popUpTensorMenu(QWidget& parent, const QPoint& global, Session& session, const TensorInfo& tensor);

} // namespace qs::gui
