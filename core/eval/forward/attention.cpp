// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/forward/attention.h"

#include "core/base/lanes.h"
#include "core/base/parallel.h"
#include "core/eval/forward/rows.h"
#include "core/eval/network/rope.h"

#include <algorithm>
#include <cmath>

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

} // namespace

Angles::Angles(const Rope& rope, std::size_t positions) : frequencies(rope.frequency.size()) {
    sines.resize(positions * frequencies), cosines.resize(sines.size());
    for (std::size_t p = 0; p < positions; ++p)
        for (std::size_t i = 0; i < frequencies; ++i) {
            // As transformers computes it: frequency and product in f32.
            const float angle = float(p) * float(rope.frequency[i]);
            sines[p * frequencies + i] = float(std::sin(double(angle)) * rope.scale);
            cosines[p * frequencies + i] = float(std::cos(double(angle)) * rope.scale);
        }
}

Attention::Attention(const Network& network, const LayerWeights& weights, const LayerPlan& plan, std::size_t context)
    : net_(network), w_(weights), plan_(plan), queries_(std::size_t(network.heads * network.headSize)),
      keys_(std::size_t(network.keyValueHeads * network.headSize)),
      qkv_(weights.queryKeyValue.data(), context, queries_ + 2 * keys_, std::size_t(network.hidden), false),
      output_(weights.output.data(), context, std::size_t(network.hidden), queries_, false),
      angles_(plan.rope < 0 ? Rope{} : network.ropes[std::size_t(plan.rope)], context),
      projected_(context * (queries_ + 2 * keys_)), attended_(context * queries_) {}

void Attention::prepareHeads(std::size_t length) {
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

bool Attention::operator()(const float* x, std::size_t length, float* y, const Job& job, const InputTap& tap) {
    if (tap) tap(WeightRole::QueryKeyValue, {x, length * std::size_t(net_.hidden)});
    if (!qkv_.run(x, projected_.data(), job)) return false;
    addBias(w_.queryKeyValueBias, length, projected_.data());
    prepareHeads(length);
    std::fill(attended_.begin() + std::ptrdiff_t(length * queries_), attended_.end(), 0.0f);
    attend(net_, plan_, projected_.data(), length, attended_.data());
    if (tap) tap(WeightRole::Output, std::span(attended_).first(length * queries_));
    if (!output_.run(attended_.data(), y, job)) return false;
    addBias(w_.outputBias, length, y);
    return true;
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
                const std::size_t last = network.isEncoder ? length - 1 : t;
                float most = -INFINITY;
                for (std::size_t s = first; s <= last; ++s) {
                    float score = dot(query, key + s * width, size) * network.attentionScale;
                    if (network.attentionCap > 0)
                        score = network.attentionCap * std::tanh(score / network.attentionCap);
                    scores[s] = score, most = std::max(most, score);
                }
                float sum = 0;
                for (std::size_t s = first; s <= last; ++s) sum += scores[s] = std::exp(scores[s] - most);
                float* row = out + t * queries + head * size;
                std::fill_n(row, size, 0.0f);
                for (std::size_t s = first; s <= last; ++s) addScaled(value + s * width, scores[s] / sum, size, row);
            }
        }
    });
}

} // namespace qs::eval
