// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Which tensor breaks: each tensor's effect on the output, as layer x role map, ranked bars with their errors, and
// predictions against what was measured. What is finished is kept in the cache of core/eval/sensitivity: a run that was
// cancelled goes on where it was.

#include "app/gui/output_text.h"
#include "app/gui/pages/evidence/evidence_run.h"
#include "core/eval/sensitivity/sensitivity.h"

#include <QWidget>

#include <map>
#include <optional>

class QComboBox;
class QPushButton;

namespace qs::gui {

class Card;
class HeatMap;
class PlotChart;
class RankedBars;
class Session;
class StatusLine;

class EvidenceTensors : public QWidget {
    Q_OBJECT
public:
    /// `settings`: what the page evaluates.
    EvidenceTensors(Session& session, std::function<EvidenceSettings()> settings, QWidget* parent = nullptr);
    bool running() const { return task_.running(); }
    void clear();  ///< of another model or text
    void follow(); ///< the settings: whether a run can be begun
    /// Of all ways that were measured on this text.
    std::vector<eval::SensitivityRow> rows() const;
    /// What was measured before, out of a session file; `byHow` as byHow().
    void restore(const eval::Sensitivity& known, std::shared_ptr<const SensitivityRows> byHow);
    eval::Sensitivity known() const; ///< for restore()
    /// A measurement by `how` that had not ended when the session was saved.
    void goOnWith(EvidenceSettings settings, const std::string& how);
    void refuse(const QString& why); ///< why nothing can be measured of this model; empty: it can
    /// The same by the way they were measured, once a run has ended; null: none was.
    const std::shared_ptr<const SensitivityRows>& byHow() const { return finished_; }
    std::size_t chunks() const; ///< the first ones of the text, on which all was measured
    HeatMap* map() const { return map_; }
    RankedBars* bars() const { return bars_; }
    PlotChart* predictions() const { return predictions_; }

Q_SIGNALS:
    void changed(); ///< rows()
    void settled();

private:
    QWidget* controls();
    void begin();
    void draw();
    void drawTensors(const std::vector<const eval::SensitivityRow*>& ranked);
    void drawPredictions();
    void open(int weight);
    const eval::SensitivityHow& how() const;
    bool goesOn() const; ///< whether the next run is one that was cancelled

    Session& session_;
    std::function<EvidenceSettings()> settings_;
    Task task_;
    SensitivityRows rows_;
    std::shared_ptr<const SensitivityRows> finished_;
    std::map<std::string, std::size_t> chunks_; ///< of each way
    std::optional<std::pair<EvidenceSettings, const eval::SensitivityHow*>> begun_, cancelled_;
    QString refusal_;
    std::map<std::string, std::vector<eval::Additivity>> additivity_;
    std::vector<int> weightOfBar_, weightOfCell_;
    QComboBox *how_, *spec_;
    QPushButton *start_, *stop_;
    StatusLine* status_;
    Card *mapCard_, *barsCard_, *predictionsCard_;
    HeatMap* map_;
    RankedBars* bars_;
    PlotChart* predictions_;
};

} // namespace qs::gui
