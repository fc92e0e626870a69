// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What the window is working on. Pages talk through the Session, never to each other.

#include "app/gui/given_inputs.h"
#include "app/gui/kept_texts.h"
#include "app/gui/model_layout.h"
#include "app/gui/model_rows.h"
#include "app/gui/moved_levels.h"
#include "app/gui/session_state.h"
#include "core/analysis/forensics/forensics.h"
#include "core/base/job.h"

#include <QDateTime>
#include <QObject>
#include <QString>
#include <QStringList>

#include <map>
#include <memory>
#include <vector>

namespace qs {
struct SessionFile;
}

namespace qs::gui {

class ModelSweep;
struct OpenedModel;
class TaskList;
class TensorProbe;

class Session : public QObject {
    Q_OBJECT
public:
    explicit Session(QObject* parent = nullptr);
    ~Session() override;

    // ---- the opened model
    void open(const QString& path); ///< on a worker thread; ends in modelChanged() or failed(); .qscope too
    void close();
    bool hasStored() const { return stored_; } ///< some tensors of the file are what `quantize` stored
    void decodeStored();                       ///< opens the same with them decoded; ends as open() does
    std::shared_ptr<const Model> model() const { return model_; }
    /// Names, groups, layers and roles of the opened model; never null, empty while no model is open.
    const std::shared_ptr<const ModelLayout>& layout() const { return layout_; }
    const Weights& weights() const { return layout_->weights; } ///< float tensors of rank >= 2, name order
    int weightIndex(const TensorInfo* tensor) const;            ///< -1: not a weight
    QStringList recentFiles() const;                            ///< newest first, existing ones, at most 12
    void addRecentFile(const QString& path);
    void setRecentFiles(const QStringList& paths); ///< those that do not exist are dropped, on a worker thread
    static QString samplePath(); ///< tiny-llama beside the binary, in the source tree or installed; "" if absent

    // ---- selection: the tensor that the inspector shows, and the browser's multi-selection
    const TensorInfo* tensor() const { return tensor_; }
    void selectTensor(const TensorInfo* tensor);
    void selectNeighbour(int step);     ///< up / down
    void selectSameRole(int layerStep); ///< [ and ]
    const std::vector<const TensorInfo*>& selection() const { return selection_; }
    void setSelection(std::vector<const TensorInfo*> selection);

    // ---- specs: A is what every page obeys, B the second one of the A/B toggle
    const QuantSpec& spec() const { return specA_; }
    void setSpec(const QuantSpec& spec);
    const QuantSpec& specB() const { return specB_; }
    void setSpecB(const QuantSpec& spec);
    bool comparing() const { return comparing_; }
    void setComparing(bool on);
    // ---- the recipe of exports: rules that come before spec A, a line each (core/export/recipe.h)
    const QString& rules() const { return rules_; }
    bool keepsRest() const { return keepsRest_; } ///< what no rule matches stays as it is, and is not under spec A
    void setRules(const QString& rules, bool keepsRest);
    /// What the codebook page made of a format's levels.
    const MovedLevels& movedLevels() const { return movedLevels_; }
    void setMovedLevels(MovedLevels levels);
    void setSpec(const QuantSpec& spec, MovedLevels levels); ///< both in one step of the history
    /// Id of the metric that heat-map, bars and tree show; default "nmse".
    QString metric() const { return metric_; }
    void setMetric(const QString& id);

    /// What the layers are given; other ones have everything measured again. Those of a file that does not fit are dropped.
    const GivenInputs& inputs() const { return inputs_; }
    void setInputs(GivenInputs inputs);

    /// What errors are measured on; another one has everything measured again.
    DecodedAs decodedAs() const { return decodedAs_; }
    void setDecodedAs(DecodedAs decodedAs);

    // ---- the selected tensor under A and B (Detail::Inspect), replaced live as the spec moves; null while none is
    // ready
    AnalysisRow current() const { return currentA_; }
    AnalysisRow currentB() const { return currentB_; }
    bool currentIsStale() const { return stale_; } ///< a newer one is being computed: dim the picture

    // ---- the whole model under spec A (and any spec asked for with analyseModel), filled live
    /// Rows known for a spec, by index of the weight.
    const ModelRows& modelRows(const QuantSpec& spec) const;
    /// Histograms of those rows, which are kept without their own; null: none is known.
    std::shared_ptr<const Distribution> pooledHistograms(const QuantSpec& spec) const;
    std::vector<QuantSpec> analysedSpecs() const;
    void analyseModel(const QuantSpec& spec); ///< background job; a second call for the same spec does nothing
    std::shared_ptr<const TensorStatistics> statistics(const TensorInfo& tensor) const; ///< null when not measured yet
    void cancelJobs();                                                                  ///< Esc
    TaskList& tasks() const; ///< that the job lane shows and Esc cancels
    bool busy() const;       ///< something is being opened or computed, or about to be
    bool laneBusy() const;   ///< of it what the job lane shows: not the selected tensor's few milliseconds

    // ---- the page in front; pages ask for another one here, e.g. a click on a cell opens "tensor"
    const QString& page() const { return page_; }
    void showPage(const QString& id);

    // ---- what a crash may not lose
    using KeptText = KeptTexts::Text;
    using Kept = KeptTexts::Kept;
    /// What a page has computed, for session files, by its name; null: nothing any more. It goes with the model.
    void keep(const QString& name, KeptText text);
    const std::map<QString, Kept>& kept() const;
    /// What the session that was opened held; null: nothing, or the page has other results since.
    std::shared_ptr<const std::string> restored(const QString& name) const;
    SessionState state() const;
    void restore(const SessionState& state); ///< opens its path; the rest follows when the model is there
    const SessionState& resumable() const;   ///< what the last run ended with; empty path: nothing
    void setResumable(const SessionState& state);
    /// The last run ended unexpectedly; resumable() is of this moment. Invalid: it did not.
    const QDateTime& diedAt() const;
    void setDiedAt(const QDateTime& when);

Q_SIGNALS:
    void modelChanged();
    void failed(const QString& sentence); ///< shown in place; the window stays usable
    void opening(const QString& path);
    /// A session file's checkpoint is open, its specs are in force: the history can follow.
    void sessionOpened(const qs::SessionFile& file, const QString& path);
    void noticed(const QString& sentence); ///< of what was opened: not a failure
    void tensorChanged();
    void selectionChanged();
    void specChanged(); ///< A, B or comparing
    void rulesChanged();
    void movedLevelsChanged();
    void metricChanged();
    void inputsChanged();
    void currentStarted(); ///< current() is stale now
    void currentChanged(); ///< a new current() or currentB()
    void rowsChanged();    ///< modelRows() grew (coalesced to at most 20 a second)
    void jobProgress(const qs::Progress& progress, double secondsLeft); ///< of the background job
    void jobFinished(const QString& what, double seconds, double gigabytesPerSecond);
    void jobCancelled();
    void workEnded(); ///< work that the lane showed is over
    /// A page asks for another one by its id ("tensor"); the window switches.
    void pageRequested(const QString& pageId);
    void pageChanged(const QString& id); ///< page() is another one now
    void recentFilesChanged();           ///< also when resumable() changed

private:
    struct Private;
    void adopt(OpenedModel opened);
    void apply(const OpenedModel& opened); ///< what its session file held
    void follow(ModelSweep& sweep);
    void follow(TensorProbe& probe, AnalysisRow Session::*answer);
    void inspect(bool a, bool b);
    void specEdited(bool a, bool b);
    std::unique_ptr<Private> d;
    std::shared_ptr<const Model> model_;
    std::shared_ptr<const ModelLayout> layout_ = std::make_shared<ModelLayout>();
    std::vector<const TensorInfo*> selection_;
    const TensorInfo* tensor_ = nullptr;
    QuantSpec specA_, specB_;
    bool comparing_ = false, stale_ = false, stored_ = false, keepsRest_ = false;
    QString rules_, metric_, page_;
    GivenInputs inputs_;
    DecodedAs decodedAs_ = DecodedAs::F32;
    AnalysisRow currentA_, currentB_;
    MovedLevels movedLevels_;
};

} // namespace qs::gui
