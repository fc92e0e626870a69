// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/model_sweep.h"

#include "core/layouts/taken_tensors.h"
#include "core/model/derived_tensor.h"

#include <algorithm>
#include <atomic>
#include <map>
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
    task_.setKept([] { return QStringLiteral("what was measured is kept"); });
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
    std::deque<Wanted> again;
    for (const auto& under : known_) again.push_back(under->wanted);
    again.insert(again.end(), queue_.begin(), queue_.end());
    queue_.clear();
    task_.drop();
    known_.clear();
    Q_EMIT rowsChanged();
    ask(first);
    for (auto& one : again) ask(std::move(one));
}

ModelSweep::Wanted ModelSweep::wantedOf(const QuantSpec& spec) { return {canonicalText(spec), spec, nullptr}; }

const QuantSpec* ModelSweep::Wanted::specOf(std::size_t weight) const {
    if (!recipe) return &spec;
    const int at = recipe->of[weight];
    return at < 0 ? nullptr : &recipe->specs[std::size_t(at)];
}

std::string ModelSweep::Wanted::title() const { return recipe ? "the recipe" : specText(spec); }

ModelSweep::Under* ModelSweep::find(const std::string& key) {
    for (auto& under : known_)
        if (under->wanted.key == key) return under.get();
    return nullptr;
}

const ModelRows& ModelSweep::rowsOf(const std::string& key) const {
    static const ModelRows none;
    const auto* under = const_cast<ModelSweep*>(this)->find(key);
    return under ? under->rows : none;
}

const ModelRows& ModelSweep::rows(const QuantSpec& spec) const { return rowsOf(canonicalText(spec)); }
const ModelRows& ModelSweep::rows(const SessionRecipe& recipe) const { return rowsOf(recipe.key); }

std::shared_ptr<const Distribution> ModelSweep::pooled(const QuantSpec& spec) const {
    const auto* under = const_cast<ModelSweep*>(this)->find(canonicalText(spec));
    return under ? under->pooled : nullptr;
}

std::vector<QuantSpec> ModelSweep::specs() const {
    std::vector<QuantSpec> out;
    for (const auto& under : known_)
        if (!under->wanted.recipe) out.push_back(under->wanted.spec);
    return out;
}

void ModelSweep::ask(const QuantSpec& spec) { ask(wantedOf(spec)); }

void ModelSweep::ask(std::shared_ptr<const SessionRecipe> recipe) {
    std::erase_if(queue_, [](const Wanted& queued) { return queued.recipe != nullptr; });
    if (running() && running_.recipe && running_.key != recipe->key) task_.cancel();
    std::erase_if(known_, [&](const auto& under) { // of earlier recipes: one is the session's
        return under->wanted.recipe && under->wanted.key != recipe->key;
    });
    if (Under* under = find(recipe->key); under && under->wanted.recipe != recipe) takeSizes(*under, recipe);
    ask(Wanted{recipe->key, recipe->specs.empty() ? QuantSpec() : recipe->specs.front(), recipe});
}

void ModelSweep::ask(Wanted wanted) {
    if (!model_ || weights_.empty()) return;
    if (running() && running_.key == wanted.key) return;
    for (const auto& queued : queue_)
        if (queued.key == wanted.key) return;
    const auto* under = find(wanted.key);
    if (under && std::size_t(under->rows.size()) == weights_.size()) return;
    queue_.push_back(std::move(wanted));
    next();
}

void ModelSweep::withdraw(const QuantSpec& spec) {
    const auto text = canonicalText(spec);
    std::erase_if(queue_, [&](const Wanted& queued) { return queued.key == text; });
    if (running() && running_.key == text) task_.cancel();
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
    if (!model_ || rows.empty() || find(canonicalText(spec)) || known_.size() >= kKnownSpecs) return;
    auto under = std::make_unique<Under>(Under{wantedOf(spec), ModelRows(weights_.size()), nullptr});
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
    auto* under = find(running_.key);
    if (!under) {
        known_.push_back(std::make_unique<Under>(Under{running_, ModelRows(weights_.size()), nullptr}));
        under = known_.back().get();
        if (known_.size() > kKnownSpecs) known_.pop_front();
    }
    const bool grew = takeKnown(*under);
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
    for (auto* indices : {&fresh, &again}) // of one spec together
        if (running_.recipe)
            std::stable_sort(indices->begin(), indices->end(), [&](std::size_t a, std::size_t b) {
                return running_.recipe->of[a] < running_.recipe->of[b];
            });
    const auto work = [steps, model = model_, weights = weights_, wanted = running_, inputs = inputs_,
                       decodedAs = decodedAs_, fresh, again](const Job& job, Inbox<Mail>& inbox) -> Result<double> {
        std::map<const QuantSpec*, StoredIn> stored; // a recipe has sizes of its own
        for (const auto* indices : {&fresh, &again}) {
            for (std::size_t at = 0, end = 0; at < indices->size(); at = end) {
                const QuantSpec& spec = *wanted.specOf((*indices)[at]);
                end = at + 1;
                while (end < std::min(indices->size(), at + kChunk) && wanted.specOf((*indices)[end]) == &spec) ++end;
                AnalysisPlan plan{.model = model, .tensors = {}, .specs = {{specText(spec), spec}}, .options = {}};
                if (!stored.contains(&spec))
                    stored[&spec] =
                        wanted.recipe ? StoredIn{followedLayout(*model, spec)} : storedIn(*model, weights, spec, false);
                plan.stored = {stored[&spec]};
                plan.options.statistics = indices == &fresh;
                plan.options.inputs = inputs;
                plan.options.decodedAs = decodedAs;
                std::unordered_map<std::string_view, std::size_t> indexOf;
                double bytes = steps->bytes;
                for (std::size_t i = at; i < end; ++i) {
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
            Q_EMIT finished(QString::fromStdString(running_.title()), seconds, bytes / 1e9 / std::max(seconds, 1e-9));
        });
    if (grew) Q_EMIT rowsChanged(); // last: a listener may ask for another spec
}

AnalysisRow ModelSweep::sized(const Wanted& wanted, std::size_t weight, AnalysisRow row) const {
    if (!wanted.recipe || wanted.recipe->sizes.bytes.empty() || row->status != Status::Ok) return row;
    const std::uint64_t bytes = wanted.recipe->sizes.bytes[indexOf(*weights_[weight])];
    if (bytes == row->bytesAfter || row->elements == 0) return row;
    auto out = std::make_shared<TensorAnalysis>(*row);
    out->bytesAfter = bytes, out->bpw = 8.0 * double(bytes) / double(out->elements);
    return out;
}

void ModelSweep::takeSizes(Under& under, std::shared_ptr<const SessionRecipe> recipe) {
    under.wanted.recipe = std::move(recipe);
    const ModelRows before = std::exchange(under.rows, ModelRows(weights_.size()));
    for (std::size_t i = 0; i < weights_.size(); ++i)
        if (const AnalysisRow& row = before.at(i)) under.rows.insert(i, sized(under.wanted, i, row));
    Q_EMIT rowsChanged();
}

bool ModelSweep::takeKnown(Under& under) {
    const auto& recipe = under.wanted.recipe;
    if (!recipe) return false;
    std::vector<const ModelRows*> known;
    for (const QuantSpec& spec : recipe->specs) known.push_back(&rows(spec));
    std::size_t added = 0;
    for (std::size_t i = 0; i < weights_.size(); ++i) {
        if (under.rows.at(i)) continue;
        AnalysisRow row;
        if (recipe->of[i] >= 0) {
            const ModelRows& others = *known[std::size_t(recipe->of[i])];
            row = others.isEmpty() ? nullptr : others.at(i);
        } else {
            auto kept = std::make_shared<TensorAnalysis>();
            const TensorInfo& tensor = *weights_[i];
            kept->tensor = tensor.name, kept->dtype = tensor.dtype, kept->shape = tensor.shape;
            kept->elements = tensor.elements, kept->bytesBefore = storedBytes(tensor);
            kept->bytesAfter = recipe->sizes.bytes.empty() ? kept->bytesBefore : recipe->sizes.bytes[indexOf(tensor)];
            kept->status = Status::Kept, kept->reason = "the recipe keeps it as it is";
            row = std::move(kept);
        }
        if (!row) continue;
        under.rows.insert(i, sized(under.wanted, i, std::move(row)));
        ++added;
    }
    return added > 0;
}

void ModelSweep::take(Mail mail) {
    auto* under = find(running_.key);
    if (!under) return;
    if (mail.pooled && under->pooled) mail.pooled->merge(*under->pooled);
    if (mail.pooled) under->pooled = std::move(mail.pooled);
    for (auto& [index, row] : mail.rows) {
        auto& known = statistics_[indexOf(*weights_[index])];
        if (!known && row->statistics) known = std::make_shared<TensorStatistics>(*row->statistics);
        under->rows.insert(index, sized(under->wanted, index, withEffect(row, effects_.get())));
    }
    Q_EMIT rowsChanged();
}

} // namespace qs::gui
