// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What can be done with a tensor wherever it is shown: a rule of the recipe, its name, its codebook.

class QMenu;
class QPoint;
class QWidget;

namespace qs {
struct TensorInfo;
}

namespace qs::gui {

class Session;

/// The actions of the tensor and a separator.
void addTensorActions(QMenu& menu, Session& session, const TensorInfo& tensor);
/// A menu of these actions alone; it deletes itself.
void popUpTensorMenu(QWidget& parent, const QPoint& global, Session& session, const TensorInfo& tensor);

} // namespace qs::gui
