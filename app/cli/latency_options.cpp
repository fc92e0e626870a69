// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/latency_options.h"

#include "app/cli/selection.h"
#include "core/bench/backend/source_named.h"
#include "core/bench/report/compare.h"

#include <algorithm>
#include <fmt/format.h>

namespace qs::cli {

void LatencyOptions::declare(CLI::App& app) {
    option(app, "--latency", latency,
           "Times of this model's products: the result of `bench --model PATH --json FILE`.\nA budget of time needs it")
        .type("FILE")
        .reads();
    option(app, "--backend", backend, "Whose times count (default: the only one of --latency, or --target)").type("ID");
    option(app, "--rows", rows, "M of the times, tokens in one pass (default: the least that was measured)")
        .type("M")
        .check([](const std::string& text) {
            return text.empty() || text.find_first_not_of("0123456789") != std::string::npos || text == "0"
                       ? "it must be a whole number above 0"
                       : std::string();
        });
    option(app, "--target", target,
           "A backend: specs that its kernels do not take at a tensor's shape are no choice\nfor that tensor. It is "
           "asked, "
           "nothing is run")
        .type("ID");
    option(app, "--plugin", plugin, "A backend library of your own, or a PJRT plugin, for --target")
        .type("SO")
        .reads()
        .role(OptionRole::Program);
}

Result<void> LatencyOptions::readTimes(plan::OptionRequest& request, bool needsTimes) {
    if (latency.empty()) {
        if (needsTimes)
            return fail(fmt::format(
                "A budget of time needs measured times: give the result of `{}` with --latency F.",
                plan::benchCommand(*request.model, backend, std::max<std::int64_t>(1, rows), request.specs)));
        return backend.empty() ? Result<void>() : fail("--backend says whose times of --latency count: give that too.");
    }
    auto read = readBenchBaseline(latency);
    if (!read) return tl::unexpected(read.error());
    measured_ = std::move(read->asRows);
    const auto has = [&](const std::string& id) {
        return std::ranges::any_of(measured_, [&](const BenchmarkRow& row) { return row.question.backend == id; });
    };
    auto times = plan::latenciesOf(*request.model, measured_, backend.empty() && has(target) ? target : backend, rows);
    if (!times) return tl::unexpected(times.error());
    request.latencies = std::make_shared<const plan::Latencies>(std::move(*times));
    request.needsTimes = needsTimes;
    return {};
}

Result<void> LatencyOptions::ask(plan::OptionRequest& request, const Job& job) const {
    if (target.empty()) return plugin.empty() ? Result<void>() : fail("--plugin is for --target: give that too.");
    const std::vector<std::string> plugins = plugin.empty() ? std::vector<std::string>() : std::vector{plugin};
    if (auto fine = pluginsExist(plugins); !fine) return fine;
    auto source = sourceNamed(target, backendSources(plugins), job);
    if (!source) return tl::unexpected(source.error());
    auto answers = plan::askTarget({std::move(*source),
                                    request.model,
                                    request.allSpecs(),
                                    request.latencies ? request.latencies->m : std::max<std::int64_t>(1, rows),
                                    {}},
                                   job);
    if (!answers) return tl::unexpected(answers.error());
    request.target = std::make_shared<const plan::Target>(std::move(*answers));
    return {};
}

Result<void> LatencyOptions::fill(plan::OptionRequest& request, bool needsTimes, const Job& job) {
    if (auto fine = readTimes(request, needsTimes); !fine) return fine;
    return ask(request, job);
}

std::string LatencyOptions::commandLine() const {
    std::string line;
    for (const auto& [name, value] :
         {std::pair("--latency", &latency), {"--backend", &backend}, {"--target", &target}, {"--plugin", &plugin}})
        if (!value->empty()) line += fmt::format(" {} {}", name, shellWord(*value));
    if (rows > 0) line += fmt::format(" --rows {}", rows);
    return line;
}

} // namespace qs::cli
