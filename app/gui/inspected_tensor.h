// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// One tensor under specs A and B in full detail, replaced while the specs change.

#include "app/gui/tensor_probe.h"

namespace qs::gui {

class InspectedTensor : public QObject {
    Q_OBJECT
public:
    InspectedTensor();

    const AnalysisRow& a() const { return a_; } ///< null until the first result
    const AnalysisRow& b() const { return b_; }
    bool isStale() const { return stale_; } ///< a newer result is being computed
    bool running() const { return probeA_.running() || probeB_.running(); }

    struct Question {
        std::shared_ptr<const Model> model;
        const TensorInfo& tensor;
        std::shared_ptr<const TensorStatistics> known; ///< null: not measured yet
        decltype(AnalysisOptions::inputs) inputs;
        DecodedAs decodedAs;
    };
    /// Specs that are null are not asked about.
    void ask(const Question& question, const QuantSpec* a, const QuantSpec* b);
    void setComparing(bool on);
    void setEffects(std::shared_ptr<const OutputEffects> effects); ///< puts them into both rows
    void forget();                                                 ///< answers of other inputs
    void cancel();
    void clear(); ///< for another model

Q_SIGNALS:
    void started();                            ///< what is shown is out of date now
    void answered(const qs::AnalysisRow& row); ///< before changed()
    void changed();
    void failed(const QString& sentence);

private:
    void follow(TensorProbe& probe, AnalysisRow& answer);
    TensorProbe probeA_, probeB_;
    AnalysisRow a_, b_;
    std::shared_ptr<const OutputEffects> effects_;
    bool comparing_ = false, stale_ = false;
};

} // namespace qs::gui
