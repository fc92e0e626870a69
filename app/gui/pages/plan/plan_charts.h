// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Size against loss: what is predicted for all sizes, and what was measured.

#include "app/gui/pages/plan/plan_work.h"

#include <QWidget>

class QToolButton;

namespace qs::gui {

class Card;
class PlotChart;

class PlanCharts : public QWidget {
    Q_OBJECT
public:
    explicit PlanCharts(QWidget* parent = nullptr);
    void setAnswer(std::shared_ptr<const PlanAnswer> answer); ///< null: none
    void setBand(PlanBand band);
    void setMeasured(const std::vector<plan::MeasuredPlan>& measured);
    void setMessage(const QString& sentence); ///< in the place of both; "" shows them
    PlotChart* predicted() const { return predicted_; }
    PlotChart* measured() const { return measuredChart_; }

Q_SIGNALS:
    void budgetClicked(double bpw); ///< a click in the chart of predictions
    void measureAsked();

private:
    void draw();
    void drawMeasured();
    double xOf(std::uint64_t bytes) const; ///< in the unit of the axis
    QString xTitle() const;
    QString noteOf(const QString& name, std::uint64_t bytes) const;
    std::shared_ptr<const PlanAnswer> answer_;
    PlanBand band_;
    std::vector<plan::MeasuredPlan> all_;
    Card *predictedCard_, *measuredCard_;
    PlotChart *predicted_, *measuredChart_;
    QToolButton *inBytes_, *logY_;
};

} // namespace qs::gui
