// SPDX-License-Identifier: GPL-3.0-or-later
// Errors of the output of layers, against products in f64.
#include "core/eval/capture/capture.h"
#include "core/eval/forward/hidden_states.h"
#include "core/eval/tokenizer/token_file.h"
#include "core/quant/encode/quantizer.h"
#include "tests/core/eval/sensitivity_plans.h"
#include "tests/support/test_program.h"

#include <QTemporaryDir>
#include <QtTest>

#include <cmath>

using namespace qs;
using namespace qs::eval;
using namespace qs::eval::test;

class SensitivityOutputTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void outputErrorsAreThoseOfTheProducts();
    void outputErrorsOfExpertsAreThoseOfTheirTokens();
};

void SensitivityOutputTest::outputErrorsAreThoseOfTheProducts() {
    const auto plan = planOf("output", {"nf4:block=16"});
    const auto model = network();
    const auto result = measured(plan);
    // The first layer's down_proj, from inputs seen by a tap, in f64.
    auto net = readNetwork(*model);
    QVERIFY(net);
    const auto weights = NetworkWeights::of(model, *net);
    QVERIFY(weights);
    const std::size_t count = plan.chunks * plan.context;
    auto embedded = weights->embed(inputsOf(plan.text, count, plan.context), plan.context, nullptr, Job());
    QVERIFY(embedded);
    HiddenStates states(*net, std::move(*embedded), plan.context);
    std::vector<float> x;
    const InputTap tap = [&](const TappedInputs& inputs) {
        if (inputs.role == WeightRole::Down) x.insert(x.end(), inputs.values.begin(), inputs.values.end());
    };
    const auto layer = weights->layer(0, nullptr, Job());
    QVERIFY(layer && states.pass(*layer, net->layers[0], Job(), tap));
    for (const LayerMatrix& matrix : weights->matrices()) {
        if (matrix.layer > 0 || matrix.role != WeightRole::Down) continue;
        const TensorInfo& tensor = *matrix.tensor;
        const auto changed = quantizedAs(plan.specs.front()).values(tensor, *model->view(tensor), Job());
        QVERIFY(changed);
        std::vector<float> w(tensor.elements);
        loadF32(*model->view(tensor), 0, w.size(), w.data());
        const auto k = std::size_t(tensor.shape[1]), n = std::size_t(tensor.shape[0]);
        QCOMPARE(x.size(), count * k);
        double lost = 0, whole = 0, weightedLost = 0, weightedWhole = 0;
        for (std::size_t t = 0; t < count; ++t)
            for (std::size_t row = 0; row < n; ++row) {
                double y = 0, e = 0;
                for (std::size_t i = 0; i < k; ++i) {
                    const double input = double(x[t * k + i]), value = double(w[row * k + i]);
                    const double error = double((*changed)[row * k + i]) - value;
                    y += input * value, e += input * error;
                    weightedLost += input * input * error * error, weightedWhole += input * input * value * value;
                }
                lost += e * e, whole += y * y;
            }
        const auto row = std::find_if(result.rows.begin(), result.rows.end(),
                                      [&](const auto& one) { return one.unit == tensor.name; });
        QVERIFY(row != result.rows.end());
        QVERIFY(std::fabs(row->outputNmse->mean / (lost / whole) - 1) < 1e-5);
        QVERIFY(std::fabs(row->weightedNmse->mean / (weightedLost / weightedWhole) - 1) < 1e-5);
        QVERIFY(*row->outputNmse->byChunk > 0);
    }
}

// An expert as a tensor of its own, and all experts as one.
void SensitivityOutputTest::outputErrorsOfExpertsAreThoseOfTheirTokens() {
    SensitivityPlan plan = planOf("output", {"int4:block=16"});
    const auto tokens = readTokens("tests/data/eval/qwen3_moe/tokens.npy");
    QVERIFY(tokens);
    plan.text.tokens = *tokens;
    plan.context = 8, plan.chunks = 0;
    plan.by = findGrouping("layer");
    plan.scope.takes = [](const TensorInfo& tensor) { return placeOf(tensor.name).layer >= 0; }; // these have inputs
    const auto of = [&](const char* path) {
        const auto model = openModel(path);
        if (!model) qFatal("%s", model.error().message.c_str());
        auto result = sensitivity(*model, plan, Job());
        if (!result) qFatal("%s", result.error().message.c_str());
        return std::move(*result);
    };
    const auto apart = of("tests/data/eval/qwen3_moe"), together = of("tests/data/eval/gguf/qwen3_moe.gguf");
    QCOMPARE(apart.rows.size(), together.rows.size());
    for (std::size_t i = 0; i < apart.rows.size(); ++i) {
        QVERIFY2(apart.rows[i].reason.empty(), apart.rows[i].reason.c_str());
        const auto &a = *apart.rows[i].outputNmse, &b = *together.rows[i].outputNmse;
        QVERIFY(a.mean > 1e-4 && a.byChunk && *a.byChunk > 0);
        QVERIFY(std::fabs(a.mean / b.mean - 1) < 1e-5 && std::fabs(*a.byChunk / *b.byChunk - 1) < 1e-4);
        QVERIFY(std::fabs(apart.rows[i].weightedNmse->mean / together.rows[i].weightedNmse->mean - 1) < 1e-5);
    }
    // Of one expert, against products with what capture wrote.
    const auto model = openModel("tests/data/eval/qwen3_moe");
    QVERIFY(model);
    const std::string name = "model.layers.1.mlp.experts.2.gate_proj.weight";
    plan.by = findGrouping("tensor");
    plan.scope.takes = [&](const TensorInfo& tensor) { return tensor.name == name; };
    const auto one = sensitivity(*model, plan, Job());
    QVERIFY(one && one->rows.size() == 1 && one->rows[0].outputNmse);
    QTemporaryDir dir;
    const std::string path = dir.filePath(QStringLiteral("x.safetensors")).toStdString();
    CapturePlan capture;
    capture.text = plan.text, capture.context = 8, capture.rows = 0;
    const auto kind = captureKindOf(path, "rows");
    QVERIFY(kind && (*kind)->write(*model, capture, path, Job()));
    const auto file = openModel(path);
    QVERIFY(file);
    const auto values = [](const Model& from, const std::string& tensor) {
        std::vector<float> out(from.find(tensor)->elements);
        loadF32(*from.view(*from.find(tensor)), 0, out.size(), out.data());
        return out;
    };
    const auto x = values(**file, name), w = values(**model, name);
    const auto v = materialize(*quantizeTensor(*(*model)->view(*(*model)->find(name)), plan.specs[0], Job()));
    double lost = 0, whole = 0;
    for (std::size_t row = 0; row < x.size() / 32; ++row)
        for (std::size_t o = 0; o < 16; ++o) {
            double e = 0, y = 0;
            for (std::size_t k = 0; k < 32; ++k) {
                e += double(x[row * 32 + k]) * (double(v[o * 32 + k]) - double(w[o * 32 + k]));
                y += double(x[row * 32 + k]) * double(w[o * 32 + k]);
            }
            lost += e * e, whole += y * y;
        }
    QVERIFY(whole > 0);
    QVERIFY(std::fabs(one->rows[0].outputNmse->mean / (lost / whole) - 1) < 1e-4);
}

QS_TEST(SensitivityOutputTest)
#include "sensitivity_output_test.moc"
