// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A popup at a cell or a bar: what its tensors could be, with bytes and losses. A click on a line gives them that spec at
// once, which is a rule of the recipe; the popup stays and shows what has changed.

#include "app/gui/row_model.h"
#include "app/gui/tensor_menu.h"
#include "core/plan/known_recipe.h"

#include <QFrame>

class QCheckBox;
class QLabel;
class QPushButton;
class QTableView;

namespace qs::gui {

class UnitPopup : public QFrame {
    Q_OBJECT
public:
    /// What is changed: the tensor by itself as the recipe has it, or its whole unit as the plan has it.
    enum class Of { Recipe, Plan };
    /// `parent` has a screen. The popup deletes itself when it is closed.
    UnitPopup(Session& session, QWidget* parent, Of of, const TensorInfo& tensor);
    void showAt(const QRect& cell); ///< in global pixels
    QTableView* table() const { return table_; }

private:
    struct Line {
        plan::UnitChoice choice;
        bool isPresent = false; ///< what the tensors have
        std::uint64_t elements = 0;
    };
    static const Columns<Line>& columns();
    void refresh();
    void findUnit();
    std::vector<plan::UnitChoice> choices() const;
    void take(int row);
    void open(); ///< the page of the tensor

    Session& session_;
    std::shared_ptr<const Model> model_;
    Of of_;
    const TensorInfo* tensor_;
    UnitActions unit_;
    QLabel *title_, *facts_;
    QTableView* table_;
    RowModel<Line>* rows_;
    QCheckBox* locked_;
    QPushButton* open_;
};

/// Shows such a popup; nothing happens for what is no weight of the opened model.
void popUpUnit(QWidget& parent, Session& session, UnitPopup::Of of, const TensorInfo& tensor, const QRect& cell);

} // namespace qs::gui
