// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/run/embeddings.h"

#include "core/base/text.h"
#include "core/eval/forward/hidden_states.h"
#include "core/eval/network/served_matrix.h"
#include "core/eval/run/chunk_units.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace qs::eval {
namespace {

/// Tokens of chunks that go through the network together. The weights are read and quantized again for the next ones.
constexpr std::size_t kTokensTogether = 16384;

/// The figures of one chunk, for each change.
struct ChunkCosines {
    std::vector<double> cosines; ///< NaN: not finite
    std::vector<std::string> reasons, servedBy;
};

template<class Archive, archive::Of<ChunkCosines> T> void fieldsOf(Archive& archive, T& chunk) {
    archive(chunk.cosines, chunk.reasons, chunk.servedBy);
}

/// True if a record that was read has a cosine, or why there is none, for each change.
bool fits(const ChunkCosines& chunk, std::size_t changes) {
    constexpr double most = 1 + 1e-9; // rounding
    if (chunk.cosines.size() != changes || chunk.reasons.size() != changes || chunk.servedBy.size() != changes)
        return false;
    return std::ranges::all_of(chunk.cosines, [](double x) { return std::isnan(x) || std::fabs(x) <= most; });
}

struct Encoder {
    Network net;
    NetworkWeights weights;

    static Result<Encoder> of(const std::shared_ptr<const Model>& model) {
        auto net = readNetwork(*model);
        if (!net) return tl::unexpected(net.error());
        if (!net->isEncoder)
            return fail(fmt::format("{} predicts tokens and makes no embeddings.", shownPath(model->path)));
        auto weights = NetworkWeights::of(model, *net);
        if (!weights) return tl::unexpected(weights.error());
        return Encoder{std::move(*net), std::move(*weights)};
    }

    /// Means of the last hidden states, [chunks, hidden].
    Result<std::vector<float>> embeddings(std::span<const std::int32_t> tokens, std::size_t context,
                                          const WeightChange* change, const Job& job) const {
        auto values = weights.embed(tokens, context, change && change->everywhere ? change : nullptr, job);
        if (!values) return values;
        HiddenStates states(net, std::move(*values), context);
        for (std::size_t i = 0; i < net.layers.size(); ++i) {
            job.progress({double(i), double(net.layers.size()), fmt::format("Evaluating layer {}", i), i + 1,
                          net.layers.size()});
            auto layer = weights.layer(i, change, job);
            if (!layer) return tl::unexpected(layer.error());
            const auto done = states.pass(std::move(*layer), net.layers[i], job);
            const auto failure = !done && change && change->server ? change->server->failure() : std::nullopt;
            if (!done) return tl::unexpected(failure ? *failure : done.error());
        }
        return means(states, context);
    }

    std::vector<float> means(const HiddenStates& states, std::size_t context) const {
        const auto hidden = std::size_t(net.hidden);
        std::vector<float> out;
        for (std::size_t begin = 0; begin < states.tokens(); begin += context) {
            const std::size_t count = std::min(context, states.tokens() - begin);
            const auto rows = states.rows(begin, count);
            for (std::size_t i = 0; i < hidden; ++i) {
                double sum = 0;
                for (std::size_t t = 0; t < count; ++t) sum += double(rows[t * hidden + i]);
                out.push_back(float(sum / double(count)));
            }
        }
        return out;
    }
};

double cosine(std::span<const float> a, std::span<const float> b) {
    double product = 0, squaresA = 0, squaresB = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        product += double(a[i]) * double(b[i]);
        squaresA += double(a[i]) * double(a[i]), squaresB += double(b[i]) * double(b[i]);
    }
    const double value = product / std::sqrt(squaresA * squaresB);
    return std::isfinite(value) ? value : std::nan("");
}

/// The figures of some chunks.
Result<std::vector<ChunkCosines>> cosinesOf(const Encoder& encoder, std::span<const std::int32_t> inputs,
                                            const EvaluationPlan& plan, ChunkRange chunks, const Job& job) {
    const std::size_t begin = chunks.begin * plan.context, end = std::min(chunks.end * plan.context, inputs.size());
    const auto tokens = inputs.subspan(begin, end - begin);
    const auto reference = encoder.embeddings(tokens, plan.context, nullptr, job);
    if (!reference) return tl::unexpected(reference.error());
    std::vector<ChunkCosines> out(chunks.count());
    const auto hidden = std::size_t(encoder.net.hidden);
    for (const WeightChange& change : plan.changes) {
        const auto other = encoder.embeddings(tokens, plan.context, &change, job);
        if (!other && other.error().cancelled) return tl::unexpected(other.error());
        for (std::size_t chunk = 0; chunk < out.size(); ++chunk) {
            const auto embedding = [&](const std::vector<float>& all) {
                return std::span(all).subspan(chunk * hidden, hidden);
            };
            out[chunk].cosines.push_back(other ? cosine(embedding(*reference), embedding(*other)) : std::nan(""));
            out[chunk].reasons.push_back(other ? "" : other.error().sentence());
            out[chunk].servedBy.push_back(change.server ? change.server->title() : "");
        }
    }
    return out;
}

} // namespace

std::vector<std::int32_t> framedInputs(const EvaluationText& text, std::size_t count, std::size_t context) {
    std::vector<std::int32_t> out(text.tokens.begin(), text.tokens.begin() + std::ptrdiff_t(count));
    for (std::size_t at = 0; text.frame && at < count; at += context) {
        out[at] = text.frame->first;
        out[std::min(at + context, count) - 1] = text.frame->second;
    }
    return out;
}

Result<EmbeddingEvaluation> evaluateEmbeddings(std::shared_ptr<const Model> model, const EvaluationPlan& plan,
                                               const Job& job) {
    const auto encoder = Encoder::of(model);
    if (!encoder) return tl::unexpected(encoder.error());
    EmbeddingEvaluation out;
    out.chunks = (plan.text.tokens.size() + plan.context - 1) / std::max<std::size_t>(1, plan.context);
    if (plan.chunks > 0) out.chunks = std::min(out.chunks, plan.chunks);
    out.tokens = std::min(plan.text.tokens.size(), out.chunks * plan.context);
    if (out.tokens == 0) return fail("The text has no tokens.", plan.text.path);
    const auto inputs = framedInputs(plan.text, out.tokens, plan.context);
    if (auto fine = checkTokens(inputs, plan.context, encoder->net); !fine) return tl::unexpected(fine.error());
    const auto matrices = encoder->weights.matrices();
    out.matrices = matrices.size(), out.quantizedMatrices = quantizedOf(matrices);
    for (const WeightChange& change : plan.changes)
        if (change.network) return fail("An encoder is compared under specs, not with another network.");
    out.cosines.resize(plan.changes.size()), out.reasons.resize(plan.changes.size());
    out.servedBy.resize(plan.changes.size());
    const auto fitsPlan = [&](const ChunkCosines& one, std::size_t) { return fits(one, plan.changes.size()); };
    auto units = ChunkUnits<ChunkCosines>::of(*model, plan, out.chunks, fitsPlan, job);
    if (!units) return tl::unexpected(units.error());
    const auto add = [&](const ChunkCosines& chunk) {
        for (std::size_t i = 0; i < plan.changes.size(); ++i) {
            if (out.reasons[i].empty()) out.reasons[i] = chunk.reasons[i];
            out.cosines[i].push_back(chunk.cosines[i]);
        }
        out.servedBy = chunk.servedBy;
    };
    std::size_t chunk = 0;
    const auto addKnown = [&](std::size_t end) {
        for (; chunk < end; ++chunk)
            if (const auto known = units->take(chunk)) add(*known);
    };
    for (const ChunkRange group : units->groups(std::max<std::size_t>(1, kTokensTogether / plan.context))) {
        addKnown(group.begin);
        const auto computed = cosinesOf(*encoder, inputs, plan, group, job);
        if (!computed) return tl::unexpected(computed.error());
        for (const ChunkCosines& one : *computed) {
            if (auto kept = units->keep(chunk++, [&] { return one; }); !kept) return tl::unexpected(kept.error());
            add(one);
        }
    }
    addKnown(out.chunks);
    for (std::size_t i = 0; i < plan.changes.size(); ++i)
        if (!out.reasons[i].empty()) out.cosines[i].clear();
    return out;
}

Result<std::vector<float>> embeddingsOf(std::shared_ptr<const Model> model, std::span<const std::int32_t> tokens,
                                        std::size_t context, const Job& job) {
    const auto encoder = Encoder::of(model);
    if (!encoder) return tl::unexpected(encoder.error());
    if (auto fine = checkTokens(tokens, context, encoder->net); !fine) return tl::unexpected(fine.error());
    return encoder->embeddings(tokens, context, nullptr, job);
}

} // namespace qs::eval
