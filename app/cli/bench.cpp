// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/declare.h"
#include "app/cli/interrupt.h"
#include "app/cli/output_files.h"
#include "app/cli/selection.h"
#include "app/cli/terminal.h"
#include "core/base/byte_count.h"
#include "core/base/lists.h"
#include "core/base/text.h"
#include "core/bench/backend/source_named.h"
#include "core/bench/report/bench_report.h"
#include "core/bench/report/bench_table.h"
#include "core/bench/run/machine_load.h"
#include "core/layouts/serve.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <optional>
#include <set>

namespace qs::cli {
namespace {

struct BenchOptions {
    std::vector<std::string> backends, plugins, specs, shapes, ops, acts;
    std::string model, cache = "cold", memory, compare, commandLine;
    bool bias = false;
    double seconds = 2;
    unsigned threads = 0;
    std::uint64_t seed = 1;
    OutputFiles outputs;
};

/// A single whole number is M; N and K then come from the shapes of the model.
std::optional<std::int64_t> rowsOnly(const std::string& text) {
    std::int64_t m = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), m);
    return error == std::errc{} && end == text.data() + text.size() && m >= 1 && m <= 0x7fffffff ? std::optional(m)
                                                                                                 : std::nullopt;
}

Result<void> addShapes(BenchmarkPlan& plan, const BenchOptions& options) {
    std::vector<std::int64_t> ms;
    const auto shapes = plan.model ? modelShapes(*plan.model) : std::vector<ModelShape>{};
    for (const auto& text : options.shapes) {
        if (const auto m = rowsOnly(text); m && plan.model) {
            ms.push_back(*m);
            continue;
        }
        auto shape = parseShape(text);
        if (!shape) return tl::unexpected(shape.error());
        const auto own =
            std::ranges::find_if(shapes, [&](const auto& one) { return one.n == shape->n && one.k == shape->k; });
        if (own != shapes.end()) shape->tensor = own->tensors.front();
        plan.shapes.push_back(*shape);
    }
    if (plan.model && (!ms.empty() || plan.shapes.empty())) {
        if (shapes.empty()) return fail("The model has no float matrix to take shapes from.", plan.model->path);
        if (ms.empty()) ms = {1};
        for (auto& shape : benchShapes(shapes, ms)) plan.shapes.push_back(std::move(shape));
    }
    if (plan.shapes.empty()) plan.shapes.push_back({});
    return {};
}

Result<void> addSpecs(BenchmarkPlan& plan, const BenchOptions& options) {
    for (const auto& text : options.specs) {
        auto spec = parseSpec(text);
        if (!spec) return tl::unexpected(spec.error());
        const bool twice = std::ranges::any_of(plan.specs, [&](const auto& known) { return known.first == text; });
        if (!twice) plan.specs.emplace_back(text, *spec);
    }
    return {};
}

Result<void> addBackends(BenchmarkPlan& plan, const BenchOptions& options) {
    auto sources = backendSources(options.plugins);
    const auto silent = askNames(sources, processJob());
    std::set<std::string> asked;
    for (const auto& id : options.backends) {
        const bool exists = std::ranges::any_of(sources, [&](const auto& s) { return s.id == id; });
        if (auto own = exists ? std::nullopt : sourceWithOptions(id, sources)) {
            for (auto& source : sources) // the user wants this backend with options only, so the plain one is removed
                if (source.id == own->base && source.shipped) source.named = false;
            sources.push_back(std::move(*own));
        } else if (!exists) {
            return noSuchBackend(id, sources, silent);
        }
        asked.insert(id);
    }
    for (const auto& source : sources) {
        // A plugin given by the user always runs. A shipped backend runs if asked for, or by default if it was built.
        const bool taken =
            source.named || (asked.empty() ? source.built && options.plugins.empty() : asked.count(source.id) > 0);
        if (taken) plan.backends.push_back(source);
    }
    return {};
}

Result<BenchmarkPlan> planOf(const BenchOptions& options) {
    BenchmarkPlan plan;
    plan.ops = options.ops;
    plan.acts = options.acts;
    plan.bias = options.bias;
    plan.secondsPerRow = options.seconds;
    plan.threads = options.threads;
    plan.seed = options.seed;
    plan.commandLine = options.commandLine;
    if (!options.memory.empty()) {
        const auto bytes = parseByteCount(options.memory);
        if (!bytes) return tl::unexpected(bytes.error());
        if (*bytes == 0) return fail("--memory must be above 0.");
        plan.memoryBytes = *bytes;
    }
    plan.caches.clear();
    if (auto fine = pluginsExist(options.plugins); !fine) return tl::unexpected(fine.error());
    if (options.cache != "warm") plan.caches.push_back(CacheState::Cold);
    if (options.cache != "cold") plan.caches.push_back(CacheState::Warm);
    if (auto done = addSpecs(plan, options); !done) return tl::unexpected(done.error());
    if (auto done = addBackends(plan, options); !done) return tl::unexpected(done.error());
    if (!options.model.empty()) {
        auto model = open(options.model);
        if (!model) return tl::unexpected(model.error());
        auto served = servedModel(*model, Job{});
        if (!served) return tl::unexpected(served.error());
        plan.model = std::move(*served);
    }
    if (auto done = addShapes(plan, options); !done) return tl::unexpected(done.error());
    if (auto fine = checkPlan(plan); !fine) return tl::unexpected(fine.error());
    return plan;
}

Result<void> printRun(const BenchmarkPlan& plan, const BenchmarkRun& run, const std::vector<ComparedRow>& compared) {
    std::string text = tableText(benchTable(plan, run.rows, narrowTerminal())) + benchRemarks(run.rows);
    // A pass needs all shapes of the model; a run over some shapes has none.
    if (std::ranges::any_of(run.passes, [](const auto& pass) { return pass.missing == 0; })) {
        std::vector<std::string_view> ids = {"backend",           "spec",           "m",      "cache", "pass_ns",
                                             "tokens_per_second", "speedup_vs_f32", "missing"};
        if (std::ranges::any_of(run.passes, [](const auto& pass) { return !pass.reason.empty(); }))
            ids.push_back("reason");
        text += "\nOne pass over the model, matrix products alone:\n" +
                tableText(withColumns(makeTable({}, modelPassColumns(), run.passes), ids));
    }
    if (!run.roofs.empty())
        text += "\nMeasured roofs:\n" + tableText(withColumns(makeTable({}, roofColumns(), run.roofs),
                                                              {"backend", "device", "kind", "per_second"}));
    if (!compared.empty())
        text += "\nAgainst the earlier run:\n" +
                tableText(withColumns(makeTable({}, comparedColumns(), compared),
                                      {"row", "old_ns", "median_ns", "ratio", "ratio_low", "ratio_high", "verdict",
                                       "drift_low", "drift_high"}));
    return print(text);
}

BenchmarkRun incompleteRun(const BenchmarkPlan& plan, std::vector<BenchmarkRow> rows) {
    BenchmarkRun run;
    run.rows = std::move(rows);
    run.provenance = incompleteProvenance();
    run.provenance.emplace_back("command_line", plan.commandLine);
    return run;
}

/// Warns before runs of over a minute when other programs use the machine: such timings are not usable.
void warnOfLoad(const BenchmarkPlan& plan) {
    const auto rows = plan.ops.size() * plan.specs.size() * plan.shapes.size() * plan.acts.size() * plan.caches.size() *
                      plan.backends.size();
    if (double(rows) * plan.secondsPerRow < 60) return;
    if (const auto load = machineLoad(0.3, processJob()); load && load->busy())
        warn(busyText(*load) + ": rows that are timed now will be marked busy");
}

Result<void> runBench(const BenchOptions& options) {
    auto plan = planOf(options);
    if (!plan) return tl::unexpected(plan.error());
    if (auto fine = options.outputs.check(); !fine) return fine;
    BenchBaseline before;
    if (!options.compare.empty()) {
        auto read = readBenchBaseline(options.compare);
        if (!read) return tl::unexpected(read.error());
        before = std::move(*read);
    }
    warnOfLoad(*plan);
    std::vector<BenchmarkRow> rows; // rows measured so far, kept if the run is stopped
    auto result = runBenchmark(*plan, processJob(), [&](const BenchmarkRow& row) { rows.push_back(row); });
    clearProgress();
    std::optional<Error> stopped;
    if (!result) {
        if (!result.error().cancelled || rows.empty()) return tl::unexpected(result.error());
        stopped = result.error();
        result = incompleteRun(*plan, std::move(rows));
    }
    std::vector<ComparedRow> compared;
    if (!options.compare.empty()) compared = compareRuns(before, result->rows, result->roofs);
    if (!options.outputs.standardOutput())
        if (auto done = printRun(*plan, *result, compared); !done) return done;
    if (options.outputs.any()) {
        auto paths = benchPaths(*plan);
        paths.insert(paths.end(), options.plugins.begin(), options.plugins.end());
        paths.insert(paths.end(), {options.model, options.compare});
        if (auto done = options.outputs.write(benchmarkReport(*plan, *result, compared), paths); !done) return done;
    }
    if (stopped) {
        stoppedWith(fmt::format("stopped; {} rows that were done are {}.", result->rows.size(),
                                options.outputs.any() ? "written" : "printed"));
        return tl::unexpected(*stopped);
    }

    // Without a device only compilation was requested; then CompileOnly counts as success.
    const auto ok = [](const BenchmarkRow& row) {
        return row.verdict.status == RowState::Ok || row.verdict.status == RowState::CompileOnly;
    };
    if (std::ranges::none_of(result->rows, ok)) {
        if (result->rows.empty()) return fail("Nothing was measured.");
        const auto& first = result->rows.front();
        const std::string why = fmt::format("{} on {}, is {}: {}", escapeForPeople(first.question.spec),
                                            escapeForPeople(first.question.backend), rowStateText(first.verdict.status),
                                            first.verdict.reason) +
                                (first.verdict.hint.empty() ? "" : "; " + first.verdict.hint);
        return fail(result->rows.size() == 1 ? "Nothing was measured; the only row, " + why
                                             : fmt::format("None of the {} rows could be measured; the first, {}",
                                                           result->rows.size(), why));
    }
    return {};
}

std::string commandLineOf(const BenchOptions& options) {
    std::string line = "quantscope-cli bench";
    const auto all = [&](const char* name, const std::vector<std::string>& values) {
        for (const auto& value : values) line += fmt::format(" {} {}", name, shellWord(value));
    };
    all("--backend", options.backends);
    all("--plugin", options.plugins);
    all("--spec", options.specs);
    all("--shape", options.shapes);
    if (!options.model.empty()) line += " --model " + shellWord(options.model);
    all("--op", options.ops);
    all("--act", options.acts);
    if (options.bias) line += " --bias";
    line += fmt::format(" --cache {} --seconds {}", options.cache, options.seconds);
    if (options.threads) line += fmt::format(" --threads {}", options.threads);
    if (!options.memory.empty()) line += " --memory " + shellWord(options.memory);
    if (options.seed != 1) line += fmt::format(" --seed {}", options.seed);
    if (!options.compare.empty()) line += " --compare " + shellWord(options.compare);
    return line;
}

Option addList(CLI::App& app, const char* name, std::vector<std::string>& values, const char* type,
               const std::string& text) {
    return option(app, name, values, text).type(type).list();
}

} // namespace

Run declareBench(CLI::App& app) {
    auto options = std::make_shared<BenchOptions>();
    addList(app, "--backend", options->backends, "ID",
            "A backend to run, with options of its own if you like, as in\n"
            "openblas:coretype=default or pjrt:topology=v5e:2x2; may be given several times\n"
            "(default: all that are built)");
    addList(app, "--plugin", options->plugins, "SO",
            "A backend library of your own, or a PJRT plugin for pjrt to run on; may be\ngiven several times")
        .reads();
    addList(app, "--spec", options->specs, "SPEC",
            "Format of the weights; may be given several times\n(default: nf4:block=64, int8 and f32)");
    addList(app, "--shape", options->shapes, "MxNxK",
            "Rows of x, columns of y, length of the sums (default: 1x4096x4096);\n"
            "with --model a number alone is an M of all its shapes, and one of them takes\n"
            "its values");
    addAs(app);
    option(app, "--model", options->model, "Take shapes and values from a checkpoint, and add up one pass over it")
        .type("PATH")
        .reads();
    addList(app, "--op", options->ops, "OP",
            "matmul_t: y = x W^T; matmul: y = x W; dequantize; quantize; quantize_stats:\nwith its error (default: "
            "matmul_t)")
        .oneOf(idsOf(benchOps()));
    addList(app, "--act", options->acts, "TYPE",
            "Activations: f32, bf16, or quantized per row in the run: int8, fp8_e4m3\n(default: f32)")
        .oneOf(idsOf(benchActs()));
    flag(app, "--bias", options->bias, "Add a bias to every row of y");
    option(app, "--cache", options->cache, "cold: weights from memory; warm: one copy; both (default: cold)")
        .type("STATE")
        .oneOf({"cold", "warm", "both"});
    option(app, "--seconds", options->seconds, "Time for a row (default: 2)").type("S");
    option(app, "--threads", options->threads, "Threads of the backends (default: all cores)")
        .type("N")
        .range(1u, 4096u);
    option(app, "--memory", options->memory,
           "Memory for copies of the weights and for roofs, such as 512MiB (default: half of\n"
           "what is free); with little of it a row says that it is not cold")
        .type("SIZE");
    option(app, "--seed", options->seed, "Seed of weights and activations (default: 1)")
        .type("N")
        .check([](const std::string& text) { return text.starts_with('-') ? "a seed is 0 or more" : std::string(); });
    option(app, "--compare", options->compare, "Compare with an earlier result of --json").type("FILE").reads();
    options->outputs.declare(app, {"json", "csv", "html", "pdf", "md"});
    return [options] {
        if (options->specs.empty()) options->specs = {"nf4:block=64", "int8", "f32"};
        if (options->ops.empty()) options->ops = {"matmul_t"};
        if (options->acts.empty()) options->acts = {"f32"};
        options->commandLine = commandLineOf(*options);
        return runBench(*options);
    };
}

} // namespace qs::cli
