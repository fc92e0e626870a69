// SPDX-License-Identifier: GPL-3.0-or-later
// QAT, the dot-general lab, the KV cache and the what-if operations: known answers and refusals.
#include "core/value/dot_general.h"
#include "core/value/kept_variants.h"
#include "core/value/kv_cache.h"
#include "core/value/product.h"
#include "core/value/product_lab.h"
#include "core/value/qat.h"
#include "core/value/synthetic.h"
#include "core/value/what_if.h"
#include "tests/support/test_program.h"

#include <QTemporaryDir>
#include <QtTest>

#include <cmath>
#include <sys/stat.h>

using namespace qs;
using namespace qs::value;

namespace {

Tensor weights(std::int64_t rows, std::int64_t columns) {
    Tensor w = syntheticGradients(rows, columns, 5);
    for (float& v : w.values) v *= 20;
    return w;
}

/// x W^T.
Result<Tensor> timesTransposed(const Operand& x, const Operand& w) {
    return dotGeneral(x, w, {{1}, {1}, {}, {}}).map([](const DotResult& result) { return result.value; });
}

/// ||X (Q(V) - W)^T||^2 / ||X W^T||^2, without any code of the training.
double outputNmse(const QatPlan& plan, const Tensor& latent) {
    const Tensor q = materialized(*quantized(latent, plan.spec));
    const auto should = timesTransposed(plan.inputs, plan.weight), is = timesTransposed(plan.inputs, q);
    return *deviation(should->values, is->values).nmse();
}

} // namespace

class Labs : public QObject {
    Q_OBJECT
private Q_SLOTS:
    /// Both ways to compute the gradient: fewer and more inputs than columns.
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

    /// With two equal inputs only the sum of two weights counts. 0.45 + 0.35 with levels {-1, 0, 1} is best met by 1 +
    /// 0.
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
        // f32 keeps every value: nothing to gain or lose.
        plan.inputs = syntheticInputs(16, 32, 1), plan.spec = *parseSpec("f32"), plan.steps = 2;
        QCOMPARE(trainQat(plan, {})->bestLoss, 0.0);
    }

    void productsOfALayer() {
        LabPlan plan{syntheticInputs(48, 64, 1), weights(32, 64), syntheticGradients(48, 32, 2), {}};
        for (auto& choice : plan.choices) choice = "keep";
        auto rows = runLab(plan, {});
        QVERIFY(rows && rows->size() == 3);
        for (const LabRow& row : *rows) QVERIFY(row.error->exact() && !row.reason.empty());

        // dX depends only on its own operands; "forward" reuses the operand of the forward product.
        plan.choices = {"keep", "nf4", "keep", "forward", "keep", "keep"};
        rows = runLab(plan, {});
        QVERIFY(!rows->at(0).error->exact() && !rows->at(1).error->exact() && rows->at(2).error->exact());
        QCOMPARE(rows->at(0).rhsError->errorPower, rows->at(1).rhsError->errorPower);
        const auto y = timesTransposed(plan.x, plan.w),
                   yq = timesTransposed(plan.x, *quantized(plan.w, *parseSpec("nf4")));
        QVERIFY(std::abs(*rows->at(0).error->nmse() / *deviation(y->values, yq->values).nmse() - 1) < 1e-3);

        plan.choices = {"forward", "nf4:block=3", "keep", "forward", "keep", "keep"};
        rows = runLab(plan, {});
        QVERIFY(!rows->at(0).error && rows->at(0).reason.find("no forward value") != std::string::npos);
        QVERIFY(!rows->at(1).error && rows->at(1).reason.find("nf4:block=") != std::string::npos);
        QVERIFY(rows->at(2).error);
        plan.g = syntheticGradients(48, 31, 2);
        QVERIFY(!runLab(plan, {}));
    }

    /// Every preset measures all three products or gives a reason.
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
        QCOMPARE(*rows->at(1).bytesPerToken, 2.0 * 2 * (32 + 4)); // one scale per head and token
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
        QVERIFY(!run(0, "1,0").front().caused->exact()); // blocks contain other values
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

    /// The file of kernel choices: always complete, only for this machine, and ignored if it is broken or not a regular
    /// file.
    void choicesOfKernelsAreKept() {
        QTemporaryDir folder;
        const std::string path = folder.filePath(QStringLiteral("new/kernels.json")).toStdString();
        const VariantKeeper mine = keptIn(path, "one machine"), other = keptIn(path, "another");
        QVERIFY(mine.load().empty());
        mine.store({{"m=1", "gemv_f32_avx2"}});
        mine.store({{"m=48", "gemm_f32_avx512"}}); // another process that has not seen the first choice
        const VariantKeeper::Choices both{{"m=1", "gemv_f32_avx2"}, {"m=48", "gemm_f32_avx512"}};
        QVERIFY(mine.load() == both && other.load().empty());
        const QString name = QString::fromStdString(path);
        for (const char* bytes : {"", "{", "[]", "7", "{\"machine\":\"one machine\",\"fastest\":{\"m=1\":7}}",
                                  "{\"machine\":\"one machine\",\"fastest\":\"m\"}", "{\"machine\":[[[["}) {
            QFile file(name);
            QVERIFY(file.open(QIODevice::WriteOnly) && file.write(bytes) >= 0);
            file.close();
            QVERIFY2(mine.load().empty(), bytes);
        }
        mine.store(both);
        QVERIFY(mine.load() == both);
        QVERIFY(QFile::resize(name, 30 << 20)); // far more than choices need
        QVERIFY(mine.load().empty());
        QVERIFY(QFile::remove(name));
        QCOMPARE(::mkfifo(path.c_str(), 0600), 0); // must not wait for a writer
        QVERIFY(mine.load().empty());
        QVERIFY(keptIn("", "one machine").load == nullptr);
        keptIn("/proc/nowhere/kernels.json", "one machine").store(both); // cannot be written, and is ignored
    }

    /// All kernels that the labs may use give equal bits. The result names the kernel that ran.
    void theKernelIsSaid() {
        const Tensor x = syntheticInputs(5, 96, 1), w = weights(24, 96), g = weights(5, 24);
        LabChoices choices;
        choices.fill("int8");
        const auto rows = runLab({x, w, g, choices}, {});
        QVERIFY(rows && rows->size() == 3);
        for (const LabRow& row : *rows) {
            QVERIFY2(!row.kernel.empty(), row.product.c_str());
            const auto at = std::find_if(matmulVariants().begin(), matmulVariants().end(),
                                         [&](const MatmulVariant* v) { return row.kernel == v->id; });
            QVERIFY(at != matmulVariants().end() && (*at)->compute == NumberType::F32);
        }
        for (const std::size_t m : {std::size_t(1), std::size_t(3), std::size_t(20), std::size_t(70)}) {
            MatmulProblem p;
            p.m = m, p.n = 130, p.k = 2100, p.compute = NumberType::F32, p.weight.id = "f32";
            const Tensor a = syntheticInputs(std::int64_t(m), 2100, 2), b = weights(130, 2100);
            WeightOperand operand;
            operand.codes = b.values.data(), operand.rowBytes = p.k * sizeof(float);
            ThreadTeam team(1);
            std::vector<float> first;
            for (const MatmulVariant* each : productCandidates(p)) {
                std::vector<float> y(m * p.n);
                QVERIFY(
                    each->prepare(p, operand, team)->run({a.values.data(), nullptr}, {y.data(), nullptr}, team, {}));
                if (first.empty()) first = y;
                QVERIFY2(y == first, each->id);
            }
        }
    }
};

QS_TEST(Labs)
#include "labs_test.moc"
