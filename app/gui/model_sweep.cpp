// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/model_sweep.h"

#include <algorithm>
#include <atomic>
#include <set>
#include <unordered_map>

namespace qs::gui {
namespace {

constexpr std::size_t kKnownSpecs = 8; // a row takes about 2 KiB
constexpr std::size_t kChunk = 32;     // rows whose histograms exist at the same time

} // namespace

struct ModelSweep::Mail {
    std::vector<std::pair<std::size_t, AnalysisRow>> rows; // with the index of the weight
    std::shared_ptr<Distribution> pooled;                  // sum of the histograms of these rows
};

ModelSweep::ModelSweep(TaskList& tasks, QObject* parent) : QObject(parent), task_(&tasks) {
    connect(&task_, &Task::failed, this, &ModelSweep::failed);
    connect(&task_, &Task::over, this, &ModelSweep::next);
}

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

void ModelSweep::setEffects(std::shared_ptr<const OutputEffects> effects) {
    const auto before = std::exchange(effects_, std::move(effects));
    std::set<std::string> names; // of both: a row may lose what it had
    for (const auto* some : {before.get(), effects_.get()})
        if (some)
            for (const auto& [name, specs] : some->all()) names.insert(name);
    for (const auto& name : names) {
        const auto* tensor = model_ ? model_->find(name) : nullptr;
        const auto at = std::lower_bound(weights_.begin(), weights_.end(), tensor, std::less<>());
        if (!tensor || at == weights_.end() || *at != tensor) continue;
        for (auto& under : known_) under->rows.setEffects(std::size_t(at - weights_.begin()), effects_.get());
    }
    if (!names.empty() && model_) Q_EMIT rowsChanged();
}

void ModelSweep::measureAgain(const QuantSpec& first) {
    std::vector<QuantSpec> again = specs();
    again.insert(again.end(), queue_.begin(), queue_.end());
    queue_.clear();
    task_.drop();
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

std::shared_ptr<const Distribution> ModelSweep::pooled(const QuantSpec& spec) const {
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
    if (running() && canonicalText(running_) == text) return;
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
    if (running() && canonicalText(running_) == text) task_.cancel();
}

void ModelSweep::cancel() {
    queue_.clear();
    task_.cancel(); // results so far are kept
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
        under->rows.insert(index, withEffect(row, effects_.get()));
    }
    known_.push_back(std::move(under));
    Q_EMIT rowsChanged();
}

void ModelSweep::next() {
    if (running() || queue_.empty()) return;
    running_ = queue_.front();
    queue_.pop_front();
    auto* under = find(running_);
    if (!under) {
        known_.push_back(std::make_unique<Under>(Under{running_, ModelRows(weights_.size()), nullptr}));
        under = known_.back().get();
        if (known_.size() > kKnownSpecs) known_.pop_front();
    }
    // Tensors without statistics come first, because measuring them needs another plan.
    std::vector<std::size_t> fresh, again;
    double total = 0;
    for (std::size_t i = 0; i < weights_.size(); ++i) {
        if (under->rows.at(i)) continue;
        (statistics_[indexOf(*weights_[i])] ? again : fresh).push_back(i);
        total += double(weights_[i]->bytes);
    }
    struct Steps { // number of finished chunks
        std::atomic<double> bytes{0};
        std::atomic<std::uint64_t> rows{0};
    };
    const auto steps = std::make_shared<Steps>();
    task_.amendProgress([steps, total, items = fresh.size() + again.size()](Progress& p) {
        p.done += steps->bytes, p.total = total;
        p.items = steps->rows, p.itemsTotal = items;
    });
    clock_.start();
    const auto work = [steps, model = model_, weights = weights_, spec = running_, inputs = inputs_,
                       decodedAs = decodedAs_, fresh, again](const Job& job, Inbox<Mail>& inbox) -> Result<double> {
        for (const auto* indices : {&fresh, &again}) {
            for (std::size_t at = 0; at < indices->size(); at += kChunk) {
                AnalysisPlan plan{.model = model, .tensors = {}, .specs = {{specText(spec), spec}}, .options = {}};
                plan.options.statistics = indices == &fresh;
                plan.options.inputs = inputs;
                plan.options.decodedAs = decodedAs;
                std::unordered_map<std::string_view, std::size_t> indexOf;
                double bytes = steps->bytes;
                for (std::size_t i = at; i < std::min(indices->size(), at + kChunk); ++i) {
                    const auto* tensor = weights[(*indices)[i]];
                    plan.tensors.push_back(tensor);
                    indexOf.emplace(tensor->name, (*indices)[i]);
                    bytes += double(tensor->bytes);
                }
                const auto result = analyse(plan, job, [&](const AnalysisRow& row) {
                    auto slim = figuresOf(*row);
                    inbox.write([&](Mail& mail) {
                        if (row->status == Status::Ok) {
                            if (!mail.pooled) mail.pooled = std::make_shared<Distribution>();
                            mail.pooled->merge(*row->distribution);
                        }
                        mail.rows.emplace_back(indexOf.at(row->tensor), std::move(slim));
                    });
                    ++steps->rows;
                });
                if (!result) return tl::unexpected(result.error());
                steps->bytes = bytes;
            }
        }
        return steps->bytes.load();
    };
    task_.run<Mail>(
        "Analysing the model", work, [this](Mail mail) { take(std::move(mail)); },
        [this](double bytes) {
            const double seconds = double(clock_.nsecsElapsed()) / 1e9;
            Q_EMIT finished(QString::fromStdString(specText(running_)), seconds, bytes / 1e9 / std::max(seconds, 1e-9));
        });
}

void ModelSweep::take(Mail mail) {
    auto* under = find(running_);
    if (!under) return;
    if (mail.pooled && under->pooled) mail.pooled->merge(*under->pooled);
    if (mail.pooled) under->pooled = std::move(mail.pooled);
    for (auto& [index, row] : mail.rows) {
        auto& known = statistics_[indexOf(*weights_[index])];
        if (!known && row->statistics) known = std::make_shared<TensorStatistics>(*row->statistics);
        under->rows.insert(index, withEffect(row, effects_.get()));
    }
    Q_EMIT rowsChanged();
}

} // namespace qs::gui
