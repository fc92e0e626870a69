// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/session.h"

#include "app/gui/lane_work.h"
#include "app/gui/model_sweep.h"
#include "app/gui/run_job.h"
#include "app/gui/session_results.h"
#include "app/gui/tensor_probe.h"
#include "core/base/text.h"
#include "core/quant/serve.h"
#include "core/session/session_file.h"

#include <QCoreApplication>
#include <QDir>
#include <QFileInfo>
#include <QScopedValueRollback>
#include <QTimer>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <tuple>

namespace qs::gui {
namespace {

constexpr int kSettleMs = 250; // the spec has stood still: the whole model may follow
constexpr int kRecent = 12;

QuantSpec defaultSpec(const char* format, std::optional<std::uint32_t> block) {
    QuantSpec spec;
    spec.format = format;
    spec.block = block;
    return spec;
}

} // namespace

struct Session::Opened {
    std::shared_ptr<const Model> model;
    std::shared_ptr<const ModelLayout> layout;
    bool stored = false;
};

struct Session::Private {
    explicit Private(Session* session) : sweep(session), probeA(session), probeB(session) {
        settle.setSingleShot(true);
        settle.setInterval(kSettleMs);
    }
    ModelSweep sweep;
    TensorProbe probeA, probeB;
    QTimer settle;
    Job openJob;
    std::unique_ptr<LaneWork> decoding;
    bool opening = false, replacing = false;
    std::vector<const LaneWork*> work;
    QStringList recent;
    SessionState resumable, wanted; // wanted: to apply once its model is open
    struct Saved {
        SessionFile file;
        QString path;
        std::vector<std::string> changed; // a sentence for each source that is another one now
    };
    std::optional<Saved> saved; // of `wanted`
};

Session::Session(QObject* parent)
    : QObject(parent), specA_(defaultSpec("nf4", 64)), specB_(defaultSpec("int8", std::nullopt)),
      metric_(QStringLiteral("nmse")), page_(QStringLiteral("start")) {
    // Jobs are coarse and use all cores themselves: a queued one must never wait for an idle pool thread.
    auto* pool = QThreadPool::globalInstance();
    pool->setMaxThreadCount(std::max(8, pool->maxThreadCount()));
    d = std::make_unique<Private>(this);
    connect(this, &Session::pageRequested, this, &Session::showPage);
    connect(&d->sweep, &ModelSweep::rowsChanged, this, &Session::rowsChanged);
    connect(&d->sweep, &ModelSweep::progressed, this, &Session::jobProgress);
    connect(&d->sweep, &ModelSweep::finished, this, &Session::jobFinished);
    connect(&d->sweep, &ModelSweep::failed, this, [this](const QString& sentence) {
        Q_EMIT failed(sentence);
        setInputs({}); // what they say of no layer must not keep the model from being measured
    });
    const auto answer = [this](AnalysisRow Session::*slot) {
        return [this, slot](const AnalysisRow& row) {
            d->sweep.learn(row);
            this->*slot = row;
            stale_ = d->probeA.running() || (comparing_ && d->probeB.running());
            Q_EMIT currentChanged();
        };
    };
    connect(&d->probeA, &TensorProbe::answered, this, answer(&Session::currentA_));
    connect(&d->probeB, &TensorProbe::answered, this, answer(&Session::currentB_));
    const auto refuse = [this](AnalysisRow Session::*slot) {
        return [this, slot](const QString& sentence) {
            this->*slot = nullptr;
            stale_ = d->probeA.running() || (comparing_ && d->probeB.running());
            Q_EMIT currentChanged();
            Q_EMIT failed(sentence);
        };
    };
    connect(&d->probeA, &TensorProbe::failed, this, refuse(&Session::currentA_));
    connect(&d->probeB, &TensorProbe::failed, this, refuse(&Session::currentB_));
    connect(this, &Session::jobCancelled, this, [this] { d->decoding.reset(); });
    connect(&d->settle, &QTimer::timeout, this, [this] {
        if (d->probeA.running() || d->probeB.running()) {
            d->settle.start(); // the picture in front first
            return;
        }
        d->sweep.ask(specA_);
    });
}

Session::~Session() {
    d->openJob.cancel();
    d->decoding.reset();
}

void Session::openSaved(const QString& path, const SessionState& view) {
    d->openJob.cancel();
    d->openJob = Job();
    d->opening = true;
    Q_EMIT opening(path);
    const auto work = [path](const Job& job) -> Result<Private::Saved> {
        auto file = readSession(path.toStdString());
        if (!file) return tl::unexpected(file.error());
        auto changed = changedSources(*file, job);
        if (!changed) return tl::unexpected(changed.error());
        return Private::Saved{std::move(*file), path, std::move(*changed)};
    };
    runJob<Private::Saved>(this, d->openJob, work, [this, view](Result<Private::Saved> saved) {
        d->opening = false;
        if (!saved) {
            // What was saved by itself is a convenience: without it the place alone is restored.
            if (!view.path.isEmpty()) return restore(view);
            Q_EMIT failed(QString::fromStdString(oneSentence(saved.error().message)));
            return;
        }
        const auto& file = saved->file;
        if (!view.path.isEmpty() && view.path.toStdString() != file.opened) return restore(view);
        if (std::error_code error; !std::filesystem::exists(file.opened, error)) {
            const auto why =
                saved->changed.empty() ? escapeForPeople(file.opened, 200) + " is not there." : saved->changed.front();
            Q_EMIT failed(QString::fromStdString(oneSentence(why)));
            return;
        }
        if (looksLikeSession(file.opened)) { // one that names itself would open for ever
            Q_EMIT failed(QString::fromStdString(oneSentence(
                fmt::format("{} names another session, {}, instead of a checkpoint.",
                            escapeForPeople(saved->path.toStdString(), 200), escapeForPeople(file.opened, 200)))));
            return;
        }
        d->wanted = view;
        if (view.path.isEmpty()) {
            const auto text = [&file](const char* key) {
                const auto at = file.view.find(key);
                return at == file.view.end() ? QString() : QString::fromStdString(at->second);
            };
            const auto step = file.at < file.history.size() ? file.history[file.at] : SessionStep{};
            d->wanted = {.path = QString::fromStdString(file.opened),
                         .tensor = text("tensor"),
                         .page = text("page"),
                         .specA = QString::fromStdString(step.specA),
                         .specB = QString::fromStdString(step.specB),
                         .metric = text("metric"),
                         .comparing = step.comparing};
        }
        d->saved = std::move(*saved);
        open(d->wanted.path);
    });
}

/// The model is open. What was measured counts only where its files are those that it was measured on.
void Session::applySaved() {
    const auto saved = std::exchange(d->saved, std::nullopt);
    if (!saved) return;
    if (saved->changed.empty())
        for (const auto& results : saved->file.results)
            if (const auto spec = parseSpec(results.spec)) d->sweep.restore(*spec, rowsOf(results, *model_));
    Q_EMIT sessionOpened(saved->file, saved->path);
    if (!saved->changed.empty())
        Q_EMIT noticed(QString::fromStdString(oneSentence(
            saved->changed.front() +
            (saved->changed.size() > 1 ? fmt::format(" (And {} more.)", saved->changed.size() - 1) : std::string()))));
}

void Session::open(const QString& path) {
    if (looksLikeSession(path.toStdString())) return openSaved(path, {});
    d->openJob.cancel();
    d->openJob = Job();
    d->decoding.reset();
    d->opening = true;
    if (path != d->wanted.path) {
        d->wanted = {};
        d->saved.reset();
    }
    Q_EMIT opening(path);
    const auto work = [path = path.toStdString()](const Job&) -> Result<Opened> {
        auto model = openModel(path);
        if (!model) return tl::unexpected(model.error());
        return Opened{freedOnPool(*model), freedOnPool(layoutOf(**model)), hasStoredTensors(**model)};
    };
    runJob<Opened>(this, d->openJob, work, [this](Result<Opened> opened) {
        d->opening = false;
        if (!opened) {
            d->wanted = {};
            d->saved.reset();
            Q_EMIT failed(QString::fromStdString(oneSentence(opened.error().message)));
            return;
        }
        adopt(std::move(*opened));
    });
}

void Session::decodeStored() {
    if (!model_ || !stored_) return;
    d->decoding = std::make_unique<LaneWork>(*this, "Decoding stored tensors");
    const auto work = [model = model_](const Job& job) -> Result<Opened> {
        auto served = servedModel(model, job);
        if (!served) return tl::unexpected(served.error());
        return Opened{freedOnPool(*served), freedOnPool(layoutOf(**served))};
    };
    runJob<Opened>(this, d->decoding->job(), work, [this](Result<Opened> opened) {
        const auto over = std::move(d->decoding);
        if (!opened) {
            Q_EMIT failed(QString::fromStdString(oneSentence(opened.error().message)));
            return;
        }
        d->wanted = state(); // the specs, and the page
        adopt(std::move(*opened));
    });
}

void Session::adopt(Opened opened) {
    {
        const QScopedValueRollback replacing(d->replacing, true); // the pages are told once, of the new one
        close();
    }
    model_ = std::move(opened.model);
    layout_ = std::move(opened.layout);
    stored_ = opened.stored;
    d->sweep.setModel(model_, weights());
    const auto path = QString::fromStdString(model_->path);
    d->recent.removeAll(path);
    d->recent.prepend(path);
    while (d->recent.size() > kRecent) d->recent.removeLast();

    const auto wanted = std::exchange(d->wanted, {});
    const auto settings = [this] { return std::tuple(specA_, specB_, comparing_, metric_); };
    const auto before = settings();
    if (!wanted.path.isEmpty()) {
        if (const auto a = parseSpec(wanted.specA.toStdString())) specA_ = *a;
        if (const auto b = parseSpec(wanted.specB.toStdString())) specB_ = *b;
        comparing_ = wanted.comparing;
        if (findMetric(wanted.metric.toStdString())) metric_ = wanted.metric;
    }
    tensor_ = model_->find(wanted.tensor.toStdString());
    if (!tensor_) tensor_ = layout_->firstWeight(*model_);
    if (tensor_) selection_ = {tensor_};

    Q_EMIT modelChanged();
    if (settings() != before) Q_EMIT specChanged();
    Q_EMIT tensorChanged();
    Q_EMIT selectionChanged();
    applySaved();
    inspect(true, comparing_);
    d->settle.start();
    // In turns of their own: the start page lists files anew, a page is built when it is first shown.
    QTimer::singleShot(0, this, &Session::recentFilesChanged);
    const auto page = !wanted.page.isEmpty()            ? wanted.page
                      : page_ == QLatin1String("start") ? QStringLiteral("overview")
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
    d->decoding.reset();
    stored_ = false;
    const bool had = model_ != nullptr;
    tensor_ = nullptr;
    selection_.clear();
    layout_ = std::make_shared<ModelLayout>();
    currentA_ = currentB_ = nullptr;
    stale_ = false;
    model_.reset();
    setInputs({});
    if (had && !d->replacing) Q_EMIT modelChanged();
}

QStringList Session::recentFiles() const { return d->recent; }

void Session::addRecentFile(const QString& path) {
    d->recent.removeAll(path);
    d->recent.prepend(path);
    while (d->recent.size() > kRecent) d->recent.removeLast();
    Q_EMIT recentFilesChanged();
}

void Session::setRecentFiles(const QStringList& paths) {
    const auto work = [paths](const Job&) -> Result<QStringList> {
        QStringList existing;
        for (const auto& path : paths)
            if (QFileInfo::exists(path)) existing << path;
        return existing;
    };
    runJob<QStringList>(this, Job(), work, [this](Result<QStringList> existing) {
        if (!existing) return;
        for (const auto& path : *existing)
            if (!d->recent.contains(path) && d->recent.size() < kRecent) d->recent << path;
        Q_EMIT recentFilesChanged();
    });
}

QString Session::samplePath() {
    const QDir binary(QCoreApplication::applicationDirPath());
    for (const char* place : {"samples/tiny-llama", "../share/quantscope/samples/tiny-llama",
                              "../../../resources/samples/tiny-llama", "../../resources/samples/tiny-llama"}) {
        const auto path = QDir::cleanPath(binary.absoluteFilePath(QLatin1String(place)));
        if (QFileInfo(path).isDir()) return path;
    }
    return {};
}

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
        if (tensor->name.find(here.role) == std::string::npos) continue; // cheaper than placing 100,000 names
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
    Q_EMIT specChanged();
    inspect(a, b);
    if (model_ && a) d->settle.start();
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

void Session::inspect(bool a, bool b) {
    if (!model_ || !tensor_ || !(a || b)) return;
    stale_ = true;
    Q_EMIT currentStarted();
    const auto known = statistics(*tensor_);
    if (a) d->probeA.ask(model_, *tensor_, specA_, known, inputs_.ofLayers());
    if (b) d->probeB.ask(model_, *tensor_, specB_, known, inputs_.ofLayers());
}

int Session::weightIndex(const TensorInfo* tensor) const {
    const auto at = std::lower_bound(weights().begin(), weights().end(), tensor, std::less<>());
    return at != weights().end() && *at == tensor ? int(at - weights().begin()) : -1;
}

const ModelRows& Session::modelRows(const QuantSpec& spec) const { return d->sweep.rows(spec); }
std::shared_ptr<const PooledHistograms> Session::pooledHistograms(const QuantSpec& spec) const {
    return d->sweep.pooled(spec);
}
std::vector<QuantSpec> Session::analysedSpecs() const { return d->sweep.specs(); }
void Session::analyseModel(const QuantSpec& spec) { d->sweep.ask(spec); }

std::shared_ptr<const TensorStatistics> Session::statistics(const TensorInfo& tensor) const {
    return d->sweep.statistics(tensor);
}

void Session::cancelJobs() {
    if (!busy()) return;
    d->openJob.cancel();
    d->opening = false;
    d->settle.stop();
    d->sweep.cancel();
    d->probeA.cancel();
    d->probeB.cancel();
    for (const auto* work : d->work) work->job().cancel();
    Q_EMIT jobCancelled();
}

void Session::beginWork(const LaneWork& work) { d->work.push_back(&work); }

void Session::endWork(const LaneWork& work) {
    std::erase(d->work, &work);
    Q_EMIT workEnded();
}

bool Session::laneBusy() const { return d->opening || !d->work.empty() || d->sweep.running(); }

bool Session::busy() const { return laneBusy() || d->settle.isActive() || d->probeA.running() || d->probeB.running(); }

void Session::showPage(const QString& id) {
    if (id == page_) return;
    page_ = id;
    Q_EMIT pageChanged(id);
}

SessionState Session::state() const {
    return {.path = model_ ? QString::fromStdString(model_->path) : QString(),
            .tensor = tensor_ ? QString::fromStdString(tensor_->name) : QString(),
            .page = page_,
            .specA = QString::fromStdString(canonicalText(specA_)),
            .specB = QString::fromStdString(canonicalText(specB_)),
            .metric = metric_,
            .comparing = comparing_};
}

void Session::restore(const SessionState& state) {
    if (!state.saved.isEmpty()) {
        auto view = state;
        view.saved.clear();
        return openSaved(state.saved, view);
    }
    d->wanted = state;
    open(state.path);
}

const SessionState& Session::resumable() const { return d->resumable; }
void Session::setResumable(const SessionState& state) {
    d->resumable = state;
    Q_EMIT recentFilesChanged();
}

} // namespace qs::gui
