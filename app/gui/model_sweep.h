// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The whole model under one spec after another, in the background. Rows are kept without their histograms: a model of
// 100,000 tensors would need 25 GB for those.

#include "app/gui/model_rows.h"
#include "app/gui/task.h"

#include <QObject>

#include <deque>
#include <memory>

namespace qs::gui {

class ModelSweep : public QObject {
    Q_OBJECT
public:
    explicit ModelSweep(TaskList& tasks, QObject* parent = nullptr);

    void setModel(std::shared_ptr<const Model> model, std::vector<const TensorInfo*> weights); ///< forgets everything
    /// Forgets every row and measures the known specs again, `first` before the others.
    void setInputs(decltype(AnalysisOptions::inputs) inputs, const QuantSpec& first);
    void setDecodedAs(DecodedAs decodedAs, const QuantSpec& first); ///< the same
    /// Queued behind what runs; what a cancelled run left is kept and only the rest is measured.
    void ask(const QuantSpec& spec);
    /// Stops a run under this spec and takes it out of the queue.
    void withdraw(const QuantSpec& spec);
    void cancel(); ///< all of it
    bool running() const { return task_.running(); }

    const ModelRows& rows(const QuantSpec& spec) const;
    std::shared_ptr<const Distribution> pooled(const QuantSpec& spec) const; ///< null: nothing measured
    std::vector<QuantSpec> specs() const;
    std::shared_ptr<const TensorStatistics> statistics(const TensorInfo& tensor) const;
    /// Rows that were measured before, without histograms; those of tensors under a spec that is known stay.
    void restore(const QuantSpec& spec, const std::vector<AnalysisRow>& rows);
    void learn(const AnalysisRow& row); ///< statistics that somebody else measured

Q_SIGNALS:
    void rowsChanged();
    void finished(const QString& what, double seconds, double gigabytesPerSecond);
    void failed(const QString& sentence);

private:
    struct Mail; ///< what the work leaves for the window
    struct Under {
        QuantSpec spec;
        ModelRows rows;
        std::shared_ptr<const Distribution> pooled; ///< of the rows; replaced, never written
    };
    void measureAgain(const QuantSpec& first);
    void next();
    void take(Mail mail);
    Under* find(const QuantSpec& spec);
    std::size_t indexOf(const TensorInfo& tensor) const { return std::size_t(&tensor - model_->tensors.data()); }

    std::shared_ptr<const Model> model_;
    std::vector<const TensorInfo*> weights_;
    std::deque<std::unique_ptr<Under>> known_; ///< newest last
    std::deque<QuantSpec> queue_;
    decltype(AnalysisOptions::inputs) inputs_;
    DecodedAs decodedAs_ = DecodedAs::F32;
    std::vector<std::shared_ptr<const TensorStatistics>> statistics_; ///< per tensor of the model
    QuantSpec running_;
    QElapsedTimer clock_;
    Task task_;
};

} // namespace qs::gui
