// SPDX-License-Identifier: GPL-3.0-or-later
// How fast a prompt goes through a language model, and how fast the same products run by themselves.
// Usage: bench_network MODEL [--tokens N] [--rounds N] [--layers N]; QS_THREADS is the number of threads.
//   --tokens 512   of the prompt, which is one chunk
//   --rounds 1     the two take turns
//   --layers 0     only the first N layers; 0: all
// Prints one line of JSON a round: tokens, operations of the products (a multiply-add is two), seconds of the prompt and of
// its products alone by the clock, and the same of the processor.
// The prompt is as llama-bench's: all layers over all tokens, but of the last layer what follows the keys and values over the last
// token alone, as the head. Weights are loaded before.
#include "core/eval/forward/hidden_states.h"
#include "core/eval/forward/rows.h"
#include "core/eval/network/network_weights.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <random>

using namespace qs;
using namespace qs::eval;

namespace {

struct Options {
    std::string model;
    std::size_t tokens = 512, rounds = 1, layers = 0;
};

/// A product of the network by itself.
struct Alone {
    std::size_t outputs, inputs;
    value::PreparedProduct product;
};

struct Loaded {
    Network network;
    std::unique_ptr<PassRoom> room;
    std::vector<float> embedded, norm;
    std::vector<std::unique_ptr<PreparedLayer>> layers;
    std::unique_ptr<Linear> head; ///< of one row
    std::vector<Alone> products;
};

/// Seconds of the clock and of the processor, all threads together.
struct Seconds {
    double clock = 0, processor = 0;
    Seconds operator-(const Seconds& before) const { return {clock - before.clock, processor - before.processor}; }
    static Seconds now() {
        const auto of = [](clockid_t id) {
            timespec time{};
            clock_gettime(id, &time);
            return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
        };
        return {of(CLOCK_MONOTONIC), of(CLOCK_PROCESS_CPUTIME_ID)};
    }
};

/// Adds the products of a layer, with weights of their own.
void addProducts(const Network& net, const LayerWeights& weights, Loaded& into) {
    const auto hidden = std::size_t(net.hidden), queries = std::size_t(net.heads * net.headSize);
    const auto inner = std::size_t(net.intermediate);
    const std::pair<const WeightMatrix*, std::size_t> all[] = {{&weights.queryKeyValue, hidden},
                                                               {&weights.output, queries},
                                                               {&weights.gateUp, hidden},
                                                               {&weights.down, inner}};
    for (const auto& [matrix, inputs] : all) {
        const std::size_t outputs = matrix->size() / inputs;
        const value::ProductWeights values(matrix->data(), matrix->element());
        into.products.push_back(
            {outputs,
             inputs,
             {values, into.room->sizes.rowsOfBlock, outputs, inputs, false, into.room->workers.team()}});
    }
}

Result<Loaded> load(const Options& options) {
    auto model = openModel(options.model);
    if (!model) return tl::unexpected(model.error());
    const Job job;
    Loaded out;
    auto network = readNetwork(**model);
    if (!network) return tl::unexpected(network.error());
    out.network = std::move(*network);
    auto weights = NetworkWeights::of(*model, out.network);
    if (!weights) return tl::unexpected(weights.error());
    out.room = std::make_unique<PassRoom>(out.network, PassSizes(options.tokens, 1));
    std::mt19937 random(1);
    std::vector<std::int32_t> tokens(options.tokens);
    for (auto& token : tokens) token = std::int32_t(random() % unsigned(out.network.vocabulary));
    auto embedded = weights->embed(tokens, options.tokens, nullptr, job);
    auto norm = weights->finalNorm(job);
    auto head = weights->head(nullptr, job);
    if (!embedded || !norm || !head) return fail("The model cannot be loaded.");
    out.embedded = std::move(*embedded), out.norm = std::move(*norm);
    const std::size_t layers = options.layers > 0 ? options.layers : out.network.layers.size();
    for (std::size_t i = 0; i < layers; ++i) {
        auto layer = weights->layer(i, nullptr, job);
        if (!layer) return tl::unexpected(layer.error());
        if (i == 0) addProducts(out.network, *layer, out);
        out.layers.push_back(std::make_unique<PreparedLayer>(out.network, std::move(*layer), out.network.layers[i],
                                                             *out.room, i + 1 == layers ? options.tokens - 1 : 0));
    }
    out.head = std::make_unique<Linear>(std::move(*head), 1, std::size_t(out.network.vocabulary),
                                        std::size_t(out.network.hidden), out.room->workers.team());
    return out;
}

Seconds promptSeconds(Loaded& model, std::size_t tokens) {
    const auto hidden = std::size_t(model.network.hidden);
    std::vector<float> logits(std::size_t(model.network.vocabulary)), last(hidden);
    const Seconds start = Seconds::now();
    HiddenStates states(model.network, model.embedded, tokens);
    for (const auto& layer : model.layers)
        if (!states.pass(*layer, *model.room, Job())) std::abort();
    normalize(model.network, states.rows(tokens - 1, 1), hidden, model.norm, {}, last.data());
    model.head->run(last.data(), logits.data(), Job());
    return Seconds::now() - start;
}

/// The products of all layers over all tokens, on the weights of the first layer.
Seconds productSeconds(Loaded& model) {
    std::vector<float> x, y;
    const std::size_t rows = model.room->sizes.rowsOfBlock;
    for (const Alone& each : model.products) {
        x.resize(std::max(x.size(), rows * each.inputs), 0.5f);
        y.resize(std::max(y.size(), rows * each.outputs));
    }
    const Seconds start = Seconds::now();
    for (std::size_t layer = 0; layer < model.layers.size(); ++layer)
        for (Alone& each : model.products)
            for (std::size_t block = 0; block < model.room->sizes.blocks; ++block)
                each.product.run(x.data(), y.data(), Job());
    return Seconds::now() - start;
}

} // namespace

int main(int count, char** arguments) {
    Options options;
    for (int i = 1; i < count; ++i) {
        const auto is = [&](const char* name) { return std::strcmp(arguments[i], name) == 0 && i + 1 < count; };
        if (is("--tokens"))
            options.tokens = std::strtoul(arguments[++i], nullptr, 10);
        else if (is("--rounds"))
            options.rounds = std::strtoul(arguments[++i], nullptr, 10);
        else if (is("--layers"))
            options.layers = std::strtoul(arguments[++i], nullptr, 10);
        else
            options.model = arguments[i];
    }
    auto loaded = load(options);
    if (!loaded) return std::fprintf(stderr, "%s\n", loaded.error().sentence().c_str()), 1;
    double flops = 0;
    for (const Alone& each : loaded->products)
        flops += 2.0 * double(each.outputs * each.inputs * options.tokens * loaded->layers.size());
    promptSeconds(*loaded, options.tokens), productSeconds(*loaded); // warms up
    for (std::size_t round = 0; round < options.rounds; ++round) {
        const Seconds prompt = promptSeconds(*loaded, options.tokens), products = productSeconds(*loaded);
        std::printf(
            "{\"tokens\": %zu, \"operations\": %.6g, \"prompt\": %.6f, \"products\": %.6f, \"prompt_cpu\": %.6f, "
            "\"products_cpu\": %.6f, \"kernel\": \"%s\"}\n",
            options.tokens, flops, prompt.clock, products.clock, prompt.processor, products.processor,
            loaded->products.front().product.kernel().c_str());
        std::fflush(stdout);
    }
    return 0;
}
