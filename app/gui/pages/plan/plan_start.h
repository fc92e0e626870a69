// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The recipe that a plan began from: its name and figures, and buttons that take its size as the
// budget, lock what it says or forget it. While there is
// none, a button opens one.

#include "app/gui/pages/plan/plan_work.h"

#include <QWidget>

class QToolButton;

namespace qs::gui {

class ElidedLabel;
class Session;

class PlanStartLine : public QWidget {
    Q_OBJECT
public:
    explicit PlanStartLine(Session& session, QWidget* parent = nullptr);
    void setAnswer(const PlanAnswer* answer); ///< null: none

private:
    void keepItsSkips();
    void choose(); ///< by a dialog called "planRecipeDialog"
    Session& session_;
    ElidedLabel *name_, *figures_;
    QToolButton *open_, *size_, *lock_, *skips_, *forget_;
    double bpw_ = 0; ///< of the recipe; 0: not known
};

} // namespace qs::gui
