// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A small map of layer x role under the current spec, in which the tensor is marked. A click opens the tensor of a
// cell.

#include "app/gui/pages/overview/overview_rows.h"
#include "app/gui/task.h"
#include "app/gui/widgets/card.h"
#include "app/gui/widgets/heat_map.h"

class QPushButton;

namespace qs::gui {

class Session;

class SensitivityStrip : public Card {
    Q_OBJECT
public:
    explicit SensitivityStrip(Session& session, QWidget* parent = nullptr);
    void refresh();    ///< the model, rows, spec or metric changed
    void showTensor(); ///< outlines the selected tensor
    HeatMap* map() const { return map_; }

private:
    Session& session_;
    HeatMap* map_;
    QPushButton* analyse_;
    struct Picture {
        std::shared_ptr<const ModelLayout> layout = std::make_shared<ModelLayout>();
        ModelRows rows;
        const Metric* metric = nullptr;
        RoleMap map;
        int refused = 0; ///< number of tensors that the spec cannot be applied to
    };
    int weightAt(int row, int column) const;
    void show(std::shared_ptr<const Picture> picture);
    std::shared_ptr<const Picture> picture_ = std::make_shared<Picture>(); ///< the picture on the screen
    Task task_;
    bool again_ = false;
};

} // namespace qs::gui
