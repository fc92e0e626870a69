// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/session_private.h"

#include <QThreadPool>

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

void Session::setRules(const QString& rules, bool keepsRest) {
    if (rules == rules_ && keepsRest == keepsRest_) return;
    rules_ = rules, keepsRest_ = keepsRest;
    Q_EMIT rulesChanged();
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
