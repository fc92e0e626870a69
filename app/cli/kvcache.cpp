// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/declare.h"
#include "app/cli/interrupt.h"
#include "app/cli/lab.h"
#include "core/base/text.h"
#include "core/value/kv_cache.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <optional>

namespace qs::cli {
namespace {

struct KvcacheOptions {
    std::string inputs;
    std::vector<std::string> specs;
    std::int64_t heads = 4, tokens = 512, dim = 64;
    OutputFiles outputs;
    std::string commandLine;
};

Result<void> runKvcache(const KvcacheOptions& options) {
    const auto file = labInputs(options.inputs);
    if (!file) return tl::unexpected(file.error());
    if (auto fine = options.outputs.check(); !fine) return fine;
    if (!*file)
        if (auto fits = sayNeed(value::kvNeed(std::uint64_t(options.heads), std::uint64_t(options.tokens),
                                              std::uint64_t(options.dim), std::uint64_t(value::kSyntheticQueries)));
            !fits)
            return fits;
    std::optional<EndsAtOnce> computing(std::in_place);
    auto plan = *file ? (*file)->keysAndValues() : value::syntheticKv(options.heads, options.tokens, options.dim, 1);
    if (!plan) return tl::unexpected(plan.error());
    if (!options.specs.empty()) plan->specs = options.specs;
    const auto rows = value::runKvCache(*plan, processJob());
    if (!rows) return tl::unexpected(rows.error());
    computing.reset();
    LabReport report;
    report.title = "KV cache";
    report.subtitle = *file ? escapeForPeople((*file)->title()) : "synthetic Q, K and V";
    report.text =
        "K and V under a spec, a scale per head and token unless the spec says otherwise: what it does to them, "
        "to the attention weights and to the output of attention.";
    report.specs = fmt::format("{}", fmt::join(plan->specs, "; "));
    report.seeds = *file ? "none: every step is deterministic" : "synthetic 1";
    report.commandLine = options.commandLine, report.paths = {options.inputs};
    const auto& k = plan->k.shape;
    if (auto done =
            putLab(options.outputs, nullptr, makeTable({}, value::kvColumns(), *rows),
                   {"spec", "bytes_per_token", "k_nmse", "v_nmse", "kl", "output_nmse", "reason"}, std::move(report),
                   fmt::format("\n{}: {} heads, {} tokens, head size {}\n",
                               *file ? escapeForPeople((*file)->title(), 60) : "Synthetic, seed 1", k[0], k[1], k[2]));
        !done)
        return done;
    if (std::all_of(rows->begin(), rows->end(), [](const auto& row) { return !row.output; }))
        return fail(rows->front().reason);
    return {};
}

} // namespace

Run declareKvCache(CLI::App& app) {
    auto options = std::make_shared<KvcacheOptions>();
    option(app, "--inputs", options->inputs,
           "A checkpoint with tensors k and v (q too, if it has one) of [heads, tokens, head size]; without it: "
           "synthetic ones")
        .type("FILE")
        .reads();
    option(app, "--spec", options->specs, "Of K and V; may be given several times").type("SPEC").oneAtATime();
    const auto size = [&](const char* name, std::int64_t& into, const char* text, int most) {
        option(app, name, into, text).type("N").range(1, most).showDefault();
    };
    size("--heads", options->heads, "Heads of the synthetic cache", 1024);
    size("--tokens", options->tokens, "Its tokens", 65536);
    size("--dim", options->dim, "Its head size", 4096);
    options->outputs.declare(app, {"json", "csv", "html", "pdf", "md"});
    return [options] {
        std::string line = "quantscope-cli kvcache";
        if (!options->inputs.empty()) line += " --inputs " + options->inputs;
        for (const auto& spec : options->specs) line += " --spec " + spec;
        if (options->inputs.empty())
            line += fmt::format(" --heads {} --tokens {} --dim {}", options->heads, options->tokens, options->dim);
        options->commandLine = line;
        return runKvcache(*options);
    };
}

} // namespace qs::cli
