// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The charts of the backends page. Each marks the selected row and reports which row was clicked.

#include "app/gui/pages/backends/backends_rows.h"
#include "app/gui/widgets/card.h"

class QComboBox;
class QLabel;

namespace qs::gui {

class BenchRun;

class LatencyCard : public Card {
    Q_OBJECT
public:
    explicit LatencyCard(const BenchRun& bench, QWidget* parent = nullptr);
    void refresh();
    void show(int row); ///< shows the chart of the row and a ring around its point; -1: none

Q_SIGNALS:
    void rowClicked(int row);

private:
    void draw();
    const LatencyChart* current() const;
    const BenchRun& bench_;
    PlotChart* chart_;
    QComboBox* group_;
    QToolButton* all_;
    std::vector<LatencyChart> charts_;
    int shown_ = -1;
};

class SpeedupCard : public Card {
    Q_OBJECT
public:
    explicit SpeedupCard(const BenchRun& bench, QWidget* parent = nullptr);
    void refresh();
    void show(int row); ///< shows the map of the row and marks its cell; -1: none

Q_SIGNALS:
    void rowClicked(int row);
    void againAsked(); ///< rows with the state busy must be measured again

private:
    void draw();
    void explainBusy();
    int rowAt(int row, int column) const; ///< -1: none
    const BenchRun& bench_;
    HeatMap* map_;
    QLabel* busy_;       ///< above the map: why cells are hatched, and a remedy
    QToolButton* again_; ///< measures busy rows again
    QComboBox* group_;
    std::vector<SpeedupMap> maps_;
    int shown_ = -1; ///< marked in its map
};

class RooflineCard : public Card {
    Q_OBJECT
public:
    explicit RooflineCard(const BenchRun& bench, QWidget* parent = nullptr);
    void refresh();
    void show(int row); ///< shows the device of the row and a ring around its point; -1: none

Q_SIGNALS:
    void rowClicked(int row);

private:
    void draw();
    const BenchRun& bench_;
    PlotChart* chart_;
    QComboBox* device_;
    std::vector<Roofline> rooflines_;
    int shown_ = -1;
};

} // namespace qs::gui
