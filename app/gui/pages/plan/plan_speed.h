// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Speed beside error beside size: every spec everywhere, on every backend that was measured, at one M.

#include "app/gui/pages/plan/plan_work.h"
#include "app/gui/session.h"
#include "app/gui/task.h"

#include <QWidget>

class QComboBox;
class QLabel;

namespace qs::gui {

class Card;
class PlotChart;

class PlanSpeed : public QWidget {
    Q_OBJECT
public:
    explicit PlanSpeed(Session& session, QWidget* parent = nullptr);
    /// `measured`: a plan with the measured KL of uniform specs; null: none.
    void setAnswer(std::shared_ptr<const PlanAnswer> answer, const plan::MeasuredPlan* measured);
    const std::shared_ptr<const plan::SpeedMap>& map() const { return map_; } ///< null: nothing was timed
    bool busy() const { return mapping_.running(); }
    PlotChart* chart() const { return chart_; }

Q_SIGNALS:
    void mapped(); ///< map() was replaced
    void pointClicked(const qs::plan::SpeedPoint& point);

private:
    void compute();
    void draw();
    void click(double x, double y);
    std::int64_t m() const;
    bool isShown(const plan::SpeedPoint& point) const;
    double yOf(const plan::SpeedPoint& point) const;
    Session& session_;
    Task mapping_;
    std::shared_ptr<const PlanAnswer> answer_;
    std::shared_ptr<const plan::PlanProof> proof_;
    std::shared_ptr<const plan::SpeedMap> map_;
    // What the map was made of.
    std::shared_ptr<const plan::Options> options_;
    Decision::BenchRows rows_;
    std::shared_ptr<const plan::PlanProof> provedBy_;
    Card* card_;
    PlotChart* chart_;
    QComboBox* m_;
    QLabel* crossovers_;
};

} // namespace qs::gui
