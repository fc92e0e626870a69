// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/session_private.h"

#include "app/gui/page.h"
#include "app/gui/resource_path.h"
#include "app/gui/session_results.h"
#include "app/gui/spec_edit.h"
#include "core/base/text.h"

#include <QCoreApplication>
#include <QDir>
#include <QFileInfo>
#include <QScopedValueRollback>

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
    follow(d->probeA, &Session::currentA_);
    follow(d->probeB, &Session::currentB_);
    followTrust();
    connect(&d->settle, &QTimer::timeout, this, [this] {
        if (d->probeA.running() || d->probeB.running()) {
            d->settle.start(); // the page in front is updated first
            return;
        }
        if (recipe_->isMixed()) d->sweep.ask(recipe_);
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

void Session::follow(TensorProbe& probe, AnalysisRow Session::*answer) {
    const auto take = [this, answer](const AnalysisRow& row) {
        this->*answer = withEffect(row, effects_.get());
        stale_ = d->probeA.running() || (comparing_ && d->probeB.running());
        Q_EMIT currentChanged();
    };
    connect(&probe, &TensorProbe::answered, this, [this, take](const AnalysisRow& row) {
        d->sweep.learn(row);
        take(row);
    });
    connect(&probe, &TensorProbe::failed, this, [this, take](const QString& sentence) {
        take(nullptr);
        Q_EMIT failed(sentence);
    });
}

// a task that ends now must not call a session that is being destroyed
Session::~Session() { d->tasks.disconnect(this); }

// ---- the opened model ----------------------------------------------------------------------------------------------

void Session::open(const QString& path) { d->opener.open(path); }
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
    if (changed.empty() && d->diedAt.isValid() && path == d->resumable.saved)
        Q_EMIT noticed(QStringLiteral("Restored as of %1.").arg(momentText(d->diedAt)));
    if (!changed.empty())
        Q_EMIT noticed(QString::fromStdString(
            oneSentence(changed.front() +
                        (changed.size() > 1 ? fmt::format(" (And {} more.)", changed.size() - 1) : std::string()))));
}

void Session::adopt(OpenedModel opened) {
    {
        const QScopedValueRollback replacing(d->replacing, true); // pages get one signal, for the new model
        close();
    }
    model_ = std::move(opened.model);
    layout_ = std::move(opened.layout);
    stored_ = opened.stored;
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
        if (findMetric(wanted.metric.toStdString())) metric_ = wanted.metric;
    }
    tensor_ = model_->find(wanted.tensor.toStdString());
    if (!tensor_) tensor_ = layout_->firstWeight(*model_);
    if (tensor_) selection_ = {tensor_};

    Q_EMIT modelChanged();
    judgeRecipe();
    if (settings() != before) Q_EMIT specChanged();
    Q_EMIT tensorChanged();
    Q_EMIT selectionChanged();
    apply(opened);
    restoreEvidence();
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
    d->settle.stop();
    d->probeA.forget();
    d->probeB.forget();
    d->sweep.setModel(nullptr, {});
    d->opener.stopDecoding();
    d->kept.clear();
    stored_ = false;
    recipe_ = std::make_shared<SessionRecipe>(); // weights of another model are not its own
    d->judging.drop();
    d->reading.drop();
    restoredEvidence_.reset();
    const bool had = model_ != nullptr;
    tensor_ = nullptr;
    selection_.clear();
    layout_ = std::make_shared<ModelLayout>();
    currentA_ = currentB_ = nullptr;
    stale_ = false;
    model_.reset();
    effects_.reset();
    d->trust.clear();
    d->sweep.setEffects(nullptr);
    setInputs({});
    setEvidence(nullptr);
    setOutputText({});
    d->decision.clear();
    if (had && !d->replacing) Q_EMIT modelChanged();
}

QStringList Session::recentFiles() const { return d->recent.paths(); }
void Session::addRecentFile(const QString& path) { d->recent.add(path); }
void Session::setRecentFiles(const QStringList& paths) { d->recent.append(paths); }

QString Session::samplePath() { return resourcePath("samples/tiny-llama", "resources/samples/tiny-llama"); }

// ---- selection, specs and what is measured under them ---------------------------------------------------------------

void Session::selectTensor(const TensorInfo* tensor) {
    if (tensor == tensor_ || !model_) return;
    tensor_ = tensor;
    Q_EMIT tensorChanged();
    if (tensor_ && std::find(selection_.begin(), selection_.end(), tensor_) == selection_.end())
        setSelection({tensor_});
    if (tensor_) inspect(true, comparing_);
}

void Session::selectNeighbour(int step) {
    if (weights().empty()) return;
    const int at = weightIndex(tensor_);
    selectTensor(at < 0 ? weights().front()
                        : weights()[std::size_t(std::clamp(at + step, 0, int(weights().size()) - 1))]);
}

void Session::selectSameRole(int layerStep) {
    if (!tensor_) return;
    const auto here = placeOf(tensor_->name);
    if (here.layer < 0) return;
    for (const auto* tensor : weights()) {
        if (tensor->name.find(here.role) == std::string::npos) continue; // cheaper than parsing 100,000 names
        const auto place = placeOf(tensor->name);
        if (place.layer == here.layer + layerStep && place.role == here.role) return selectTensor(tensor);
    }
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
    if (!on) currentB_ = nullptr;
    specEdited(false, on);
}

void Session::specEdited(bool a, bool b) {
    if (a) judgeRecipe();
    Q_EMIT specChanged();
    inspect(a, b);
    if (model_ && a) d->settle.start();
}

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
    d->probeA.forget();
    d->probeB.forget();
    Q_EMIT inputsChanged();
    d->sweep.setInputs(inputs_.ofLayers(), specA_);
    inspect(true, comparing_);
}

void Session::setDecodedAs(DecodedAs decodedAs) {
    if (decodedAs == decodedAs_) return;
    decodedAs_ = decodedAs;
    d->probeA.forget();
    d->probeB.forget();
    Q_EMIT inputsChanged();
    d->sweep.setDecodedAs(decodedAs_, specA_);
    inspect(true, comparing_);
}

void Session::inspect(bool a, bool b) {
    if (!model_ || !tensor_ || !(a || b)) return;
    stale_ = true;
    Q_EMIT currentStarted();
    const auto known = statistics(*tensor_);
    if (a) d->probeA.ask(model_, *tensor_, specA_, known, inputs_.ofLayers(), decodedAs_);
    if (b) d->probeB.ask(model_, *tensor_, specB_, known, inputs_.ofLayers(), decodedAs_);
}

int Session::weightIndex(const TensorInfo* tensor) const {
    const auto at = std::lower_bound(weights().begin(), weights().end(), tensor, std::less<>());
    return at != weights().end() && *at == tensor ? int(at - weights().begin()) : -1;
}

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
    d->opener.cancel();
    d->settle.stop();
    d->sweep.cancel();
    d->probeA.cancel();
    d->probeB.cancel();
    d->tasks.cancelAll();
    Q_EMIT jobCancelled();
}

TaskList& Session::tasks() const { return d->tasks; }

bool Session::laneBusy() const { return d->opener.running() || d->tasks.busy(); }

bool Session::busy() const { return laneBusy() || d->settle.isActive() || d->probeA.running() || d->probeB.running(); }

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
            .comparing = comparing_};
}

const QDateTime& Session::diedAt() const { return d->diedAt; }
void Session::setDiedAt(const QDateTime& when) {
    d->diedAt = when;
    Q_EMIT recentFilesChanged();
}

const SessionState& Session::resumable() const { return d->resumable; }
void Session::setResumable(const SessionState& state) {
    d->resumable = state;
    Q_EMIT recentFilesChanged();
}

} // namespace qs::gui
