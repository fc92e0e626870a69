// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Where this tensor stands in the model: layer x role under the current spec. A click opens the tensor of a cell.

#include "app/gui/pages/overview_rows.h"
#include "app/gui/widgets/card.h"
#include "app/gui/widgets/heat_map.h"

class QPushButton;

namespace qs::gui {

class Session;

class SensitivityStrip : public Card {
    Q_OBJECT
public:
    explicit SensitivityStrip(Session& session, QWidget* parent = nullptr);
    void rebuild();    ///< another model
    void refresh();    ///< other rows, spec or metric
    void showTensor(); ///< outlines the selected tensor
    HeatMap* map() const { return map_; }

private:
    Session& session_;
    HeatMap* map_;
    QPushButton* analyse_;
    RoleGrid grid_;
    RoleMap shown_;
};

} // namespace qs::gui
