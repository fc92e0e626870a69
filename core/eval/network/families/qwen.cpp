// SPDX-License-Identifier: GPL-3.0-or-later
// Qwen2 and Qwen3; the mixture of experts of Qwen3 is in mixtures.cpp.
#include "core/eval/network/families/family.h"

namespace qs::eval {
namespace {

constexpr auto kQwen2Layer = joined(attentionNames(true), kNormsBeforeNames, kMlpNames);
constexpr auto kQwen3Layer = joined(kAttentionNames, kQueryKeyNormNames, kNormsBeforeNames, kMlpNames);

/// In transformers models/qwen2 and qwen3 a layer has a window only if use_sliding_window is true.
Network readQwen(Config& config, const LlamaDefaults& defaults) {
    Network net = readLlamaLike(config, defaults);
    const bool uses = config.flag("use_sliding_window", false);
    const std::int64_t window = config.count("sliding_window", 0);
    const double from = config.number("max_window_layers", 28, {0, 4096});
    setWindows(config, net, uses ? window : 0, [&](std::size_t i) { return uses && double(i) >= from; });
    return net;
}
Network readQwen2(Config& config) { return readQwen(config, {}); }

constexpr std::string_view kQwen2Types[] = {"qwen2"}, kQwen3Types[] = {"qwen3"};

} // namespace

Network readQwen3(Config& config) {
    Network net = readQwen(config, {.headSize = 128});
    net.queryKeyNorm = QueryKeyNorm::PerHead;
    return net;
}

const Architecture kQwen2Row = {"qwen2",  "Qwen2",     kQwen2Types, "qwen2",  kPrefixes,
                                "layers", kModelNames, kQwen2Layer, readQwen2};
const Architecture kQwen3Row = {"qwen3",  "Qwen3",     kQwen3Types, "qwen3",  kPrefixes,
                                "layers", kModelNames, kQwen3Layer, readQwen3};

} // namespace qs::eval
