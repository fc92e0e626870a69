// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The context menu of a tensor, the same on every page: rules of the recipe, copy the name, open the codebook.

class QMenu;
class QPoint;
class QWidget;

namespace qs {
struct TensorInfo;
}

namespace qs::gui {

class Session;

/// Adds the actions of the tensor and a separator.
void addTensorActions(QMenu& menu, Session& session, const TensorInfo& tensor);
/// Shows a menu of these actions; the menu deletes itself.
void popUpTensorMenu(QWidget& parent, const QPoint& global, Session& session, const TensorInfo& tensor);

} // namespace qs::gui
