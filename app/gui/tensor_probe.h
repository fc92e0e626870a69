// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// One tensor under one spec, in full detail, always the newest question: a new one cancels the old.

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

    /// answered() or failed() follows from the event loop; at once, before ask() returns, when the answer is
    /// remembered.
    void ask(const std::shared_ptr<const Model>& model, const TensorInfo& tensor, const QuantSpec& spec,
             const std::shared_ptr<const TensorStatistics>& known, const decltype(AnalysisOptions::inputs)& inputs = {},
             DecodedAs decodedAs = DecodedAs::F32);
    void cancel() { task_.drop(); }
    void forget(); ///< cancel, and drop what is remembered
    bool running() const { return task_.running(); }
    int begun() const { return begun_; }         ///< jobs; remembered answers need none
    int ended() const { return ended_->load(); } ///< of them those that went through the whole tensor

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
    std::shared_ptr<std::atomic<int>> ended_ = std::make_shared<std::atomic<int>>(0); ///< jobs may outlive this
};

} // namespace qs::gui
