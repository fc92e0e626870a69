// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/model_sweep.h"

#include "app/gui/run_job.h"
#include "core/base/text.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>

namespace qs::gui {
namespace {

constexpr int kPollMs = 50;            // at most 20 updates a second
constexpr std::size_t kKnownSpecs = 8; // a row is about 2 KiB
constexpr std::size_t kChunk = 32;     // rows whose histograms are alive at once

AnalysisRow withoutHistograms(const AnalysisRow& row) {
    auto slim = std::make_shared<TensorAnalysis>(*row);
    // A moved-from vector is empty; a fresh histogram would allocate its bins.
    { [[maybe_unused]] const FloatHistogram gone = std::move(slim->error); }
    { [[maybe_unused]] const FloatHistogram gone = std::move(slim->value); }
    return slim;
}

} // namespace

// Where the worker leaves what the window collects.
struct ModelSweep::Feed {
    std::mutex mutex;
    std::vector<std::pair<std::size_t, AnalysisRow>> rows; // with the weight's index
    std::shared_ptr<PooledHistograms> pooled;              // of these rows
    Progress progress;
    double bytesBefore = 0; // of chunks that are done
    std::uint64_t rowsHanded = 0;
};

ModelSweep::ModelSweep(QObject* parent) : QObject(parent) {
    poll_.setInterval(kPollMs);
    connect(&poll_, &QTimer::timeout, this, &ModelSweep::take);
}

ModelSweep::~ModelSweep() { job_.cancel(); }

void ModelSweep::setModel(std::shared_ptr<const Model> model, std::vector<const TensorInfo*> weights) {
    cancel();
    known_.clear();
    model_ = std::move(model);
    weights_ = std::move(weights);
    statistics_.assign(weights_.empty() ? 0 : model_->tensors.size(), nullptr);
}

void ModelSweep::setInputs(decltype(AnalysisOptions::inputs) inputs, const QuantSpec& first) {
    inputs_ = std::move(inputs);
    measureAgain(first);
}

void ModelSweep::setDecodedAs(DecodedAs decodedAs, const QuantSpec& first) {
    decodedAs_ = decodedAs;
    measureAgain(first);
}

void ModelSweep::measureAgain(const QuantSpec& first) {
    std::vector<QuantSpec> again = specs();
    again.insert(again.end(), queue_.begin(), queue_.end());
    cancel();
    known_.clear();
    Q_EMIT rowsChanged();
    ask(first);
    for (const auto& spec : again) ask(spec);
}

ModelSweep::Under* ModelSweep::find(const QuantSpec& spec) {
    const auto text = canonicalText(spec);
    for (auto& under : known_)
        if (canonicalText(under->spec) == text) return under.get();
    return nullptr;
}

const ModelRows& ModelSweep::rows(const QuantSpec& spec) const {
    static const ModelRows none;
    const auto* under = const_cast<ModelSweep*>(this)->find(spec);
    return under ? under->rows : none;
}

std::shared_ptr<const PooledHistograms> ModelSweep::pooled(const QuantSpec& spec) const {
    const auto* under = const_cast<ModelSweep*>(this)->find(spec);
    return under ? under->pooled : nullptr;
}

std::vector<QuantSpec> ModelSweep::specs() const {
    std::vector<QuantSpec> out;
    for (const auto& under : known_) out.push_back(under->spec);
    return out;
}

void ModelSweep::ask(const QuantSpec& spec) {
    if (!model_ || weights_.empty()) return;
    const auto text = canonicalText(spec);
    if (feed_ && canonicalText(running_) == text) return;
    for (const auto& queued : queue_)
        if (canonicalText(queued) == text) return;
    const auto* under = find(spec);
    if (under && std::size_t(under->rows.size()) == weights_.size()) return;
    queue_.push_back(spec);
    next();
}

void ModelSweep::withdraw(const QuantSpec& spec) {
    const auto text = canonicalText(spec);
    std::erase_if(queue_, [&](const QuantSpec& queued) { return canonicalText(queued) == text; });
    if (!feed_ || canonicalText(running_) != text) return;
    stop();
    next();
}

void ModelSweep::cancel() {
    queue_.clear();
    stop();
}

void ModelSweep::stop() {
    if (!feed_) return;
    job_.cancel();
    take(); // what is done is done
    feed_.reset();
    poll_.stop();
}

std::shared_ptr<const TensorStatistics> ModelSweep::statistics(const TensorInfo& tensor) const {
    return statistics_.empty() ? nullptr : statistics_[indexOf(tensor)];
}

void ModelSweep::learn(const AnalysisRow& row) {
    const auto* tensor = model_ && row->statistics ? model_->find(row->tensor) : nullptr;
    if (!tensor || statistics_.empty()) return;
    auto& known = statistics_[indexOf(*tensor)];
    if (!known) known = std::make_shared<TensorStatistics>(*row->statistics);
}

void ModelSweep::restore(const QuantSpec& spec, const std::vector<AnalysisRow>& rows) {
    if (!model_ || rows.empty() || find(spec) || known_.size() >= kKnownSpecs) return;
    auto under = std::make_unique<Under>(Under{spec, ModelRows(weights_.size()), nullptr});
    for (const auto& row : rows) {
        const auto at = std::lower_bound(weights_.begin(), weights_.end(), model_->find(row->tensor), std::less<>());
        const auto index = std::size_t(at - weights_.begin());
        if (at == weights_.end() || (*at)->name != row->tensor || under->rows.at(index)) continue;
        under->rows.insert(index, row);
    }
    known_.push_back(std::move(under));
    Q_EMIT rowsChanged();
}

void ModelSweep::next() {
    if (feed_ || queue_.empty()) return;
    running_ = queue_.front();
    queue_.pop_front();
    auto* under = find(running_);
    if (!under) {
        known_.push_back(std::make_unique<Under>(Under{running_, ModelRows(weights_.size()), nullptr}));
        under = known_.back().get();
        if (known_.size() > kKnownSpecs) known_.pop_front();
    }
    // Tensors whose statistics are not known come first: theirs is another plan.
    std::vector<std::size_t> fresh, again;
    double total = 0;
    for (std::size_t i = 0; i < weights_.size(); ++i) {
        if (under->rows.at(i)) continue;
        (statistics_[indexOf(*weights_[i])] ? again : fresh).push_back(i);
        total += double(weights_[i]->bytes);
    }
    const auto items = fresh.size() + again.size();
    auto feed = std::make_shared<Feed>();
    feed_ = feed;
    feed->progress = {.done = 0, .total = total, .what = "Analysing the model", .items = 0, .itemsTotal = items};
    job_ = Job([feed](const Progress& p) {
        std::lock_guard lock(feed->mutex);
        feed->progress.done = feed->bytesBefore + p.done;
        if (!p.what.empty()) feed->progress.what = p.what;
    });
    clock_.start();
    poll_.start();

    const auto work = [feed, model = model_, weights = weights_, spec = running_, inputs = inputs_,
                       decodedAs = decodedAs_, fresh, again](const Job& job) -> Result<double> {
        double bytes = 0;
        for (const auto* indices : {&fresh, &again}) {
            for (std::size_t at = 0; at < indices->size(); at += kChunk) {
                AnalysisPlan plan{.model = model, .tensors = {}, .specs = {{specText(spec), spec}}, .options = {}};
                plan.options.statistics = indices == &fresh;
                plan.options.inputs = inputs;
                plan.options.decodedAs = decodedAs;
                std::unordered_map<std::string_view, std::size_t> indexOf;
                for (std::size_t i = at; i < std::min(indices->size(), at + kChunk); ++i) {
                    const auto* tensor = weights[(*indices)[i]];
                    plan.tensors.push_back(tensor);
                    indexOf.emplace(tensor->name, (*indices)[i]);
                    bytes += double(tensor->bytes);
                }
                const auto result = analyse(plan, job, [&](const AnalysisRow& row) {
                    auto slim = withoutHistograms(row);
                    std::lock_guard lock(feed->mutex);
                    if (row->status == Status::Ok) {
                        if (!feed->pooled) feed->pooled = std::make_shared<PooledHistograms>();
                        feed->pooled->merge(*row);
                    }
                    feed->rows.emplace_back(indexOf.at(row->tensor), std::move(slim));
                    feed->progress.items = ++feed->rowsHanded;
                });
                if (!result) return tl::unexpected(result.error());
                std::lock_guard lock(feed->mutex);
                feed->bytesBefore = feed->progress.done = bytes;
            }
        }
        return bytes;
    };
    runJob<double>(this, job_, work, [this, feed](Result<double> bytes) {
        if (feed_ != feed) return;
        take();
        feed_.reset();
        poll_.stop();
        const double seconds = double(clock_.nsecsElapsed()) / 1e9;
        if (bytes)
            Q_EMIT finished(QString::fromStdString(specText(running_)), seconds,
                            *bytes / 1e9 / std::max(seconds, 1e-9));
        else if (!bytes.error().cancelled)
            Q_EMIT failed(QString::fromStdString(oneSentence(bytes.error().message)));
        next();
    });
}

void ModelSweep::take() {
    if (!feed_) return;
    decltype(Feed::rows) rows;
    std::shared_ptr<PooledHistograms> pooled;
    Progress progress;
    {
        std::lock_guard lock(feed_->mutex);
        rows.swap(feed_->rows);
        pooled.swap(feed_->pooled);
        progress = feed_->progress;
    }
    if (auto* under = find(running_)) {
        if (pooled && under->pooled) pooled->merge(*under->pooled);
        if (pooled) under->pooled = std::move(pooled);
        for (auto& [index, row] : rows) {
            auto& known = statistics_[indexOf(*weights_[index])];
            if (!known && row->statistics) known = std::make_shared<TensorStatistics>(*row->statistics);
            under->rows.insert(index, std::move(row));
        }
    }
    const double elapsed = double(clock_.nsecsElapsed()) / 1e9;
    const double left = progress.done > 0 ? elapsed * (progress.total - progress.done) / progress.done : -1;
    if (!job_.cancelled()) Q_EMIT progressed(progress, left);
    if (!rows.empty()) Q_EMIT rowsChanged();
}

} // namespace qs::gui
