// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The charts of the backends page. Each can show the row that is selected and says which row was clicked.

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
    void show(int row); ///< its chart, and a ring about its point; -1: none

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
    void show(int row); ///< its map and cell; -1: none

Q_SIGNALS:
    void rowClicked(int row);
    void againAsked(); ///< what is busy is to be timed again

private:
    void draw();
    void explainBusy();
    int rowAt(int row, int column) const; ///< -1: none
    const BenchRun& bench_;
    HeatMap* map_;
    QLabel* busy_;       ///< over the map: why cells are hatched, and what to do
    QToolButton* again_; ///< the busy rows
    QComboBox* group_;
    std::vector<SpeedupMap> maps_;
    int shown_ = -1; ///< outlined in the map that has it
};

class RooflineCard : public Card {
    Q_OBJECT
public:
    explicit RooflineCard(const BenchRun& bench, QWidget* parent = nullptr);
    void refresh();
    void show(int row); ///< its device, and a ring about its point; -1: none

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
