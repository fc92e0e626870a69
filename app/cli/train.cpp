// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/declare.h"
#include "app/cli/interrupt.h"
#include "app/cli/lab.h"
#include "app/cli/selection.h"
#include "core/base/cell.h"
#include "core/base/text.h"
#include "core/value/qat.h"
#include "core/value/trained.h"

#include <cmath>
#include <fmt/format.h>
#include <optional>

namespace qs::cli {
namespace {

struct TrainOptions {
    std::string path, tensor, spec, inputs, name;
    int steps = 200;
    std::int64_t rows = 512;
    double rate = 0.005;
    OutputFiles outputs;
    std::string commandLine;
};
struct TrainRow {
    std::string tensor, spec, inputs, trainedSpec;
    int steps = 0;
    const value::QatResult* result = nullptr;
};

const Columns<TrainRow>& columnsOfTrain() {
    constexpr auto none = Direction::None, lower = Direction::LowerIsBetter;
    static const Columns<TrainRow> list = {
        columnOf<TrainRow>({"tensor", "Tensor", "", Show::Name, 0, none, ""}, &TrainRow::tensor),
        columnOf<TrainRow>({"spec", "Spec", "", Show::Text, 0, none, ""}, &TrainRow::spec),
        columnOf<TrainRow>(
            {"nearest_nmse", "Nearest", "", Show::Scientific, 4, lower, "output NMSE of rounding to nearest"},
            [](const TrainRow& r) { return r.result->startLoss; }),
        columnOf<TrainRow>({"trained_nmse", "Trained", "", Show::Scientific, 4, lower, "output NMSE of the best step"},
                           [](const TrainRow& r) { return r.result->bestLoss; }),
        columnOf<TrainRow>({"gain_db", "Gain", "dB", Show::Fixed, 2, Direction::HigherIsBetter, "of the output's SQNR"},
                           [](const TrainRow& r) {
                               const auto &s = r.result->startLoss, &b = r.result->bestLoss;
                               return s > 0 && b > 0 ? finiteCellOf(10 * std::log10(s / b)) : Value();
                           }),
        columnOf<TrainRow>({"best_step", "Best step", "", Show::Integer, 0, none, ""},
                           [](const TrainRow& r) { return r.result->bestStep; }),
        columnOf<TrainRow>({"steps", "Steps", "", Show::Integer, 0, none, ""}, &TrainRow::steps),
        columnOf<TrainRow>(
            {"weight_nmse", "Weight NMSE", "", Show::Scientific, 4, lower, "of the trained weights against W"},
            [](const TrainRow& r) { return r.result->weightNmse; }),
        columnOf<TrainRow>({"inputs", "Inputs", "", Show::Text, 0, none, ""}, &TrainRow::inputs),
        columnOf<TrainRow>({"trained_spec", "Kept as", "", Show::Text, 0, none, "the result as a spec of its own"},
                           [](const TrainRow& r) { return r.trainedSpec.empty() ? Value() : Value(r.trainedSpec); }),
        columnOf<TrainRow>(
            {"reason", "Reason", "", Show::Text, 0, none, "why a figure is missing"},
            [](const TrainRow& r) { return r.trainedSpec.empty() ? "not kept: name it with --keep" : ""; }),
    };
    return list;
}

Result<void> runTrain(const TrainOptions& options) {
    const auto spec = parseSpec(options.spec);
    if (!spec) return tl::unexpected(spec.error());
    if (!options.name.empty())
        if (auto fine = checkTrainedId(options.name, *spec); !fine) return fine;
    auto tensor = labTensor(options.path, options.tensor, false, [&](const TensorInfo& info) {
        return value::qatNeed(info.elements, std::uint64_t(info.lastAxis()), std::uint64_t(options.rows));
    });
    if (!tensor) return tl::unexpected(tensor.error());
    if (auto fine = options.outputs.check(); !fine) return fine;
    const auto inputs = labInputs(options.inputs);
    if (!inputs) return tl::unexpected(inputs.error());
    std::optional<EndsAtOnce> computing(std::in_place);
    auto x = value::inputsFor(inputs->get(), tensor->info->name, options.rows, tensor->info->lastAxis());
    if (!x) return tl::unexpected(x.error());
    tensor->values.dtype = DType::F32;
    const auto result = value::trainQat(
        {std::move(tensor->values), std::move(*x), forTensor(*spec, *tensor->info), options.steps, options.rate},
        processJob());
    if (!result) return tl::unexpected(result.error());
    computing.reset();
    TrainRow row{
        tensor->info->name, options.spec, *inputs ? escapeForPeople((*inputs)->title(), 60) : "synthetic, seed 1", {},
        options.steps,      &*result};
    if (!options.name.empty()) {
        auto kept = value::keepTrained(options.name, *tensor->model, *tensor->info, *result, processJob());
        if (!kept) return tl::unexpected(kept.error());
        row.trainedSpec = specText(*kept);
    }
    LabReport report;
    report.title = "Training through the rounding";
    report.subtitle = escapeForPeople(row.tensor) + " under " + options.spec;
    report.text =
        "Gradient steps on latent weights V through the straight-through estimator minimise the layer's output "
        "error: NMSE = ||X (Q(V) - W)\xe1\xb5\x80||\xc2\xb2 / ||X W\xe1\xb5\x80||\xc2\xb2.";
    report.specs = options.spec + " = " + canonicalText(*spec);
    report.seeds = *inputs ? "none: every step is deterministic" : "synthetic X 1";
    report.commandLine = options.commandLine, report.paths = {options.path, options.inputs};
    Plot plot;
    plot.kind = Plot::Kind::Lines, plot.title = "Output error while training";
    plot.xTitle = "step", plot.yTitle = "output NMSE";
    plot.series = {{"this step", {}, {}, {}}, {"best so far", {}, {}, {}}};
    using Step = value::QatStep;
    const Columns<Step> curve = {
        columnOf<Step>({"step", "Step", "", Show::Integer, 0, Direction::None, ""}, &Step::step),
        columnOf<Step>({"nmse", "NMSE", "", Show::Scientific, 4, Direction::LowerIsBetter, ""}, &Step::loss),
        columnOf<Step>({"best", "Best", "", Show::Significant, 4, Direction::LowerIsBetter, ""}, &Step::best)};
    const std::size_t stride = result->curve.size() / 1000 + 1;
    for (std::size_t i = 0; i < result->curve.size(); i += stride) {
        for (auto& series : plot.series) series.x.push_back(result->curve[i].step);
        plot.series[0].y.push_back(result->curve[i].loss), plot.series[1].y.push_back(result->curve[i].best);
    }
    report.plots.push_back(std::move(plot));
    report.more.emplace_back("curve", makeTable({}, curve, result->curve));
    return putLab(
        options.outputs, tensor->opened.get(), makeTable({}, columnsOfTrain(), std::vector{row}),
        {"tensor", "spec", "nearest_nmse", "trained_nmse", "gain_db", "best_step", "weight_nmse", "trained_spec"},
        std::move(report),
        row.trainedSpec.empty()
            ? "\n--keep NAME makes the result a spec of its own.\n"
            : fmt::format("\nThe result is the spec {}: analyze, quantize and the window take it.\n", row.trainedSpec));
}

} // namespace

Run declareTrain(CLI::App& app) {
    auto options = std::make_shared<TrainOptions>();
    addPath(app, options->path);
    addLabTensor(app, options->tensor);
    option(app, "--spec", options->spec, "The spec to train under").required().type("SPEC");
    option(app, "--inputs", options->inputs, "Activations X: .npy, or a checkpoint with a tensor of fitting columns")
        .type("FILE")
        .reads();
    option(app, "--rows", options->rows, "Rows of X, at most").type("M").range(1, 1 << 20).showDefault();
    option(app, "--steps", options->steps, "Gradient steps").type("N").range(1, 1'000'000).showDefault();
    option(app, "--rate", options->rate, "Of the first step, in units of the weights' root mean square")
        .type("R")
        .range(1e-9, 1.0)
        .showDefault();
    option(app, "--keep", options->name, "Keep the result as a spec of its own: SPEC:dialect=NAME").type("NAME");
    options->outputs.declare(app, {"json", "csv", "html", "pdf", "md"});
    return [options] {
        std::string line =
            "quantscope-cli train " + options->path + " --tensor " + options->tensor + " --spec " + options->spec;
        if (!options->inputs.empty()) line += " --inputs " + options->inputs;
        line += fmt::format(" --rows {} --steps {} --rate {}", options->rows, options->steps, options->rate);
        if (!options->name.empty()) line += " --keep " + options->name;
        options->commandLine = line;
        return runTrain(*options);
    };
}

} // namespace qs::cli
