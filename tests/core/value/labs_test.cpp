// SPDX-License-Identifier: GPL-3.0-or-later
// QAT, the dot-general lab, the KV cache and the what-if operations: known answers, and what they refuse.
#include "core/value/dot_general.h"
#include "core/value/kv_cache.h"
#include "core/value/product_lab.h"
#include "core/value/qat.h"
#include "core/value/synthetic.h"
#include "core/value/what_if.h"
#include "tests/support/test_program.h"

#include <QtTest>

#include <cmath>

using namespace qs;
using namespace qs::value;

namespace {

Tensor weights(std::int64_t rows, std::int64_t columns) {
    Tensor w = syntheticGradients(rows, columns, 5);
    for (float& v : w.values) v *= 20;
    return w;
}

/// ||X (Q(V) - W)^T||^2 / ||X W^T||^2, without any code of the training.
double outputNmse(const QatPlan& plan, const Tensor& latent) {
    const Tensor q = materialized(*quantized(latent, plan.spec));
    const auto should = matmulTransposed(plan.inputs, plan.weight), is = matmulTransposed(plan.inputs, q);
    return *deviation(should->values, is->values).nmse();
}

} // namespace

class Labs : public QObject {
    Q_OBJECT
private Q_SLOTS:
    /// Both ways to the gradient: with fewer and with more inputs than columns.
    void trainingLowersTheOutputError() {
        for (const std::int64_t inputs : {20, 400}) {
            for (const char* spec : {"nf4:block=32", "int4:block=32", "ternary:scale=channel"}) {
                const QatPlan plan{weights(24, 64), syntheticInputs(inputs, 64, 1), *parseSpec(spec), 80, 0.005};
                std::vector<double> seen;
                const auto result = trainQat(plan, {}, [&](const QatStep& step) {
                    seen.push_back(step.loss);
                    return true;
                });
                QVERIFY2(result, result ? "" : result.error().message.c_str());
                QCOMPARE(int(seen.size()), 81);
                QVERIFY(std::abs(result->startLoss - outputNmse(plan, plan.weight)) < 1e-4 * result->startLoss);
                QVERIFY(std::abs(result->bestLoss - outputNmse(plan, result->latent)) < 1e-3 * result->bestLoss);
                QVERIFY2(result->bestLoss < 0.8 * result->startLoss, spec);
                QVERIFY(result->curve[std::size_t(result->bestStep)].loss == result->bestLoss && !result->stopped);
            }
        }
    }

    /// Two equal inputs make the sum of two weights count alone: 0.45 + 0.35 of {-1, 0, 1} can only be met by 1 + 0.
    void theBestOfThreeIsFound() {
        QatPlan plan{Tensor{{1, 3}, {0.45f, 0.35f, 1}}, Tensor{{2, 3}, {1, 1, 0, 0, 0, 1}},
                     *parseSpec("int2:scale=channel"), 200, 0.05};
        const auto result = trainQat(plan, {});
        QVERIFY(result);
        QVERIFY(std::abs(result->startLoss - 0.64 / 1.64) < 1e-6); // 0 + 0 instead of 0.8
        QVERIFY2(result->bestLoss < 0.2 * result->startLoss, QByteArray::number(result->bestLoss));
    }

    void trainingStopsAndRefuses() {
        QatPlan plan{weights(4, 32), syntheticInputs(16, 32, 1), *parseSpec("nf4"), 1000, 0.02};
        const auto stopped = trainQat(plan, {}, [](const QatStep& step) { return step.step < 5; });
        QVERIFY(stopped && stopped->stopped && stopped->curve.size() == 6);
        Job job;
        const auto cancelled = trainQat(plan, job, [&](const QatStep&) {
            job.cancel();
            return true;
        });
        QVERIFY(!cancelled && cancelled.error().cancelled);
        plan.inputs = syntheticInputs(16, 31, 1);
        QVERIFY(!trainQat(plan, {}));
        plan.inputs = Tensor{{1, 32}, std::vector<float>(32, 0.0f)};
        const auto silent = trainQat(plan, {});
        QVERIFY(!silent && silent.error().message.find("output is 0") != std::string::npos);
        // f32 keeps every value: nothing to gain, nothing lost.
        plan.inputs = syntheticInputs(16, 32, 1), plan.spec = *parseSpec("f32"), plan.steps = 2;
        QCOMPARE(trainQat(plan, {})->bestLoss, 0.0);
    }

    void productsOfALayer() {
        LabPlan plan{syntheticInputs(48, 64, 1), weights(32, 64), syntheticGradients(48, 32, 2), {}};
        for (auto& choice : plan.choices) choice = "keep";
        auto rows = runLab(plan, {});
        QVERIFY(rows && rows->size() == 3);
        for (const LabRow& row : *rows) QVERIFY(row.error->exact() && !row.reason.empty());

        // dX alone depends on its own operands; "forward" is what the forward product has made.
        plan.choices = {"keep", "nf4", "keep", "forward", "keep", "keep"};
        rows = runLab(plan, {});
        QVERIFY(!rows->at(0).error->exact() && !rows->at(1).error->exact() && rows->at(2).error->exact());
        QCOMPARE(rows->at(0).rhsError->errorPower, rows->at(1).rhsError->errorPower);
        const auto y = matmulTransposed(plan.x, plan.w),
                   yq = matmulTransposed(plan.x, *quantized(plan.w, *parseSpec("nf4")));
        QVERIFY(std::abs(*rows->at(0).error->nmse() / *deviation(y->values, yq->values).nmse() - 1) < 1e-3);

        plan.choices = {"forward", "nf4:block=3", "keep", "forward", "keep", "keep"};
        rows = runLab(plan, {});
        QVERIFY(!rows->at(0).error && rows->at(0).reason.find("no forward value") != std::string::npos);
        QVERIFY(!rows->at(1).error && rows->at(1).reason.find("nf4:block=") != std::string::npos);
        QVERIFY(rows->at(2).error);
        plan.g = syntheticGradients(48, 31, 2);
        QVERIFY(!runLab(plan, {}));
    }

    /// Every preset either measures all three products or says what it lacks.
    void presets() {
        for (const LabPreset& preset : labPresets()) {
            const LabPlan plan{syntheticInputs(48, 64, 1), weights(32, 64), syntheticGradients(48, 32, 2),
                               choicesOf(preset)};
            const auto rows = runLab(plan, {});
            QVERIFY(rows);
            for (const LabRow& row : *rows) QVERIFY2(row.error || !row.reason.empty(), preset.id);
            if (std::string(preset.id) == "fp8_full")
                for (const LabRow& row : *rows) QVERIFY(*row.error->sqnrDb() > 20 && *row.error->sqnrDb() < 45);
        }
    }

    void cache() {
        KvPlan plan = syntheticKv(2, 64, 32, 1);
        plan.specs = {"f32", "int8", "int4:scale=channel", "int8:block=0"};
        const auto rows = runKvCache(plan, {});
        QVERIFY2(rows, rows ? "" : rows.error().message.c_str());
        QVERIFY(rows->at(0).k->exact() && rows->at(0).output->exact() && *rows->at(0).kl == 0);
        QCOMPARE(*rows->at(0).bytesPerToken, 2.0 * 2 * 32 * 4);
        QCOMPARE(*rows->at(1).bytesPerToken, 2.0 * 2 * (32 + 4)); // a scale per head and token
        QVERIFY(*rows->at(1).output->nmse() < *rows->at(2).output->nmse() && *rows->at(1).kl < *rows->at(2).kl);
        QVERIFY(!rows->at(3).k && !rows->at(3).reason.empty());
        plan.v.shape = {2, 32, 64};
        QVERIFY(!runKvCache(plan, {}));
    }

    void whatIf() {
        const auto subject = whatIfSubject(weights(64, 192), *parseSpec("nf4:block=64"), {});
        QVERIFY(subject);
        for (const WhatIfOperation& operation : whatIfOperations()) {
            const auto rows = operation.run(*subject, operation.initial(subject->w.shape), {});
            QVERIFY(rows && !rows->empty());
            for (const WhatIfRow& row : *rows) {
                QCOMPARE(row.operation, std::string(operation.id));
                QVERIFY2(row.after || !row.reason.empty(), operation.id);
                QVERIFY(*row.bytesBefore == 64 * 96 + 64 * 3 * 4);
            }
            for (const char* nonsense : {"", "x", "1,1,1,1,1", "-9", ":::", "9999999999999999999", "a=0 / b"}) {
                const auto wrong = operation.run(*subject, nonsense, {});
                QVERIFY2(wrong && !wrong->front().reason.empty(), operation.id);
            }
        }
        const auto run = [&](int which, const char* argument) {
            return *whatIfOperations()[std::size_t(which)].run(*subject, argument, {});
        };
        QVERIFY(!run(0, "1,0").front().caused->exact()); // other neighbours in a block
        QVERIFY(run(0, "0,1").front().caused->exact());
        QVERIFY(run(1, "128,96").front().caused->nmse().value() > 0);
        QVERIFY(run(1, "192,-1").front().caused->exact()); // rows of one block
        QVERIFY(run(2, "0").front().caused->exact());
        QVERIFY(run(3, ":,64:128").front().caused->exact() && !run(3, ":,32:96").front().caused->exact());
        const auto shards = run(4, "model=4 / -,model");
        QCOMPARE(shards.size(), std::size_t(3));
        QVERIFY(!shards[0].reason.empty() && shards[1].caused->exact() && !shards[2].caused->exact());
        QCOMPARE(*shards[1].bytesPerDevice, std::uint64_t(64 * 24 + 64 * 2 * 4));
    }
};

QS_TEST(Labs)
#include "labs_test.moc"
