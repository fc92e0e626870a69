// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/sensitivity/branches.h"

#include "core/records/input_hash.h"
#include "core/report/report.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fmt/format.h>

namespace qs::eval {

namespace {

constexpr std::size_t kMostTogether = 16; ///< runs that are computed side by side; a stop loses at most these

using Clock = std::chrono::steady_clock;
double secondsOf(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// Version of the arithmetic of runs and of the numbers that are stored. Stored runs of other versions are not used.
constexpr int kRecordsVersion = 2;

/// Everything on which all runs of a model and a text depend.
Result<std::string> aboutRuns(const Model& model, const SensitivityPlan& plan, const ScoredText& scored,
                              const Job& job) {
    std::string out = fmt::format("runs {}\n", kRecordsVersion);
    for (const auto& [key, value] : machineProvenance())
        if (key == "version" || key == "formats_version" || key == "isa") out += key + " " + value + "\n";
    std::vector<std::string> paths;
    for (const ModelFile& file : model.files) paths.push_back(file.path);
    std::error_code error;
    const auto config = std::filesystem::path(model.files.front().path).parent_path() / "config.json";
    if (std::filesystem::is_regular_file(config, error)) paths.push_back(config.string());
    for (const std::string& path : paths) {
        const auto hash = sha256OfFile(path, job);
        if (!hash) return tl::unexpected(hash.error());
        out += *hash + "\n";
    }
    for (std::size_t i = 0; i <= scored.inputs && i < plan.text.tokens.size(); ++i)
        out += fmt::format("{} ", plan.text.tokens[i]);
    return out + fmt::format("\ncontext {} scored {} first {}\n", plan.context, int(plan.scored),
                             plan.text.first.value_or(-1));
}

} // namespace

/// The hidden states of a network at borders of layers. Branches begin there.
struct BranchRunner::Base {
    const WeightChange* change; ///< null: the stored weights
    Borders borders;
    std::optional<Head> head; ///< with the change; loaded when it is asked for
};

/// A branch that goes forward.
struct BranchRunner::Active {
    const Branch* branch;
    std::size_t index;
    std::optional<HiddenStates> states;
    std::vector<TokenScore> scores;
    std::string reason;
    bool ended = false; ///< before the last chunk
    bool isDone() const { return ended || !reason.empty(); }
    std::size_t first() const { return branch->first(); }
};

BranchRunner::BranchRunner(std::shared_ptr<const Model> model, const SensitivityPlan& plan)
    : model_(std::move(model)), plan_(plan) {}
BranchRunner::~BranchRunner() = default;

Result<void> BranchRunner::readNetwork() {
    auto network = eval::readNetwork(*model_);
    if (!network) return tl::unexpected(network.error());
    network_ = std::move(*network);
    auto weights = NetworkWeights::of(model_, *network_);
    if (!weights) return tl::unexpected(weights.error());
    weights_.emplace(std::move(*weights));
    return {};
}

Result<void> BranchRunner::prepare(const Job& job) {
    auto scored = scoredText(plan_.text.tokens, plan_.context, plan_.chunks, plan_.scored, *network_);
    if (!scored) return tl::unexpected(scored.error());
    scored_ = std::move(*scored);
    if (auto fine = checkTokens(inputsOf(plan_.text, scored_.inputs, plan_.context), plan_.context, *network_); !fine)
        return fine;
    const bool keeps = !plan_.cache.empty() || plan_.units;
    const auto about = keeps ? aboutRuns(*model_, plan_, scored_, job) : Result<std::string>();
    if (!about) return tl::unexpected(about.error());
    auto known = KnownRuns::open(plan_, *about, network_->layers.size(), scored_);
    if (!known) return tl::unexpected(known.error());
    known_.emplace(std::move(*known));
    auto head = Head::load(*network_, *weights_, nullptr, job);
    if (!head) return tl::unexpected(head.error());
    head_.emplace(std::move(*head));
    return {};
}

Result<HiddenStates> BranchRunner::start(const Job& job, const WeightChange* change) const {
    const auto inputs = inputsOf(plan_.text, scored_.inputs, plan_.context);
    auto embedded = weights_->embed(inputs, plan_.context, change, job);
    if (!embedded) return tl::unexpected(embedded.error());
    return HiddenStates(*network_, std::move(*embedded), plan_.context);
}

void BranchRunner::tell(const char* what, const Job& job) const {
    job.progress({workDone_, work_, what, std::uint64_t(workDone_), std::uint64_t(work_)});
}

/// Takes the base forward and keeps the borders that are asked for and missing.
Result<BranchRunner::Base*> BranchRunner::bordersOf(const WeightChange* base, const std::set<std::size_t>& layers,
                                                    const Job& job) {
    auto& kept = base ? other_ : reference_;
    if (!kept) kept = std::make_unique<Base>(Base{base, Borders(plan_.memory / 4), {}});
    if (std::ranges::all_of(layers, [&](std::size_t l) { return kept->borders.has(l); })) return kept.get();
    auto states = start(job, base);
    if (!states) return tl::unexpected(states.error());
    for (std::size_t layer = 0;; ++layer) {
        if (layers.contains(layer) && !kept->borders.has(layer))
            if (auto done = kept->borders.keep(layer, states->values()); !done) return tl::unexpected(done.error());
        if (layer == *layers.rbegin()) return kept.get();
        tell("Passing the network that runs begin with", job);
        const auto start = Clock::now();
        auto loaded = weights_->layer(layer, base, job);
        if (!loaded) return tl::unexpected(loaded.error());
        if (auto done = states->pass(std::move(*loaded), network_->layers[layer], job); !done)
            return tl::unexpected(done.error());
        ++workDone_;
        layerSeconds_ = secondsOf(start);
    }
}

HiddenStates BranchRunner::statesOf(const std::vector<float>& all, Chunks chunks) const {
    const auto hidden = std::size_t(network_->hidden);
    const auto at = [&](std::size_t chunk) {
        return all.begin() + std::ptrdiff_t(std::min(chunk * plan_.context * hidden, all.size()));
    };
    return {*network_, {at(chunks.begin), at(chunks.end)}, plan_.context};
}

Result<void> BranchRunner::runBatch(Base& base, std::span<Active> batch, Chunks chunks, const Job& job) {
    const double share = double(chunks.end - chunks.begin) / double(scored_.chunks);
    for (std::size_t layer = batch.front().first(); layer < network_->layers.size(); ++layer) {
        const bool isLast = layer + 1 == network_->layers.size(); // the last layer computes only the scored rows
        const std::size_t first = isLast ? firstScored(plan_.scored, plan_.context) : 0;
        std::vector<HiddenStates*> same;
        for (Active& one : batch) {
            if (one.first() > layer || one.isDone()) continue;
            tell("Running changed networks", job);
            if (one.first() == layer)
                if (auto begun = begin(base, one, chunks, job); !begun) return begun;
            if (one.isDone()) continue;
            workDone_ += share;
            if (!one.branch->layers.contains(layer)) {
                same.push_back(&*one.states);
                continue;
            }
            auto loaded = weights_->layer(layer, &one.branch->change, job);
            auto done = loaded ? one.states->pass(std::move(*loaded), network_->layers[layer], job, {}, first)
                               : Result<void>(tl::unexpected(loaded.error()));
            if (!done && done.error().cancelled) return done;
            if (!done) one.reason = done.error().sentence(), one.states.reset();
        }
        if (same.empty()) continue;
        auto loaded = weights_->layer(layer, base.change, job);
        if (!loaded) return tl::unexpected(loaded.error());
        if (auto done = HiddenStates::passAll(same, std::move(*loaded), network_->layers[layer], job, {}, first); !done)
            return done;
    }
    for (Active& one : batch)
        if (one.first() == network_->layers.size() && !one.isDone())
            if (auto begun = begin(base, one, chunks, job); !begun) return begun;
    return scoreBatch(base, batch, chunks, job);
}

Result<void> BranchRunner::begin(Base& base, Active& one, Chunks chunks, const Job& job) const {
    if (!one.branch->hasEmbedding) {
        auto values = base.borders.at(one.first());
        if (!values) return tl::unexpected(values.error());
        one.states.emplace(statesOf(*values, chunks));
        return {};
    }
    const auto inputs = inputsOf(plan_.text, scored_.inputs, plan_.context);
    const std::size_t from = std::min(chunks.begin * plan_.context, inputs.size()),
                      to = std::min(chunks.end * plan_.context, inputs.size());
    auto embedded =
        weights_->embed(std::span(inputs).subspan(from, to - from), plan_.context, &one.branch->change, job);
    if (!embedded && embedded.error().cancelled) return tl::unexpected(embedded.error());
    if (embedded)
        one.states.emplace(*network_, std::move(*embedded), plan_.context);
    else
        one.reason = embedded.error().sentence();
    return {};
}

Result<void> BranchRunner::scoreBatch(Base& base, std::span<Active> batch, Chunks chunks, const Job& job) {
    const TensorInfo& matrix = weights_->headTensor();
    const bool changesHead = base.change && base.change->touches && base.change->touches(matrix);
    if (changesHead && !base.head) {
        auto head = Head::load(*network_, *weights_, base.change, job);
        if (!head) return tl::unexpected(head.error());
        base.head.emplace(std::move(*head));
    }
    std::vector<Active*> same;
    for (Active& one : batch) {
        if (one.isDone()) continue;
        if (!one.branch->layers.contains(network_->layers.size())) {
            same.push_back(&one);
            continue;
        }
        auto head = Head::load(*network_, *weights_, &one.branch->change, job);
        if (!head && head.error().cancelled) return tl::unexpected(head.error());
        if (!head) {
            one.reason = head.error().sentence(), one.states.reset();
            continue;
        }
        Active* const alone[] = {&one};
        if (auto done = scoreWith(*head, {alone, 1}, chunks, job); !done) return done;
    }
    return same.empty() ? Result<void>() : scoreWith(changesHead ? *base.head : *head_, same, chunks, job);
}

Result<void> BranchRunner::scoreWith(Head& head, std::span<Active* const> branches, Chunks chunks, const Job& job) {
    const std::size_t last = network_->layers.size();
    auto kept = bordersOf(nullptr, {last}, job);
    if (!kept) return tl::unexpected(kept.error());
    auto values = (*kept)->borders.at(last);
    if (!values) return tl::unexpected(values.error());
    const HiddenStates reference = statesOf(*values, chunks);
    const std::size_t begin = chunks.begin * plan_.context; // of the states, in the text
    const auto vocabulary = std::size_t(network_->vocabulary);
    std::vector<float> expected, other;
    for (const ScoredRange& range : scored_.ranges)
        for (std::size_t first = range.begin; first < range.end; first += kLogitRows) {
            if (range.chunk < chunks.begin || range.chunk >= chunks.end) break;
            const std::size_t count = std::min(kLogitRows, range.end - first);
            tell("Comparing logits", job);
            if (!(*head_)(reference, first - begin, count, expected, job)) return cancelledError();
            for (Active* one : branches) {
                if (!head(*one->states, first - begin, count, other, job)) return cancelledError();
                compareLogits(plan_.text.tokens, plan_.context, range.chunk, first, count, vocabulary, expected, other,
                              one->scores);
            }
        }
    return job.cancelled() ? Result<void>(cancelledError()) : Result<void>();
}

/// Reports how long the runs will take, estimated from one layer of the base and some logits.
Result<void> BranchRunner::tellCost(std::size_t runs, std::size_t passes, std::size_t together, const Job& job) {
    if (!plan_.expected || runs < 2 || isCostTold_) return {}; // lists behind the first are short
    isCostTold_ = true;
    SensitivityCost cost;
    cost.runs = runs, cost.layerPasses = passes, cost.tokens = scored_.inputs;
    for (const ScoredRange& range : scored_.ranges) cost.scored += range.end - range.begin;
    const std::size_t count = std::min(kLogitRows, scored_.inputs - 1), hidden = std::size_t(network_->hidden);
    const HiddenStates some(*network_, std::vector<float>(count * hidden, 1.0f), plan_.context);
    std::vector<float> logits;
    std::vector<TokenScore> scores;
    const auto start = Clock::now();
    if (!(*head_)(some, 0, count, logits, job)) return cancelledError();
    const double headSeconds = secondsOf(start);
    compareLogits(plan_.text.tokens, plan_.context, 0, 0, count, std::size_t(network_->vocabulary), logits, logits,
                  scores);
    const double batches = double((runs + together - 1) / together), steps = double(cost.scored) / double(count);
    cost.seconds = double(passes) * layerSeconds_ + steps * (double(runs) * secondsOf(start) + batches * headSeconds);
    plan_.expected(cost);
    return {};
}

Result<void> BranchRunner::score(const WeightChange* base, std::vector<Branch> branches, const BranchDone& done,
                                 const Job& job, double until) {
    auto known = known_->take(branches, done, until);
    if (!known) return tl::unexpected(known.error());
    std::vector<std::size_t> missing = std::move(*known);
    if (missing.empty()) return {};
    std::ranges::stable_sort(missing,
                             [&](std::size_t a, std::size_t b) { return branches[a].first() < branches[b].first(); });
    std::vector<Active> all;
    std::set<std::size_t> borders;
    for (const std::size_t i : missing) {
        all.push_back({&branches[i], i, {}, {}, {}, false});
        borders.insert(all.back().first());
    }
    const std::size_t layers = network_->layers.size();
    workDone_ = 0, work_ = double(layers);
    for (const Active& one : all) work_ += double(layers - one.first());
    if (base)
        other_.reset();
    else
        borders.insert(layers);
    auto kept = bordersOf(base, borders, job);
    if (!kept) return tl::unexpected(kept.error());

    const std::uint64_t bytes = scored_.inputs * std::size_t(network_->hidden) * sizeof(float);
    const std::size_t together = std::clamp<std::size_t>(plan_.memory / 2 / bytes, 1, kMostTogether);
    if (auto told = tellCost(all.size(), std::size_t(work_) - layers, together, job); !told) return told;
    for (std::size_t first = 0; first < all.size(); first += together) {
        const auto batch = std::span(all).subspan(first, std::min(together, all.size() - first));
        const std::size_t step = until > 0 ? kChunksToEnd : scored_.chunks;
        for (std::size_t begin = 0; begin < scored_.chunks; begin += step) {
            const Chunks chunks{begin, std::min(begin + step, scored_.chunks)};
            if (auto ran = runBatch(**kept, batch, chunks, job); !ran) return ran;
            for (Active& one : batch)
                one.ended = one.isDone() || (chunks.end < scored_.chunks && isCertain(byChunk(one.scores), until));
        }
        for (Active& one : batch) {
            one.states.reset();
            const BranchResult result{byChunk(one.scores), one.reason};
            one.scores = {};
            ++runs_;
            const bool ended = result.reason.empty() && one.ended;
            if (auto kept = known_->keep(*one.branch, result, ended, until); !kept) return kept;
            if (auto ok = done(one.index, result); !ok) return ok;
        }
    }
    return {};
}

} // namespace qs::eval
