// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/serving_options.h"

#include "app/cli/selection.h"
#include "core/base/lists.h"
#include "core/bench/backend/source_named.h"
#include "core/bench/run/bench_row.h"

#include <fmt/format.h>

namespace qs::cli {

void ServingOptions::declare(CLI::App& app) {
    option(app, "--backend", backend,
           "Evaluate every spec and recipe once more as a backend would serve it: its layers\nmultiply there, "
           "with the backend's activations. `backends` lists them")
        .type("ID");
    option(app, "--plugin", plugin, "A backend library of your own, or a PJRT plugin for pjrt to run on")
        .role(OptionRole::Program)
        .type("SO")
        .reads();
    option(
        app, "--variant", variant,
        "The variant of the backend, as `bench` prints it (default: the first that computes\nthe format's own values)")
        .type("ID");
    option(app, "--act", act,
           "Activations on the backend: f32, bf16, or quantized per row in the run: int8,\nfp8_e4m3 (default: f32, or "
           "what the variant has)")
        .type("TYPE")
        .oneOf(idsOf(benchActs()));
}

Result<void> ServingOptions::check() const {
    if (given() || (variant.empty() && act.empty())) return {};
    return fail("--variant and --act are of a backend: name it with --backend.");
}

Result<std::shared_ptr<eval::LinearServer>> ServingOptions::open(const Job& job) const {
    const std::vector<std::string> plugins = plugin.empty() ? std::vector<std::string>() : std::vector{plugin};
    if (auto fine = pluginsExist(plugins); !fine) return tl::unexpected(fine.error());
    auto source = sourceNamed(backend, backendSources(plugins), job);
    if (!source) return tl::unexpected(source.error());
    serve::ServingChoice choice;
    choice.source = std::move(*source), choice.variant = variant, choice.act = act;
    return serve::openServer(choice, job);
}

std::string ServingOptions::commandLine() const {
    std::string line;
    for (const auto& [name, value] :
         {std::pair("--backend", &backend), {"--plugin", &plugin}, {"--variant", &variant}, {"--act", &act}})
        if (!value->empty()) line += fmt::format(" {} {}", name, shellWord(*value));
    return line;
}

} // namespace qs::cli
