// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/run/evaluate.h"

#include "core/base/parallel.h"
#include "core/eval/forward/head.h"

#include <algorithm>
#include <fmt/format.h>

namespace qs::eval {
namespace {

/// A network whose hidden states go forward beside the others.
struct Runner {
    const WeightChange* change = nullptr; ///< null: the reference
    std::optional<HiddenStates> states;
    std::string reason; ///< not empty: it has fallen out
};

/// Inputs whose next token is scored, of one chunk.
struct ScoredRange {
    std::size_t chunk = 0, begin = 0, end = 0; ///< positions in the whole text
};

std::vector<ScoredRange> rangesOf(const EvaluationPlan& plan, std::size_t inputs) {
    std::vector<ScoredRange> out;
    for (std::size_t begin = 0, chunk = 0; begin < inputs; begin += plan.context, ++chunk) {
        const std::size_t end = std::min(begin + plan.context, inputs);
        const bool half = plan.scored == Scored::SecondHalf;
        ScoredRange range{chunk, half ? begin + plan.context / 2 : begin,
                          half ? end - 1 : std::min(end, plan.text.tokens.size() - 1)};
        if (range.begin < range.end) out.push_back(range);
    }
    return out;
}

/// Appends the scores of `count` tokens that follow the inputs from `first` on.
void compare(const EvaluationPlan& plan, std::size_t vocabulary, std::size_t chunk, std::size_t first,
             std::size_t count, const std::vector<float>& reference, const std::vector<float>& other,
             std::vector<TokenScore>& into) {
    const std::size_t begin = into.size();
    into.resize(begin + count);
    parallelFor(count, 1, [&](std::size_t from, std::size_t to, unsigned) {
        for (std::size_t i = from; i < to; ++i) {
            TokenScore score =
                scoreToken(std::span(reference).subspan(i * vocabulary, vocabulary),
                           std::span(other).subspan(i * vocabulary, vocabulary), plan.text.tokens[first + i + 1]);
            score.chunk = chunk, score.position = (first + i) % plan.context;
            into[begin + i] = score;
        }
    });
}

Result<void> passLayers(const Network& net, const NetworkWeights& weights, std::vector<Runner>& runners,
                        const Job& job) {
    for (std::size_t layer = 0; layer < net.layers.size(); ++layer) {
        for (Runner& runner : runners) {
            if (!runner.reason.empty()) continue;
            job.progress({double(layer), double(net.layers.size()), fmt::format("Evaluating layer {}", layer),
                          layer + 1, net.layers.size()});
            const auto loaded = weights.layer(layer, runner.change, job);
            if (!loaded && (loaded.error().cancelled || !runner.change)) return tl::unexpected(loaded.error());
            if (!loaded) {
                runner.reason = loaded.error().message;
                runner.states.reset();
                continue;
            }
            if (auto done = runner.states->pass(*loaded, net.layers[layer], job); !done) return done;
        }
    }
    return {};
}

Result<void> checkTokens(std::span<const std::int32_t> tokens, std::size_t context, const Network& net) {
    for (std::size_t i = 0; i < tokens.size(); ++i)
        if (tokens[i] < 0 || tokens[i] >= net.vocabulary)
            return fail(fmt::format("Token {} of the text is {}; the vocabulary has {} tokens, from 0 on.", i + 1,
                                    tokens[i], net.vocabulary));
    if (context < 2) return fail("A context has at least 2 tokens.");
    if (net.positions > 0 && std::int64_t(context) > net.positions)
        return fail(fmt::format("The network was made for {} positions: use a context of at most {}, not {}.",
                                net.positions, net.positions, context));
    return {};
}

} // namespace

Result<Evaluation> evaluate(std::shared_ptr<const Model> model, const EvaluationPlan& plan, const Job& job) {
    auto net = readNetwork(*model);
    if (!net) return tl::unexpected(net.error());
    const auto weights = NetworkWeights::of(model, *net);
    if (!weights) return tl::unexpected(weights.error());
    if (auto checked = checkTokens(plan.text.tokens, plan.context, *net); !checked)
        return tl::unexpected(checked.error());

    const bool half = plan.scored == Scored::SecondHalf;
    std::size_t inputs = half ? plan.text.tokens.size() / plan.context * plan.context : plan.text.tokens.size();
    if (plan.chunks > 0) inputs = std::min(inputs, plan.chunks * plan.context);
    const auto ranges = rangesOf(plan, inputs);
    if (ranges.empty())
        return fail(fmt::format("The text has {} tokens; a context of {} needs at least {}.", plan.text.tokens.size(),
                                plan.context, half ? plan.context : 2));
    if (!half && inputs == plan.text.tokens.size()) inputs -= 1; // the last token is no input: nothing follows it

    const auto embedded = weights->embed(std::span(plan.text.tokens).first(inputs), plan.context, nullptr, job);
    if (!embedded) return tl::unexpected(embedded.error());
    std::vector<Runner> runners(1 + plan.changes.size());
    for (std::size_t i = 0; i < runners.size(); ++i) {
        if (i > 0) runners[i].change = &plan.changes[i - 1];
        runners[i].states.emplace(*net, *embedded, plan.context);
    }
    if (auto done = passLayers(*net, *weights, runners, job); !done) return tl::unexpected(done.error());

    auto head = Head::load(*net, *weights, job);
    if (!head) return tl::unexpected(head.error());
    const auto vocabulary = std::size_t(net->vocabulary);
    Evaluation out;
    out.tokens = inputs, out.chunks = (inputs + plan.context - 1) / plan.context;
    out.scores.resize(plan.changes.size()), out.reasons.resize(plan.changes.size());
    std::vector<float> reference, other;
    for (std::size_t r = 0; r < ranges.size(); ++r) {
        job.progress({double(r), double(ranges.size()), "Comparing logits", r + 1, ranges.size()});
        for (std::size_t first = ranges[r].begin; first < ranges[r].end; first += kLogitRows) {
            const std::size_t count = std::min(kLogitRows, ranges[r].end - first);
            if (!(*head)(*runners[0].states, first, count, reference, job)) return cancelledError();
            for (std::size_t i = 0; i < plan.changes.size(); ++i) {
                if (!runners[i + 1].reason.empty()) continue;
                if (!(*head)(*runners[i + 1].states, first, count, other, job)) return cancelledError();
                compare(plan, vocabulary, ranges[r].chunk, first, count, reference, other, out.scores[i]);
                if (plan.arrived) plan.arrived(i, std::span(out.scores[i]).last(count));
            }
        }
    }
    for (std::size_t i = 0; i < plan.changes.size(); ++i) out.reasons[i] = runners[i + 1].reason;
    return out;
}

Result<std::vector<float>> logitsOf(std::shared_ptr<const Model> model, std::span<const std::int32_t> tokens,
                                    std::size_t context, const Job& job) {
    auto net = readNetwork(*model);
    if (!net) return tl::unexpected(net.error());
    const auto weights = NetworkWeights::of(model, *net);
    if (!weights) return tl::unexpected(weights.error());
    if (auto checked = checkTokens(tokens, context, *net); !checked) return tl::unexpected(checked.error());
    auto embedded = weights->embed(tokens, context, nullptr, job);
    if (!embedded) return tl::unexpected(embedded.error());
    std::vector<Runner> runner(1);
    runner.front().states.emplace(*net, std::move(*embedded), context);
    if (auto done = passLayers(*net, *weights, runner, job); !done) return tl::unexpected(done.error());
    auto head = Head::load(*net, *weights, job);
    if (!head) return tl::unexpected(head.error());
    std::vector<float> out, rows;
    for (std::size_t first = 0; first < tokens.size(); first += kLogitRows) {
        const std::size_t count = std::min(kLogitRows, tokens.size() - first);
        if (!(*head)(*runner.front().states, first, count, rows, job)) return cancelledError();
        out.insert(out.end(), rows.begin(), rows.begin() + std::ptrdiff_t(count * std::size_t(net->vocabulary)));
    }
    return out;
}

} // namespace qs::eval
