// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/session_private.h"

#include "app/gui/page.h"
#include "app/gui/resource_path.h"
#include "app/gui/session_results.h"
#include "app/gui/spec_edit.h"
#include "core/base/lists.h"
#include "core/base/text.h"

#include <QCoreApplication>
#include <QDir>
#include <QFileInfo>

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace qs::gui {
namespace {

QuantSpec defaultSpec(const char* format, std::optional<std::uint32_t> block) {
    QuantSpec spec;
    spec.format = format;
    spec.block = block;
    return spec;
}

} // namespace

Session::Session(QObject* parent)
    : QObject(parent), specA_(defaultSpec("nf4", 64)), specB_(defaultSpec("int8", std::nullopt)),
      metric_(QString::fromUtf8(nmseMetric().id)), page_(QString::fromLatin1(kStartPage.id)) {
    // Jobs are few and long, and use all cores themselves: a queued job must not wait until a pool thread is idle.
    auto* pool = QThreadPool::globalInstance();
    pool->setMaxThreadCount(std::max(8, pool->maxThreadCount()));
    d = std::make_unique<Private>(this);
    connect(&d->tasks, &TaskList::progressed, this, &Session::jobProgress);
    connect(&d->tasks, &TaskList::ended, this, &Session::workEnded);
    connect(&d->opener, &ModelOpener::opening, this, &Session::opening);
    connect(&d->opener, &ModelOpener::failed, this, &Session::failed);
    connect(&d->opener, &ModelOpener::ended, this, &Session::workEnded);
    connect(&d->recent, &RecentFiles::changed, this, &Session::recentFilesChanged);
    follow(d->sweep);
    d->inspected.setParent(this); // so that its jobs are found among the children of the session
    follow(d->inspected);
    follow(d->output);
    connect(&d->rules, &SessionRules::recipeChanged, this, &Session::recipeChanged);
    connect(&d->decision, &Decision::layoutChanged, this, [this] {
        if (model_ && recipe()->isMixed()) judgeRecipe(); // other bytes
    });
    connect(&d->rules, &SessionRules::judged, this, [this] {
        if (model_ && recipe()->isMixed()) d->settle.start();
    });
    connect(&d->settle, &QTimer::timeout, this, [this] {
        if (d->inspected.running()) {
            d->settle.start(); // the page in front is updated first
            return;
        }
        if (recipe()->isMixed()) d->sweep.ask(recipe());
        d->sweep.ask(specA_);
    });
}

void Session::follow(ModelSweep& sweep) {
    connect(&sweep, &ModelSweep::rowsChanged, this, &Session::rowsChanged);
    connect(&sweep, &ModelSweep::finished, this, &Session::jobFinished);
    connect(&sweep, &ModelSweep::failed, this, [this](const QString& sentence) {
        Q_EMIT failed(sentence);
        setInputs({}); // inputs that match no layer would make every analysis fail
    });
}

void Session::follow(InspectedTensor& inspected) {
    connect(&inspected, &InspectedTensor::started, this, &Session::currentStarted);
    connect(&inspected, &InspectedTensor::answered, this, [this](const AnalysisRow& row) { d->sweep.learn(row); });
    connect(&inspected, &InspectedTensor::changed, this, &Session::currentChanged);
    connect(&inspected, &InspectedTensor::failed, this, &Session::failed);
}

void Session::follow(ModelOutput& output) {
    output.setTrustSource([this] {
        std::vector<TrustKeeper::Measured> out;
        if (d->output.effects())
            for (const QuantSpec& spec : d->sweep.specs())
                out.push_back({canonicalText(spec), d->sweep.rows(spec), weights().size()});
        return out;
    });
    connect(this, &Session::rowsChanged, &output, &ModelOutput::rowsChanged);
    connect(&output, &ModelOutput::effectsChanged, this, [this] {
        d->sweep.setEffects(d->output.effects());
        d->inspected.setEffects(d->output.effects());
    });
    connect(&output, &ModelOutput::importRequested, this, [this] { showPage(kEvidencePage); });
}

// a task that ends now must not call a session that is being destroyed
Session::~Session() { d->tasks.disconnect(this); }

// ---- the opened model ----------------------------------------------------------------------------------------------

void Session::open(const QString& path, const QString& as) { d->opener.open(path, as.toStdString()); }
void Session::restore(const SessionState& state) { d->opener.restore(state); }

void Session::decodeStored() {
    if (model_ && stored_) d->opener.decode(model_, [this] { return state(); }); // with the specs and the page
}

/// Saved results are used only if the files have not changed since.
void Session::apply(const OpenedModel& opened) {
    if (!opened.saved) return;
    const auto& [file, path, changed] = *opened.saved;
    if (changed.empty())
        for (const auto& results : file.results)
            if (const auto spec = savedSpec(results.spec)) d->sweep.restore(*spec, rowsOf(results, *model_));
    Q_EMIT sessionOpened(file, path);
    if (const auto& [last, diedAt] = d->former; changed.empty() && diedAt.isValid() && path == last.saved)
        Q_EMIT noticed(QStringLiteral("Restored as of %1.").arg(momentText(diedAt)));
    if (!changed.empty())
        Q_EMIT noticed(QString::fromStdString(
            oneSentence(changed.front() +
                        (changed.size() > 1 ? fmt::format(" (And {} more.)", changed.size() - 1) : std::string()))));
}

void Session::adopt(OpenedModel opened) {
    const Left left = leave(opened.isSame);
    model_ = std::move(opened.model);
    layout_ = std::move(opened.layout);
    stored_ = opened.stored;
    if (!opened.isSame) d->as = std::move(opened.as);
    d->sweep.setModel(model_, weights());
    d->recent.put(QString::fromStdString(model_->path));
    if (opened.saved && opened.saved->changed.empty())
        for (auto& [name, text] : opened.saved->file.kept) d->kept.restore(name, std::move(text));
    const auto& wanted = opened.view;
    const auto settings = [this] { return std::tuple(specA_, specB_, comparing_, metric_); };
    const auto before = settings();
    if (!wanted.path.isEmpty()) {
        if (const auto a = savedSpec(wanted.specA.toStdString())) specA_ = *a;
        if (const auto b = savedSpec(wanted.specB.toStdString())) specB_ = *b;
        comparing_ = wanted.comparing;
        d->inspected.setComparing(comparing_);
        if (findMetric(wanted.metric.toStdString())) metric_ = wanted.metric;
    }
    tensor_ = model_->find(wanted.tensor.toStdString());
    if (!tensor_) tensor_ = layout_->firstWeight(*model_);
    if (tensor_) selection_ = {tensor_};

    if (!opened.isSame) Q_EMIT modelLeft();
    Q_EMIT modelChanged();
    judgeRecipe();
    sayLeft(left);
    if (settings() != before) Q_EMIT specChanged();
    Q_EMIT tensorChanged();
    Q_EMIT selectionChanged();
    apply(opened);
    d->output.restore({restored(QLatin1String(kEvidenceKept)), restored(QLatin1String(kTensorsKept)),
                       restored(QLatin1String(kEvidenceBegun)), restored(QLatin1String(kTensorsBegun))});
    inspect(true, comparing_);
    d->settle.start();
    // In later turns of the event loop: the start page checks files, and a page is created when it is first shown.
    QTimer::singleShot(0, this, &Session::recentFilesChanged);
    const auto page = !wanted.page.isEmpty() ? wanted.page
                      : isOn(kStartPage)     ? QString::fromLatin1(kOverviewPage.id)
                                             : page_;
    QTimer::singleShot(0, this, [this, page, before = page_] {
        if (model_ && page_ == before) showPage(page);
    });
}

void Session::close() {
    const bool had = model_ != nullptr;
    const Left left = leave(false);
    if (!had) return;
    Q_EMIT modelLeft();
    Q_EMIT modelChanged();
    sayLeft(left);
}

/// After modelChanged(), so that no page sees the new rules with the old model.
void Session::sayLeft(const Left& left) {
    if (left.rules) Q_EMIT rulesChanged();
    if (left.levels) Q_EMIT movedLevelsChanged();
}

Session::Left Session::leave(bool keepsRecipe) {
    d->settle.stop();
    d->sweep.setModel(nullptr, {});
    d->opener.stopDecoding();
    d->kept.clear();
    stored_ = false;
    d->rules.forgetModel();
    Left left;
    if (!keepsRecipe) {
        left.rules = d->rules.set(QString(), false);
        left.levels = std::exchange(movedLevels_, {}) != MovedLevels();
    }
    tensor_ = nullptr;
    selection_.clear();
    layout_ = std::make_shared<ModelLayout>();
    d->inspected.clear();
    model_.reset();
    d->output.clear();
    d->sweep.setEffects(nullptr);
    setInputs({});
    d->decision.clear();
    return left;
}

QStringList Session::recentFiles() const { return d->recent.paths(); }
void Session::addRecentFile(const QString& path) { d->recent.add(path); }
void Session::setRecentFiles(const QStringList& paths) { d->recent.append(paths); }

QString Session::samplePath() { return resourcePath("samples/tiny-llama", "resources/samples/tiny-llama"); }

QString Session::sampleText() const {
    const QString sample = samplePath();
    if (!model_ || sample.isEmpty() || QFileInfo(QString::fromStdString(model_->path)) != QFileInfo(sample)) return {};
    const QString path = sample + QStringLiteral("/heldout.txt");
    return QFileInfo::exists(path) ? path : QString();
}

// ---- selection, specs and what is measured under them ---------------------------------------------------------------

void Session::selectTensor(const TensorInfo* tensor) {
    if (tensor == tensor_ || !model_) return;
    tensor_ = tensor;
    Q_EMIT tensorChanged();
    if (tensor_ && !contains(selection_, tensor_)) setSelection({tensor_});
    if (tensor_) inspect(true, comparing_);
}

void Session::selectNeighbour(int step) {
    if (const auto* other = layout_->neighbour(tensor_, step)) selectTensor(other);
}

void Session::selectSameRole(int layerStep) {
    if (const auto* other = tensor_ ? layout_->sameRole(*tensor_, layerStep) : nullptr) selectTensor(other);
}

void Session::setSelection(std::vector<const TensorInfo*> selection) {
    if (selection == selection_) return;
    selection_ = std::move(selection);
    Q_EMIT selectionChanged();
}

void Session::setSpec(const QuantSpec& spec) {
    if (spec == specA_) return;
    d->sweep.withdraw(specA_);
    specA_ = spec;
    specEdited(true, false);
}

void Session::setSpecB(const QuantSpec& spec) {
    if (spec == specB_) return;
    specB_ = spec;
    specEdited(false, comparing_);
}

void Session::setComparing(bool on) {
    if (on == comparing_) return;
    comparing_ = on;
    d->inspected.setComparing(on);
    specEdited(false, on);
}

void Session::specEdited(bool a, bool b) {
    if (a) judgeRecipe();
    Q_EMIT specChanged();
    inspect(a, b);
    if (model_ && a) d->settle.start();
}

// ---- the rules and the recipe that they make ------------------------------------------------------------------------

const QString& Session::rules() const { return d->rules.text(); }
bool Session::keepsRest() const { return d->rules.keepsRest(); }
const std::shared_ptr<const SessionRecipe>& Session::recipe() const { return d->rules.recipe(); }
void Session::judgeRecipe() { d->rules.judge(model_, layout_, specA_, findLayout(d->decision.layout().toStdString())); }

const Layout& Session::countedLayout() const {
    return recipe()->sizes.layout ? *recipe()->sizes.layout : defaultLayout(specA_);
}

void Session::setRules(const QString& rules, bool keepsRest) {
    if (!d->rules.set(rules, keepsRest)) return;
    judgeRecipe();
    Q_EMIT rulesChanged();
    if (model_) d->settle.start();
}

void Session::setRules(const RuleLines& lines, bool keepsRest) {
    if (const auto text = ruleLinesText(lines)) setRules(QString::fromStdString(*text), keepsRest);
}

void Session::analyseRecipe() {
    if (recipe()->isMixed())
        d->sweep.ask(recipe());
    else
        d->sweep.ask(specA_);
}

const ModelRows& Session::recipeRows() const {
    return recipe()->isMixed() ? d->sweep.rows(*recipe()) : d->sweep.rows(specA_);
}

void Session::startPlanFrom(const QString& name, const QString& rules) {
    d->decision.setStart({name, rules, name.isEmpty() ? nullptr : sessionRecipe(weights(), rules, true, specA_)});
}

// ---- what is measured -----------------------------------------------------------------------------------------------

void Session::setMovedLevels(MovedLevels levels) {
    if (levels == movedLevels_) return;
    movedLevels_ = std::move(levels);
    Q_EMIT movedLevelsChanged();
}

void Session::setSpec(const QuantSpec& spec, MovedLevels levels) {
    const bool others = levels != movedLevels_;
    movedLevels_ = std::move(levels);
    setSpec(spec);
    if (others) Q_EMIT movedLevelsChanged();
}

void Session::setMetric(const QString& id) {
    if (id == metric_ || !findMetric(id.toStdString())) return;
    metric_ = id;
    Q_EMIT metricChanged();
}

void Session::setInputs(GivenInputs inputs) {
    if (inputs.file == inputs_.file && inputs.synthetic == inputs_.synthetic) return;
    inputs_ = std::move(inputs);
    d->inspected.forget();
    Q_EMIT inputsChanged();
    d->sweep.setInputs(inputs_.ofLayers(), specA_);
    inspect(true, comparing_);
}

void Session::setDecodedAs(DecodedAs decodedAs) {
    if (decodedAs == decodedAs_) return;
    decodedAs_ = decodedAs;
    d->inspected.forget();
    Q_EMIT inputsChanged();
    d->sweep.setDecodedAs(decodedAs_, specA_);
    inspect(true, comparing_);
}

void Session::inspect(bool a, bool b) {
    if (!model_ || !tensor_ || !(a || b)) return;
    d->inspected.ask({model_, *tensor_, statistics(*tensor_), inputs_.ofLayers(), decodedAs_}, a ? &specA_ : nullptr,
                     b ? &specB_ : nullptr);
}

AnalysisRow Session::current() const { return d->inspected.a(); }
AnalysisRow Session::currentB() const { return d->inspected.b(); }
bool Session::currentIsStale() const { return d->inspected.isStale(); }

int Session::weightIndex(const TensorInfo* tensor) const { return layout_->indexOf(tensor); }
const ModelRows& Session::modelRows(const QuantSpec& spec) const { return d->sweep.rows(spec); }
std::shared_ptr<const Distribution> Session::pooledHistograms(const QuantSpec& spec) const {
    return d->sweep.pooled(spec);
}
std::vector<QuantSpec> Session::analysedSpecs() const { return d->sweep.specs(); }
void Session::analyseModel(const QuantSpec& spec) { d->sweep.ask(spec); }

std::shared_ptr<const TensorStatistics> Session::statistics(const TensorInfo& tensor) const {
    return d->sweep.statistics(tensor);
}

void Session::cancelJobs() {
    if (!busy()) return;
    const QString kept = d->tasks.kept();
    d->opener.cancel();
    d->settle.stop();
    d->sweep.cancel();
    d->inspected.cancel();
    d->tasks.cancelAll();
    Q_EMIT jobCancelled(kept);
}

TaskList& Session::tasks() const { return d->tasks; }
ModelOutput& Session::output() const { return d->output; }
Decision& Session::decision() const { return d->decision; }

void Session::keep(const QString& name, KeptText text) { d->kept.keep(name, std::move(text)); }
const std::map<QString, Session::Kept>& Session::kept() const { return d->kept.all(); }
std::shared_ptr<const std::string> Session::restored(const QString& name) const { return d->kept.restored(name); }

bool Session::laneBusy() const { return d->opener.running() || d->tasks.busy(); }

bool Session::busy() const { return laneBusy() || d->settle.isActive() || d->inspected.running(); }

void Session::showPage(const QString& id) {
    if (id == page_) return;
    page_ = id;
    Q_EMIT pageChanged(id);
}

void Session::showPage(const PageTraits& page) { showPage(QString::fromLatin1(page.id)); }
bool Session::isOn(const PageTraits& page) const { return page_ == QLatin1String(page.id); }

SessionState Session::state() const {
    return {.path = model_ ? QString::fromStdString(model_->path) : QString(),
            .tensor = tensor_ ? QString::fromStdString(tensor_->name) : QString(),
            .page = page_,
            .specA = QString::fromStdString(specText(specA_)),
            .specB = QString::fromStdString(specText(specB_)),
            .metric = metric_,
            .comparing = comparing_,
            .as = QString::fromStdString(d->as)};
}

const FormerRun& Session::formerRun() const { return d->former; }
void Session::setFormerRun(FormerRun former) {
    d->former = std::move(former);
    Q_EMIT recentFilesChanged();
}

} // namespace qs::gui
