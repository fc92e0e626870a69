// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Analyses one tensor under one spec in full detail. A new request cancels the one before.

#include "app/gui/task.h"
#include "core/analysis/analysis.h"

#include <QObject>
#include <QString>

#include <atomic>
#include <deque>
#include <memory>

namespace qs::gui {

class TensorProbe : public QObject {
    Q_OBJECT
public:
    explicit TensorProbe(QObject* parent = nullptr);

    /// Ends with answered() or failed(), emitted from the event loop. A remembered answer is emitted before ask()
    /// returns.
    void ask(const std::shared_ptr<const Model>& model, const TensorInfo& tensor, const QuantSpec& spec,
             const std::shared_ptr<const TensorStatistics>& known, const decltype(AnalysisOptions::inputs)& inputs = {},
             DecodedAs decodedAs = DecodedAs::F32);
    void cancel() { task_.drop(); }
    void forget(); ///< cancels the run and deletes remembered answers
    bool running() const { return task_.running(); }
    int begun() const { return begun_; }         ///< number of jobs started; remembered answers need none
    int ended() const { return ended_->load(); } ///< number of those jobs that read the whole tensor

Q_SIGNALS:
    void answered(const qs::AnalysisRow& row);
    void failed(const QString& sentence);

private:
    struct Remembered {
        std::string tensor, spec;
        AnalysisRow row;
    };
    std::deque<Remembered> remembered_; ///< newest first: undo and sliding back and forth need no job
    Task task_;
    int begun_ = 0;
    /// shared, because jobs may outlive this object
    std::shared_ptr<std::atomic<int>> ended_ = std::make_shared<std::atomic<int>>(0);
};

} // namespace qs::gui
