// SPDX-License-Identifier: GPL-3.0-or-later
// Solvers and errors on inputs over what was captured, and matrices whose first axis is that of the inputs.
#include "core/analysis/input_errors.h"
#include "core/quant/encode/quantizer.h"
#include "core/solve/inputs.h"
#include "core/solve/solver.h"
#include "tests/core/eval/captures.h"
#include "tests/support/test_program.h"

#include <QtTest>

#include <cmath>

using namespace qs;
using namespace qs::eval;
using namespace qs::eval::test;

class CaptureSolversTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void solversTakeWhatIsCaptured();
    void matricesWithInputsFirstAreWeighedByInputs();
    void solversKeepTheOutputOfMatricesWithInputsFirst();
};

void CaptureSolversTest::solversTakeWhatIsCaptured() {
    CapturePlan plan = planOf(QStringLiteral("llama"));
    plan.rows = 0;
    const Capture rows(QStringLiteral("llama"), "x.safetensors", "rows", plan);
    const Capture gram(QStringLiteral("llama"), "g.safetensors", "gram");
    const auto model = opened(folderOf(QStringLiteral("llama")));
    const TensorInfo& layer = *model->find("model.layers.0.mlp.gate_proj.weight");
    const QuantSpec spec = *parseSpec("int4:block=16");
    for (const solve::Solver& solver : solve::solvers()) {
        const auto settings = solve::parseSettings(solver.id);
        QVERIFY(settings);
        std::vector<double> output;
        for (const Capture* from : {&rows, &gram}) {
            const auto file = from->model();
            const auto inputs = solve::inputsOf(file.get(), layer, solver.needsRows);
            if (from == &gram && solver.needsRows) {
                QVERIFY(!inputs &&
                        QString::fromStdString(inputs.error().message).contains(QLatin1String("--what rows")));
                continue;
            }
            QVERIFY2(inputs, inputs ? "" : inputs.error().message.c_str());
            const auto solution = solve::solve({*model->view(layer), spec, *settings, *inputs}, Job());
            QVERIFY2(solution, solution ? "" : solution.error().message.c_str());
            QVERIFY(*solution->output <= *solution->nearestOutput);
            output.push_back(*solution->output);
        }
        if (output.size() == 2) QVERIFY(std::fabs(output[1] / output[0] - 1) < 0.2);
    }
}

namespace {

/// ||X E||^2 and ||X W||^2 of a matrix [inputs, outputs], and the same weighted by the mean squares of inputs.
struct Powers {
    double error = 0, output = 0, weightedError = 0, weighted = 0;
};
Powers powersOf(const std::vector<float>& x, const std::vector<float>& w, const std::vector<float>& v,
                std::size_t inputs) {
    Powers out;
    const std::size_t outputs = w.size() / inputs, rows = x.size() / inputs;
    for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t o = 0; o < outputs; ++o) {
            double error = 0, y = 0;
            for (std::size_t i = 0; i < inputs; ++i) {
                const double a = double(x[r * inputs + i]), e = double(v[i * outputs + o]) - double(w[i * outputs + o]);
                error += a * e, y += a * double(w[i * outputs + o]);
                out.weightedError += a * a * e * e;
                out.weighted += a * a * double(w[i * outputs + o]) * double(w[i * outputs + o]);
            }
            out.error += error * error, out.output += y * y;
        }
    return out;
}
bool isNear(const std::optional<double>& a, double b) { return a && std::fabs(*a / b - 1) < 1e-4; }

} // namespace

// GPT-2: the axis of the inputs is the first. One of its matrices is square, so that the wrong axis would fit too.
void CaptureSolversTest::matricesWithInputsFirstAreWeighedByInputs() {
    CapturePlan plan = planOf(QStringLiteral("gpt2"));
    plan.rows = 0;
    const Capture rows(QStringLiteral("gpt2"), "x.safetensors", "rows", plan), sums(QStringLiteral("gpt2"), "i.gguf");
    const auto model = opened(folderOf(QStringLiteral("gpt2"))), file = rows.model();
    const QuantSpec spec = *parseSpec("int4:block=16");
    for (const char* part : {"attn.c_attn", "attn.c_proj", "mlp.c_fc", "mlp.c_proj"}) {
        const std::string name = std::string("transformer.h.1.") + part + ".weight";
        const TensorInfo* layer = model->find(name);
        QVERIFY2(layer && layer->outputLast, part);
        const auto inputs = std::size_t(layer->shape.front());
        const auto w = valuesOf(*model, name), v = materialize(*quantizeTensor(*model->view(*layer), spec, Job()));
        const Powers expected = powersOf(valuesOf(*file, name), w, v, inputs);
        const auto given = layerInputs(file.get(), *layer), importance = layerInputs(sums.model().get(), *layer);
        QVERIFY2(given && *given && importance && *importance, part);
        const auto figures = errorsOnInputs(*model->view(*layer), composedPlan(spec), {}, **given, {}, Job()),
                   weighted = errorsOnInputs(*model->view(*layer), composedPlan(spec), {}, **importance, {}, Job());
        QVERIFY(figures && weighted);
        QVERIFY2(isNear(figures->outputNmse, expected.error / expected.output), part);
        QVERIFY2(isNear(figures->weightedNmse, expected.weightedError / expected.weighted), part);
        QVERIFY2(isNear(weighted->weightedNmse, expected.weightedError / expected.weighted), part);
    }
}

void CaptureSolversTest::solversKeepTheOutputOfMatricesWithInputsFirst() {
    CapturePlan plan = planOf(QStringLiteral("gpt2"));
    plan.rows = 0;
    const Capture rows(QStringLiteral("gpt2"), "x.safetensors", "rows", plan);
    const auto model = opened(folderOf(QStringLiteral("gpt2"))), file = rows.model();
    for (const char* text : {"int4:block=16", "int4", "int4:axis=out", "int4:scale=tensor", "nf4:block=16"})
        for (const char* part : {"attn.c_proj", "mlp.c_fc", "mlp.c_proj"}) {
            const std::string name = std::string("transformer.h.1.") + part + ".weight";
            const TensorInfo& layer = *model->find(name);
            const QuantSpec spec = *parseSpec(text);
            const auto inputs = solve::inputsOf(file.get(), layer);
            QVERIFY2(inputs && inputs->shape[1] == layer.shape.front(), part);
            const auto settings = solve::parseSettings("gptq");
            const auto solution = solve::solve({*model->view(layer), spec, *settings, *inputs}, Job());
            QVERIFY2(solution, solution ? "" : solution.error().message.c_str());
            // Both figures are those of the stored matrices, and the solution is better by far.
            const auto w = valuesOf(*model, name), x = valuesOf(*file, name),
                       nearest = materialize(*quantizeTensor(*model->view(layer), spec, Job()));
            const auto width = std::size_t(layer.shape.front());
            const Powers before = powersOf(x, w, nearest, width), after = powersOf(x, w, solution->weight, width);
            QVERIFY2(isNear(solution->nearestOutput, before.error / before.output), text);
            QVERIFY2(isNear(solution->output, after.error / after.output), text);
            QVERIFY2(*solution->output < 0.8 * *solution->nearestOutput,
                     qPrintable(QStringLiteral("%1 %2: %3 %4")
                                    .arg(QLatin1String(text), QLatin1String(part))
                                    .arg(*solution->output)
                                    .arg(*solution->nearestOutput)));
            const auto awq = solve::solve({*model->view(layer), spec, *solve::parseSettings("awq"), *inputs}, Job());
            QVERIFY(!awq && QString::fromStdString(awq.error().message).contains(QLatin1String("use gptq")));
        }
}

QS_TEST(CaptureSolversTest)
#include "capture_solvers_test.moc"
