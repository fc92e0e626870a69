// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The labs: tensor operations, training through the rounding, the products of a layer, and solvers.

#include "app/gui/page_in_parts.h"
#include "app/gui/pages/labs/lab_panel.h"

#include <QStackedLayout>

class QToolButton;

namespace qs::gui {

class EmptyState;
class StatusLine;
class TensorHeader;

class LabsPage : public PageInParts {
    Q_OBJECT
public:
    explicit LabsPage(Session& session, QWidget* parent = nullptr);
    void choose(int lab); ///< 0 operations, 1 QAT, 2 products, 3 solvers
    LabPanel* panel() const;
    enum class Given { Activations, Gradients, Cache };
    void openInputs(const QString& path, Given what = Given::Activations); ///< "": synthetic inputs

Q_SIGNALS:
    void inputsChanged();

private:
    void showState();
    void showInputs();

    Session& session_;
    LabInputs inputs_;
    QStackedLayout *stack_, *labs_;
    EmptyState* empty_;
    TensorHeader* header_;
    std::vector<QToolButton*> tabs_;
    std::vector<LabPanel*> panels_;
    QToolButton* inputsButton_;
    StatusLine* trouble_;
};

} // namespace qs::gui
