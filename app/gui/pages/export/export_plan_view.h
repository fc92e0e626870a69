// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Shows what an export would write. The plan is computed on a worker thread, again whenever the request changes.

#include "app/gui/row_model.h"
#include "app/gui/task.h"
#include "app/gui/widgets/ranked_bars.h"
#include "core/export/export_plan.h"

#include <QWidget>

#include <functional>
#include <memory>
#include <optional>

class QHBoxLayout;
class QLabel;
class QTableView;
class QTimer;

namespace qs::gui {

class ExportPlanView : public QWidget {
    Q_OBJECT
public:
    explicit ExportPlanView(QWidget* parent = nullptr);
    void ask(std::shared_ptr<const Model> model, QuantizeRequest request); ///< null: nothing to plan
    bool asked() const { return model_ != nullptr; }
    /// Null until the last request is planned, or if it cannot be planned.
    const ExportPlan* plan() const { return plan_ ? &*plan_ : nullptr; }

    /// Sets a function that adds actions for a tensor, given by name, to the menu of its row.
    void setTensorMenu(std::function<void(const std::string& tensor, const QPoint& global)> show) {
        tensorMenu_ = std::move(show);
    }
    void setDimmed(bool on); ///< on: the rules are being edited, and the shown plan is of the earlier ones

Q_SIGNALS:
    void planned();
    void offered(const qs::PlanOffer& offer); ///< the user chose it

protected:
    void resizeEvent(QResizeEvent*) override;

private:
    /// A plan, and its tensors with the largest first, which bars show.
    struct Ranked {
        ExportPlan plan;
        std::vector<std::uint32_t> order;
        BarExtents extents;
        std::string longest; ///< text of the column "Becomes"
    };
    static Ranked ranked(ExportPlan plan);
    void start();
    void take(Result<Ranked> found);
    std::shared_ptr<const Model> model_;
    QuantizeRequest request_;
    std::optional<ExportPlan> plan_;
    Task task_;
    RowModel<PlannedTensor>* rows_;
    void showOffers();
    std::function<void(const std::string&, const QPoint&)> tensorMenu_;
    QLabel* headline_;
    QTableView* view_;
    RankedBars* bars_; ///< in a wide window: the bytes of each tensor
    QHBoxLayout* offers_;
    QTimer* settle_;
};

} // namespace qs::gui
