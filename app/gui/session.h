// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The state that the window works on. Pages talk to each other through the Session only.

#include "app/gui/decision.h"
#include "app/gui/given_inputs.h"
#include "app/gui/kept_texts.h"
#include "app/gui/model_layout.h"
#include "app/gui/model_output.h"
#include "app/gui/model_rows.h"
#include "app/gui/moved_levels.h"
#include "app/gui/session_recipe.h"
#include "app/gui/session_state.h"
#include "core/analysis/forensics/forensics.h"
#include "core/base/job.h"

#include <QObject>
#include <QString>
#include <QStringList>

#include <map>
#include <memory>
#include <vector>

namespace qs {
struct SessionFile;
} // namespace qs

namespace qs::gui {

class InspectedTensor;
class ModelSweep;
struct OpenedModel;
struct PageTraits;

class Session : public QObject {
    Q_OBJECT
public:
    explicit Session(QObject* parent = nullptr);
    ~Session() override;

    // ---- the opened model
    /// on a worker thread, also for .qscope files; ends with modelChanged() or failed()
    /// `as`: id of the convention that quantized layers are read by, see OpenOptions; "": as the checkpoint says.
    void open(const QString& path, const QString& as = {});
    void close(); ///< forgets all that belongs to the model; the specs and the view stay
    /// some tensors of the file were stored by `quantize` (codes and scales)
    bool hasStored() const { return stored_; }
    /// opens the same model with those tensors decoded; ends as open() does
    void decodeStored();
    std::shared_ptr<const Model> model() const { return model_; }
    /// Names, groups, layers and roles of the opened model; never null, empty while no model is open.
    const std::shared_ptr<const ModelLayout>& layout() const { return layout_; }
    const Weights& weights() const { return layout_->weights; } ///< float tensors of rank >= 2, sorted by name
    int weightIndex(const TensorInfo* tensor) const;            ///< -1: the tensor is not a weight
    QStringList recentFiles() const;                            ///< newest first, only existing files, at most 12
    void addRecentFile(const QString& path);
    void setRecentFiles(const QStringList& paths); ///< files that do not exist are dropped, on a worker thread
    /// path of the tiny-llama sample: beside the binary, in the source tree or installed; "" if absent
    static QString samplePath();

    // ---- selection: the tensor on the tensor page, and the multi-selection of the browser
    const TensorInfo* tensor() const { return tensor_; }
    void selectTensor(const TensorInfo* tensor);
    void selectNeighbour(int step);     ///< selects the tensor above (-1) or below (1)
    void selectSameRole(int layerStep); ///< selects the same role in another layer: keys [ and ]
    const std::vector<const TensorInfo*>& selection() const { return selection_; }
    void setSelection(std::vector<const TensorInfo*> selection);

    // ---- specs: every page uses A; B is the second spec of the A/B toggle
    const QuantSpec& spec() const { return specA_; }
    void setSpec(const QuantSpec& spec);
    const QuantSpec& specB() const { return specB_; }
    void setSpecB(const QuantSpec& spec);
    bool comparing() const { return comparing_; }
    void setComparing(bool on);
    // ---- the recipe, which every page shows and exports write: one rule per line, tried before spec A
    // (core/export/rule_book.h)
    const QString& rules() const;
    /// tensors that match no rule stay unquantized instead of using spec A
    bool keepsRest() const;
    void setRules(const QString& rules, bool keepsRest);
    /// The same with the user's own rules, or those of a plan, replaced. Nothing changes where a rule fits in no line.
    void setRules(const RuleLines& lines, bool keepsRest);
    /// There are rules, or tensors without a rule stay as they are: spec A alone does not decide.
    bool hasRecipe() const { return !rules().isEmpty() || keepsRest(); }
    void clearRecipe() { setRules(QString(), false); } ///< spec A for all
    /// What the rules say of every weight; never null. Large models: a moment later than rules().
    const std::shared_ptr<const SessionRecipe>& recipe() const;
    /// The layout whose bytes recipeRows() have: that of a mixed recipe, or else the default one of spec A.
    const Layout& countedLayout() const;
    /// The rows of the model under the recipe, as modelRows().
    const ModelRows& recipeRows() const;
    void analyseRecipe(); ///< as analyseModel()
    /// Levels that the codebook page moved or learned.
    const MovedLevels& movedLevels() const { return movedLevels_; }
    void setMovedLevels(MovedLevels levels);
    void setSpec(const QuantSpec& spec, MovedLevels levels); ///< one step of the history changes both
    /// Id of the metric that heat map, bars and tree show; default "nmse".
    QString metric() const { return metric_; }
    void setMetric(const QString& id);

    /// The inputs of the layers. Setting others measures everything again. Inputs from a file that do not fit the
    /// layers are dropped.
    const GivenInputs& inputs() const { return inputs_; }
    void setInputs(GivenInputs inputs);

    /// The type in which errors are measured. Setting another one measures everything again.
    DecodedAs decodedAs() const { return decodedAs_; }
    void setDecodedAs(DecodedAs decodedAs);

    // ---- the selected tensor under A and B (Detail::Inspect), replaced while the spec changes; null until the first
    // result
    AnalysisRow current() const;
    AnalysisRow currentB() const;
    bool currentIsStale() const; ///< a newer result is being computed: show the picture dimmed

    // ---- the whole model under spec A (and each spec passed to analyseModel), filled as results arrive
    /// The rows of a spec, by index of the weight.
    const ModelRows& modelRows(const QuantSpec& spec) const;
    /// Sum of the histograms of those rows, because the rows are kept without; null: nothing is measured.
    std::shared_ptr<const Distribution> pooledHistograms(const QuantSpec& spec) const;
    std::vector<QuantSpec> analysedSpecs() const;
    /// starts a background job; does nothing when the spec is known or queued
    void analyseModel(const QuantSpec& spec);
    std::shared_ptr<const TensorStatistics> statistics(const TensorInfo& tensor) const; ///< null: not measured yet
    void cancelJobs();                                                                  ///< Esc
    TaskList& tasks() const; ///< the tasks that the job lane shows and Esc cancels
    bool busy() const;       ///< something is being opened or computed, or will be at once
    /// the part of busy() that the job lane shows: not the few milliseconds of the selected tensor
    bool laneBusy() const;

    /// What is known of the model's output, beside the figures of its weights. Its effects are put into all rows.
    ModelOutput& output() const;

    // ---- the page in front. A page asks for another one here: a click on a cell opens the page of the tensor
    const QString& page() const { return page_; }
    void showPage(const QString& id);
    void showPage(const PageTraits& page);
    bool isOn(const PageTraits& page) const;

    // ---- results that must survive a crash
    using KeptText = KeptTexts::Text;
    using Kept = KeptTexts::Kept;
    /// Stores what a page has computed under a name, for session files; null removes it. It is deleted with the model.
    void keep(const QString& name, KeptText text);
    const std::map<QString, Kept>& kept() const;
    /// The text of the opened session file; null: there is none, or the page has newer results.
    std::shared_ptr<const std::string> restored(const QString& name) const;
    /// What the pages Plan, Backends and Export decide together.
    Decision& decision() const;
    /// Gives the plan the recipe that it starts from; "", "": none.
    void startPlanFrom(const QString& name, const QString& rules);
    /// The text that the opened sample ships with; "" for other models.
    QString sampleText() const;
    SessionState state() const;
    /// opens the path of the state; the rest is applied when the model is open
    void restore(const SessionState& state);
    const FormerRun& formerRun() const;
    void setFormerRun(FormerRun former);

Q_SIGNALS:
    void modelChanged();
    /// What belonged to the former model was forgotten: its recipe, its levels, its history. Before modelChanged().
    void modelLeft();
    void failed(const QString& sentence); ///< shown in the window, which stays usable
    void opening(const QString& path);
    /// The checkpoint of a session file is open and its specs are set: the history can be restored.
    void sessionOpened(const qs::SessionFile& file, const QString& path);
    void noticed(const QString& sentence); ///< a remark on what was opened; not a failure
    void tensorChanged();
    void selectionChanged();
    void specChanged(); ///< A, B or the toggle changed
    void rulesChanged();
    void recipeChanged(); ///< recipe() was replaced; not while spec A is for all: then specChanged() says it
    void movedLevelsChanged();
    void metricChanged();
    void inputsChanged();
    void currentStarted(); ///< current() is out of date now
    void currentChanged(); ///< current() or currentB() was replaced
    void rowsChanged();    ///< modelRows() grew; at most 20 signals a second
    void jobProgress(const qs::Progress& progress, double secondsLeft); ///< of the background job
    void jobFinished(const QString& what, double seconds, double gigabytesPerSecond);
    void jobCancelled(const QString& kept); ///< TaskList::kept()
    void workEnded();                       ///< work that the job lane showed has ended
    /// A page asks for another one by its id ("tensor"); the window then shows it.
    void pageChanged(const QString& id); ///< page() has changed
    void recentFilesChanged();           ///< also when formerRun() changed

private:
    struct Private;
    void adopt(OpenedModel opened);
    struct Left { // what leave() has reset
        bool rules = false, levels = false;
    };
    Left leave(bool keepsRecipe); ///< forgets the model and what belongs to it; emits nothing of it
    void sayLeft(const Left& left);
    void apply(const OpenedModel& opened); ///< applies what the session file of the model held
    void judgeRecipe();                    ///< makes recipe() of the rules, spec A and the model
    void follow(ModelSweep& sweep);
    void follow(InspectedTensor& inspected);
    void follow(ModelOutput& output);
    void inspect(bool a, bool b);
    void specEdited(bool a, bool b);
    std::unique_ptr<Private> d;
    std::shared_ptr<const Model> model_;
    std::shared_ptr<const ModelLayout> layout_ = std::make_shared<ModelLayout>();
    std::vector<const TensorInfo*> selection_;
    const TensorInfo* tensor_ = nullptr;
    QuantSpec specA_, specB_;
    bool comparing_ = false, stored_ = false;
    QString metric_, page_;
    GivenInputs inputs_;
    DecodedAs decodedAs_ = DecodedAs::F32;
    MovedLevels movedLevels_;
};

} // namespace qs::gui
