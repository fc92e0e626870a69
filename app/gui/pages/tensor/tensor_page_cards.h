// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The cards of the tensor page with curves. `b` is the second spec of the A/B toggle, or null.

#include "app/gui/widgets/card.h"
#include "app/gui/widgets/plot_chart.h"
#include "core/analysis/analysis.h"

class QToolButton;

namespace qs::gui {

/// Why an analysis has nothing to draw; "" if it has.
QString blockedReason(const AnalysisRow& row);
bool drawable(const AnalysisRow& row);

class DensityCard : public Card {
    Q_OBJECT
public:
    explicit DensityCard(QWidget* parent = nullptr);
    void setRows(const AnalysisRow& a, const AnalysisRow& b);
    PlotChart* chart() const { return chart_; }

private:
    PlotChart* chart_;
    QString drawn_; ///< tensor and format: the zoom is kept while the block size changes
};

class ErrorCard : public Card {
    Q_OBJECT
public:
    explicit ErrorCard(QWidget* parent = nullptr);
    void setRows(const AnalysisRow& a, const AnalysisRow& b);
    PlotChart* chart() const { return chart_; }

private:
    void draw();
    PlotChart* chart_;
    QToolButton *symlog_, *cumulative_;
    AnalysisRow a_, b_;
    QString drawn_;
};

class ChannelCard : public Card {
    Q_OBJECT
public:
    explicit ChannelCard(QWidget* parent = nullptr);
    void setRows(const AnalysisRow& a, const AnalysisRow& b);
    void showRow(double row); ///< marks a row; NaN: none
    PlotChart* magnitudes() const { return magnitudes_; }
    PlotChart* errors() const { return errors_; }
    PlotChart* columns() const { return columns_; }
    QToolButton* columnsToggle() const { return columnsToggle_; } ///< switches between rows and columns

Q_SIGNALS:
    void rowHovered(double row);
    void rowsClicked(qint64 row, qint64 rowEnd); ///< several rows if points are pooled

private:
    void showAxis();
    PlotChart *magnitudes_, *errors_, *columns_;
    QToolButton* columnsToggle_;
    QString rowsNote_, columnsNote_;
    double rowsPerPoint_ = 1;
};

} // namespace qs::gui
