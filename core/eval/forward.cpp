// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/forward.h"

#include "core/base/lanes.h"
#include "core/base/parallel.h"
#include "core/eval/rope.h"
#include "core/value/product.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace qs::eval {
namespace {

constexpr std::size_t kRowsPerTask = 8;

float dot(const float* a, const float* b, std::size_t n) {
    FloatLanes sum{}, x, y;
    std::size_t i = 0;
    for (; i + kLanes <= n; i += kLanes) load(x, a + i), load(y, b + i), sum += x * y;
    float out = 0;
    for (std::size_t lane = 0; lane < kLanes; ++lane) out += sum[lane];
    for (; i < n; ++i) out += a[i] * b[i];
    return out;
}

void addScaled(const float* x, float factor, std::size_t n, float* into) {
    FloatLanes a, b;
    std::size_t i = 0;
    for (; i + kLanes <= n; i += kLanes) load(a, x + i), load(b, into + i), b += a * factor, store(b, into + i);
    for (; i < n; ++i) into[i] += x[i] * factor;
}

float activated(Activation activation, float x) {
    switch (activation) {
    case Activation::Silu: return x / (1 + std::exp(-x));
    case Activation::GeluTanh: {
        constexpr float kScale = 0.7978845608028654f; // sqrt(2 / pi)
        return 0.5f * x * (1 + std::tanh(kScale * (x + 0.044715f * x * x * x)));
    }
    case Activation::GeluErf: return 0.5f * x * (1 + std::erf(x * float(1 / std::numbers::sqrt2)));
    case Activation::Relu: break;
    }
    return std::max(x, 0.0f);
}

void addBias(std::span<const float> bias, std::size_t rows, float* y) {
    if (bias.empty()) return;
    for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t i = 0; i < bias.size(); ++i) y[r * bias.size() + i] += bias[i];
}

/// Sines and cosines of all positions of a chunk: [positions, frequencies].
struct Angles {
    std::vector<float> sines, cosines;
    std::size_t frequencies = 0;
    Angles(const Rope& rope, std::size_t positions) : frequencies(rope.frequency.size()) {
        sines.resize(positions * frequencies), cosines.resize(sines.size());
        for (std::size_t p = 0; p < positions; ++p)
            for (std::size_t i = 0; i < frequencies; ++i) {
                // As transformers computes it: frequency and product in f32.
                const float angle = float(p) * float(rope.frequency[i]);
                sines[p * frequencies + i] = float(std::sin(double(angle)) * rope.scale);
                cosines[p * frequencies + i] = float(std::cos(double(angle)) * rope.scale);
            }
    }
};

/// One layer over chunks, with its products prepared and the buffers of one chunk.
class LayerPass {
public:
    LayerPass(const Network& net, const LayerWeights& weights, const LayerPlan& plan, std::size_t context)
        : net_(net), w_(weights), plan_(plan), context_(context), hidden_(std::size_t(net.hidden)),
          queries_(std::size_t(net.heads * net.headSize)), keys_(std::size_t(net.keyValueHeads * net.headSize)),
          inner_(std::size_t(net.intermediate)), isGated_(weights.gateUp.size() == 2 * inner_ * hidden_),
          qkv_(weights.queryKeyValue.data(), context, queries_ + 2 * keys_, hidden_, false),
          output_(weights.output.data(), context, hidden_, queries_, false),
          gateUp_(weights.gateUp.data(), context, isGated_ ? 2 * inner_ : inner_, hidden_, false),
          down_(weights.down.data(), context, hidden_, inner_, false),
          angles_(plan.rope < 0 ? Rope{} : net.ropes[std::size_t(plan.rope)], context), input_(context * hidden_),
          projected_(context * (queries_ + 2 * keys_)), attended_(context * queries_),
          wide_(context * (isGated_ ? 2 : 1) * inner_), activated_(context * inner_), result_(context * hidden_) {}

    /// `x`: [length, hidden], changed in place.
    bool operator()(float* x, std::size_t length, const Job& job) {
        return attention(x, length, job) && mlp(x, length, job);
    }

private:
    /// The products take `context_` rows: those beyond `length` are 0.
    void enter(const float* x, std::size_t length, std::span<const float> norm, std::span<const float> bias) {
        std::fill(input_.begin() + std::ptrdiff_t(length * hidden_), input_.end(), 0.0f);
        if (norm.empty())
            std::copy_n(x, length * hidden_, input_.begin());
        else
            normalize(net_, {x, length * hidden_}, hidden_, norm, bias, input_.data());
    }
    void leave(float* x, std::size_t length, std::span<const float> norm) {
        if (!norm.empty()) normalize(net_, {result_.data(), length * hidden_}, hidden_, norm, {}, result_.data());
        for (std::size_t i = 0; i < length * hidden_; ++i) x[i] += result_[i];
    }

    void prepareHeads(std::size_t length) {
        const std::size_t width = queries_ + 2 * keys_, size = std::size_t(net_.headSize);
        parallelFor(length, kRowsPerTask, [&](std::size_t begin, std::size_t end, unsigned) {
            for (std::size_t t = begin; t < end; ++t) {
                float* row = projected_.data() + t * width;
                if (!w_.queryNorm.empty()) {
                    normalize(net_, {row, queries_}, w_.queryNorm.size(), w_.queryNorm, {}, row);
                    normalize(net_, {row + queries_, keys_}, w_.keyNorm.size(), w_.keyNorm, {}, row + queries_);
                }
                if (plan_.rope < 0) continue;
                const std::size_t at = t * angles_.frequencies;
                for (std::size_t head = 0; head < queries_ + keys_; head += size)
                    turn(row + head, angles_.sines.data() + at, angles_.cosines.data() + at, angles_.frequencies,
                         net_.pairsAreNeighbours);
            }
        });
    }

    bool attention(float* x, std::size_t length, const Job& job) {
        enter(x, length, w_.attentionNorm, w_.attentionNormBias);
        if (!qkv_.run(input_.data(), projected_.data(), job)) return false;
        addBias(w_.queryKeyValueBias, length, projected_.data());
        prepareHeads(length);
        std::fill(attended_.begin() + std::ptrdiff_t(length * queries_), attended_.end(), 0.0f);
        attend(net_, plan_, projected_.data(), length, attended_.data());
        if (!output_.run(attended_.data(), result_.data(), job)) return false;
        addBias(w_.outputBias, length, result_.data());
        leave(x, length, w_.afterAttentionNorm);
        return true;
    }

    bool mlp(float* x, std::size_t length, const Job& job) {
        enter(x, length, w_.mlpNorm, w_.mlpNormBias);
        if (!gateUp_.run(input_.data(), wide_.data(), job)) return false;
        addBias(w_.gateUpBias, length, wide_.data());
        std::fill(activated_.begin() + std::ptrdiff_t(length * inner_), activated_.end(), 0.0f);
        parallelFor(length, kRowsPerTask, [&](std::size_t begin, std::size_t end, unsigned) {
            for (std::size_t t = begin; t < end; ++t) {
                const float* row = wide_.data() + t * (isGated_ ? 2 : 1) * inner_;
                float* out = activated_.data() + t * inner_;
                for (std::size_t i = 0; i < inner_; ++i)
                    out[i] = activated(net_.activation, row[i]) * (isGated_ ? row[inner_ + i] : 1.0f);
            }
        });
        if (!down_.run(activated_.data(), result_.data(), job)) return false;
        addBias(w_.downBias, length, result_.data());
        leave(x, length, w_.afterMlpNorm);
        return true;
    }

    const Network& net_;
    const LayerWeights& w_;
    const LayerPlan& plan_;
    std::size_t context_, hidden_, queries_, keys_, inner_;
    bool isGated_;
    value::PreparedProduct qkv_, output_, gateUp_, down_;
    Angles angles_;
    std::vector<float> input_, projected_, attended_, wide_, activated_, result_;
};

} // namespace

void normalize(const Network& network, std::span<const float> x, std::size_t width, std::span<const float> factor,
               std::span<const float> bias, float* y) {
    const float one = network.normAddsOne ? 1.0f : 0.0f;
    for (std::size_t begin = 0; begin < x.size(); begin += width) {
        const float* row = x.data() + begin;
        float* out = y + begin;
        double mean = 0, squares = 0;
        if (network.norm == NormKind::Layer) {
            for (std::size_t i = 0; i < width; ++i) mean += double(row[i]);
            mean /= double(width);
        }
        for (std::size_t i = 0; i < width; ++i) squares += (double(row[i]) - mean) * (double(row[i]) - mean);
        const auto inverse = float(1 / std::sqrt(squares / double(width) + double(network.normEpsilon)));
        for (std::size_t i = 0; i < width; ++i)
            out[i] = (row[i] - float(mean)) * inverse * (factor[i] + one) + (bias.empty() ? 0.0f : bias[i]);
    }
}

void attend(const Network& network, const LayerPlan& plan, const float* qkv, std::size_t length, float* out) {
    const auto size = std::size_t(network.headSize), heads = std::size_t(network.heads);
    const auto shared = heads / std::size_t(network.keyValueHeads); // heads that share keys and values
    const std::size_t queries = heads * size, keys = queries / shared, width = queries + 2 * keys;
    const std::size_t blocks = (length + kRowsPerTask - 1) / kRowsPerTask;
    parallelFor(heads * blocks, 1, [&](std::size_t begin, std::size_t end, unsigned) {
        std::vector<float> scores(length);
        for (std::size_t task = begin; task < end; ++task) {
            const std::size_t head = task / blocks, from = task % blocks * kRowsPerTask;
            const float* key = qkv + queries + head / shared * size;
            const float* value = key + keys;
            for (std::size_t t = from; t < std::min(length, from + kRowsPerTask); ++t) {
                const float* query = qkv + t * width + head * size;
                const std::size_t first =
                    plan.window > 0 && t + 1 > std::size_t(plan.window) ? t + 1 - std::size_t(plan.window) : 0;
                float most = -INFINITY;
                for (std::size_t s = first; s <= t; ++s) {
                    float score = dot(query, key + s * width, size) * network.attentionScale;
                    if (network.attentionCap > 0)
                        score = network.attentionCap * std::tanh(score / network.attentionCap);
                    scores[s] = score, most = std::max(most, score);
                }
                float sum = 0;
                for (std::size_t s = first; s <= t; ++s) sum += scores[s] = std::exp(scores[s] - most);
                float* row = out + t * queries + head * size;
                std::fill_n(row, size, 0.0f);
                for (std::size_t s = first; s <= t; ++s) addScaled(value + s * width, scores[s] / sum, size, row);
            }
        }
    });
}

Result<void> HiddenStates::pass(const LayerWeights& weights, const LayerPlan& plan, const Job& job) {
    const auto hidden = std::size_t(network_.hidden);
    LayerPass layer(network_, weights, plan, std::min(context_, tokens()));
    for (std::size_t begin = 0; begin < tokens(); begin += context_)
        if (!layer(values_.data() + begin * hidden, std::min(context_, tokens() - begin), job) || job.cancelled())
            return cancelledError();
    return {};
}

std::span<const float> HiddenStates::rows(std::size_t first, std::size_t count) const {
    const auto hidden = std::size_t(network_.hidden);
    return std::span(values_).subspan(first * hidden, count * hidden);
}

} // namespace qs::eval
