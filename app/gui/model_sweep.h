// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Analyses the whole model in the background under one spec or recipe after another. Rows are kept without their histograms: for
// 100,000 tensors those would need 25 GB.

#include "app/gui/model_rows.h"
#include "app/gui/session_recipe.h"
#include "app/gui/task.h"

#include <QObject>

#include <deque>
#include <memory>

namespace qs::gui {

class ModelSweep : public QObject {
    Q_OBJECT
public:
    explicit ModelSweep(TaskList& tasks, QObject* parent = nullptr);

    /// deletes all results
    void setModel(std::shared_ptr<const Model> model, std::vector<const TensorInfo*> weights);
    /// Deletes every row and measures the known specs again, `first` before the others.
    void setInputs(decltype(AnalysisOptions::inputs) inputs, const QuantSpec& first);
    void setDecodedAs(DecodedAs decodedAs, const QuantSpec& first); ///< as setInputs()
    /// Puts what is known of the model's output into all rows, and into those that come; null: nothing.
    void setEffects(std::shared_ptr<const OutputEffects> effects);
    /// Appends the spec to the queue. Results of a cancelled run are kept; only the missing rows are measured.
    void ask(const QuantSpec& spec);
    /// The same for a recipe that is mixed. Rows that are known under its specs are not measured again. Tensors that stay
    /// as they are get a row that is refused and says so. Queued recipes that are older are dropped.
    void ask(std::shared_ptr<const SessionRecipe> recipe);
    /// Cancels the run of this spec, or removes it from the queue.
    void withdraw(const QuantSpec& spec);
    void cancel(); ///< cancels the run and the queue
    bool running() const { return task_.running(); }

    const ModelRows& rows(const QuantSpec& spec) const;
    const ModelRows& rows(const SessionRecipe& recipe) const;
    std::shared_ptr<const Distribution> pooled(const QuantSpec& spec) const; ///< null: nothing is measured
    std::vector<QuantSpec> specs() const;
    std::shared_ptr<const TensorStatistics> statistics(const TensorInfo& tensor) const;
    /// Inserts rows of an earlier run, without histograms. Tensors that have a row under this spec keep it.
    void restore(const QuantSpec& spec, const std::vector<AnalysisRow>& rows);
    void learn(const AnalysisRow& row); ///< stores the statistics of a row that was measured elsewhere

Q_SIGNALS:
    void rowsChanged();
    void finished(const QString& what, double seconds, double gigabytesPerSecond);
    void failed(const QString& sentence);

private:
    struct Mail; ///< results on the way from the worker thread to the window
    /// A spec for all weights, or a recipe.
    struct Wanted {
        std::string key; ///< equal for equal specs and recipes
        QuantSpec spec;
        std::shared_ptr<const SessionRecipe> recipe;       ///< null: `spec` for all
        const QuantSpec* specOf(std::size_t weight) const; ///< null: it stays as it is
        std::string title() const;
    };
    struct Under {
        Wanted wanted;
        ModelRows rows;
        std::shared_ptr<const Distribution> pooled; ///< sum of the histograms of all rows; replaced, never modified
    };
    static Wanted wantedOf(const QuantSpec& spec);
    void ask(Wanted wanted);
    void measureAgain(const QuantSpec& first);
    void next();
    void take(Mail mail);
    /// Under a recipe a row has the bytes of the recipe's layout.
    AnalysisRow sized(const Wanted& wanted, std::size_t weight, AnalysisRow row) const;
    void takeSizes(Under& under, std::shared_ptr<const SessionRecipe> recipe); ///< of the same recipe in another layout
    bool takeKnown(Under& under); ///< rows of a recipe that need no measurement; false: there are none
    Under* find(const std::string& key);
    const ModelRows& rowsOf(const std::string& key) const;
    std::size_t indexOf(const TensorInfo& tensor) const { return std::size_t(&tensor - model_->tensors.data()); }

    std::shared_ptr<const Model> model_;
    std::vector<const TensorInfo*> weights_;
    std::deque<std::unique_ptr<Under>> known_; ///< newest last
    std::deque<Wanted> queue_;
    decltype(AnalysisOptions::inputs) inputs_;
    DecodedAs decodedAs_ = DecodedAs::F32;
    std::shared_ptr<const OutputEffects> effects_;
    std::vector<std::shared_ptr<const TensorStatistics>> statistics_; ///< per tensor of the model
    Wanted running_;
    QElapsedTimer clock_;
    Task task_;
};

} // namespace qs::gui
