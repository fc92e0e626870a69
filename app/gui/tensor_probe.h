// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// One tensor under one spec, in full detail, always the newest question: a new one cancels the old.

#include "core/analysis/analysis.h"

#include <QObject>
#include <QString>

#include <deque>

namespace qs::gui {

class TensorProbe : public QObject {
    Q_OBJECT
public:
    explicit TensorProbe(QObject* parent = nullptr);
    ~TensorProbe() override;

    /// answered() or failed() follows from the event loop; at once, before ask() returns, when the answer is
    /// remembered.
    void ask(const std::shared_ptr<const Model>& model, const TensorInfo& tensor, const QuantSpec& spec,
             const std::shared_ptr<const TensorStatistics>& known);
    void cancel();
    void forget(); ///< cancel, and drop what is remembered
    bool running() const { return running_; }

Q_SIGNALS:
    void answered(const qs::AnalysisRow& row);
    void failed(const QString& sentence);

private:
    struct Remembered {
        std::string tensor, spec;
        AnalysisRow row;
    };
    std::deque<Remembered> remembered_; ///< newest first: undo and sliding back and forth need no job
    Job job_;
    bool running_ = false;
};

} // namespace qs::gui
