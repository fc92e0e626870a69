// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/declare.h"
#include "app/cli/interrupt.h"
#include "app/cli/lab.h"
#include "app/cli/selection.h"
#include "core/base/lists.h"
#include "core/base/text.h"
#include "core/value/product_lab.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <optional>

namespace qs::cli {
namespace {

/// Names of the operands on the command line: y:x is X of the forward product.
constexpr const char* kOperands[value::kLabOperands] = {"y:x", "y:w", "dx:g", "dx:w", "dw:x", "dw:g"};

struct ProductsOptions {
    std::string path, tensor, inputs, gradients;
    std::vector<std::string> presets, operands;
    std::int64_t rows = 256;
    OutputFiles outputs;
    std::string commandLine;
};
struct Case {
    std::string name;
    value::LabChoices choices;
};
struct ProductsRow {
    std::string name;
    value::LabRow row;
};

Result<std::vector<Case>> casesOf(const ProductsOptions& options) {
    std::vector<Case> cases;
    const auto presets = value::labPresets();
    for (const auto& wanted : options.presets) {
        const auto at = std::ranges::find_if(presets, [&](const auto& p) { return p.id == wanted; });
        if (at == presets.end())
            return fail(fmt::format("there is no preset '{}': use {}", escapeForPeople(wanted, 40),
                                    fmt::join(idsOf(presets), ", ")));
        cases.push_back({at->id, choicesOf(*at)});
    }
    if (cases.empty() && options.operands.empty())
        for (const auto& preset : presets) cases.push_back({preset.id, choicesOf(preset)});
    if (options.operands.empty()) return cases;
    if (cases.empty()) {
        cases.push_back({"own choice", {}});
        cases.back().choices.fill("keep");
    }
    for (const auto& text : options.operands) {
        const auto equals = text.find('=');
        const auto at = std::find(std::begin(kOperands), std::end(kOperands), text.substr(0, equals));
        if (equals == std::string::npos || at == std::end(kOperands))
            return fail(fmt::format("'{}' is no operand: use {} = a spec, keep or forward, for example y:x=int8",
                                    escapeForPeople(text, 60), fmt::join(kOperands, ", ")));
        const std::string choice = text.substr(equals + 1);
        if (choice != "keep" && choice != "forward")
            if (const auto spec = parseSpec(choice); !spec) return tl::unexpected(spec.error());
        for (auto& each : cases) each.choices[std::size_t(at - std::begin(kOperands))] = choice;
    }
    return cases;
}

Result<void> runProducts(const ProductsOptions& options) {
    const auto cases = casesOf(options);
    if (!cases) return tl::unexpected(cases.error());
    auto tensor = labTensor(options.path, options.tensor, true, [&](const TensorInfo& info) {
        const auto k = std::max<std::uint64_t>(1, std::uint64_t(info.lastAxis()));
        return value::labNeed(std::uint64_t(options.rows), info.elements / k, k);
    });
    if (!tensor) return tl::unexpected(tensor.error());
    if (auto fine = options.outputs.check(); !fine) return fine;
    const auto inputs = labInputs(options.inputs), gradients = labInputs(options.gradients);
    if (!inputs) return tl::unexpected(inputs.error());
    if (!gradients) return tl::unexpected(gradients.error());
    const auto& name = tensor->info->name;
    std::optional<EndsAtOnce> computing(std::in_place);
    auto x = value::inputsFor(inputs->get(), name, options.rows, tensor->values.shape[1]);
    if (!x) return tl::unexpected(x.error());
    auto g = value::gradientsFor(gradients->get(), name, x->shape[0], tensor->values.shape[0]);
    if (!g) return tl::unexpected(g.error());
    value::sameRows(*x, *g);
    value::LabPlan plan{std::move(*x), std::move(tensor->values), std::move(*g), {}};
    std::vector<ProductsRow> rows;
    bool measured = false;
    std::string specs;
    for (const auto& each : *cases) {
        plan.choices = each.choices;
        specs += fmt::format("{}{}: {}", specs.empty() ? "" : "; ", each.name, fmt::join(each.choices, ", "));
        auto some = value::runLab(plan, processJob());
        if (!some) return tl::unexpected(some.error());
        for (auto& row : *some) measured = measured || row.error, rows.push_back({each.name, std::move(row)});
    }
    computing.reset();
    Columns<ProductsRow> columns;
    columns.push_back({{"preset", "Preset", "", Show::Text, 0, Direction::None, "or own choice"},
                       [](const ProductsRow& row) { return Value(row.name); }});
    for (const auto& column : value::labColumns())
        columns.push_back({column, [value = column.value](const ProductsRow& row) { return value(row.row); }});
    LabReport report;
    report.title = "Products of a layer";
    report.subtitle = escapeForPeople(name);
    report.text =
        "Y = X W\xe1\xb5\x80, dX = G W, dW = G\xe1\xb5\x80 X with every operand under its own spec, against the same "
        "products in f32. Operands in the order Y: X, W; dX: G, W; dW: X, G.";
    report.specs = specs, report.commandLine = options.commandLine;
    report.paths = {options.path, options.inputs, options.gradients};
    const bool synthetic = !*inputs || !*gradients;
    report.seeds = synthetic ? "synthetic X 1, synthetic G 2" : "none: every step is deterministic";
    const std::string below = fmt::format(
        "\nX: {}, {} rows; G: {}\n", *inputs ? escapeForPeople((*inputs)->title(), 60) : "synthetic, seed 1",
        plan.x.shape[0], *gradients ? escapeForPeople((*gradients)->title(), 60) : "synthetic, seed 2");
    const auto table = makeTable({}, columns, rows);
    if (auto done = putLab(options.outputs, tensor->opened.get(), table,
                           {"preset", "formula", "lhs", "rhs", "lhs_nmse", "rhs_nmse", "nmse", "sqnr_db", "reason"},
                           std::move(report), below);
        !done)
        return done;
    if (!measured) return fail(rows.front().row.reason, options.path);
    return {};
}

} // namespace

Run declareProducts(CLI::App& app) {
    auto options = std::make_shared<ProductsOptions>();
    addPath(app, options->path);
    addLabTensor(app, options->tensor);
    std::string ids;
    for (const auto& preset : value::labPresets()) ids += (ids.empty() ? "" : " ") + std::string(preset.id);
    option(app, "--preset", options->presets, "What the six operands are: " + ids + "; without it: all of them")
        .type("ID")
        .oneAtATime();
    option(app, "--operand", options->operands,
           "A spec, keep (f32) or forward for one of y:x y:w dx:g dx:w dw:x dw:g; may be given several times")
        .type("WHICH=SPEC")
        .oneAtATime();
    option(app, "--inputs", options->inputs, "Activations X: .npy, or a checkpoint with a tensor of fitting columns")
        .type("FILE")
        .reads();
    option(app, "--gradients", options->gradients, "Gradients G of the output, the same way").type("FILE").reads();
    option(app, "--rows", options->rows, "Rows of X and G, at most").type("M").range(1, 1 << 20).showDefault();
    options->outputs.declare(app, {"json", "csv", "html", "pdf", "md"});
    return [options] {
        std::string line = "quantscope-cli products " + options->path + " --tensor " + options->tensor;
        for (const auto& preset : options->presets) line += " --preset " + preset;
        for (const auto& operand : options->operands) line += " --operand " + operand;
        if (!options->inputs.empty()) line += " --inputs " + options->inputs;
        if (!options->gradients.empty()) line += " --gradients " + options->gradients;
        options->commandLine = line + fmt::format(" --rows {}", options->rows);
        return runProducts(*options);
    };
}

} // namespace qs::cli
