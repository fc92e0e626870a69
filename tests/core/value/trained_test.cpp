// SPDX-License-Identifier: GPL-3.0-or-later
// The result of training as a spec: its error, its files, and when it does not apply. Also inputs from files.
#include "core/analysis/analysis.h"
#include "core/layouts/layout.h"
#include "core/value/inputs.h"
#include "core/value/npy.h"
#include "core/value/synthetic.h"
#include "core/value/trained.h"
#include "tests/core/quant/made_model.h"
#include "tests/support/test_program.h"

#include <bit>
#include <cmath>
#include <cstring>

using namespace qs;
using namespace qs::value;
using namespace qs::test;

namespace {

std::vector<float> weights(std::size_t rows, std::size_t columns, std::uint64_t seed) {
    auto values = syntheticGradients(std::int64_t(rows), std::int64_t(columns), seed).values;
    for (float& v : values) v *= 20;
    return values;
}

std::vector<std::byte> npy(const std::string& header, const std::vector<float>& values, int version = 1) {
    std::string text("\x93NUMPY", 6);
    text += char(version), text += '\0';
    text += char(header.size() & 255), text += char(header.size() >> 8);
    if (version > 1) text += std::string(2, '\0');
    text += header;
    text.append(reinterpret_cast<const char*>(values.data()), values.size() * 4);
    std::vector<std::byte> out(text.size());
    std::memcpy(out.data(), text.data(), text.size());
    return out;
}

} // namespace

class TrainedTest : public QObject {
    Q_OBJECT
    QTemporaryDir formats_, folder_;
    std::shared_ptr<const Model> model_;
    std::optional<QuantSpec> kept_;
    std::optional<QatResult> result_;

    TensorAnalysis row(const Model& model, std::size_t tensor, const QuantSpec& spec, Detail detail = Detail::Figures) {
        AnalysisOptions options;
        options.detail = detail;
        auto out = analyseTensor(model, model.tensors[tensor], spec, options, {});
        if (!out) qFatal("%s", out.error().message.c_str());
        return *out;
    }

private Q_SLOTS:
    void initTestCase() {
        qputenv("QUANTSCOPE_FORMATS", formats_.path().toUtf8());
        model_ = opened(folder_, {made<float>("a.q_proj", DType::F32, {24, 96}, weights(24, 96, 5)),
                                  made<float>("b.q_proj", DType::F32, {24, 96}, weights(24, 96, 6))});
        const QatPlan plan{Tensor{{24, 96}, weights(24, 96, 5)}, syntheticInputs(64, 96, 1),
                           *parseSpec("int4:block=32"), 60, 0.01};
        result_ = *trainQat(plan, {});
        QVERIFY(result_->bestLoss < 0.9 * result_->startLoss);
        const auto kept = keepTrained("q_proj_qat", *model_, model_->tensors[0], *result_, {});
        QVERIFY2(kept, kept ? "" : kept.error().message.c_str());
        kept_ = *kept;
        QCOMPARE(specText(*kept_), std::string("int4:block=32:dialect=q_proj_qat"));
    }

    void isASpec() {
        const auto again = parseSpec("int4:dialect=q_proj_qat:block=32");
        QVERIFY(again && *again == *kept_);
        QVERIFY(canonicalText(*kept_) != canonicalText(withoutTrained(*kept_)));
        const auto other = parseSpec("int4:block=64:dialect=q_proj_qat");
        QVERIFY(!other && other.error().sentence().find("use int4:block=32:dialect=q_proj_qat") != std::string::npos);
        QVERIFY(!parseSpec("nf4:block=32:dialect=q_proj_qat"));
        for (const char* id : {"", "Q", "9a", "qwix", "a b", "q_proj_qat"})
            QVERIFY(!checkTrainedId(id, *parseSpec("nf4")));
        QVERIFY(!checkTrainedId("fine", *parseSpec("f16")) && !checkTrainedId("fine", *kept_));
    }

    /// Errors are relative to the original; computed here from the latent weights.
    void errorsAreAgainstTheOriginal() {
        const auto base = withoutTrained(*kept_);
        const Tensor decoded = materialized(*quantized(Tensor{{24, 96}, result_->latent.values}, base));
        const auto w = weights(24, 96, 5);
        double error = 0, power = 0, worst = 0;
        for (std::size_t i = 0; i < w.size(); ++i) {
            const double e = double(decoded.values[i] - w[i]);
            error += e * e, power += double(w[i]) * double(w[i]), worst = std::max(worst, std::fabs(e));
        }
        for (const Detail detail : {Detail::Figures, Detail::Inspect}) {
            const auto trained = row(*model_, 0, *kept_, detail);
            QVERIFY(trained.status == Status::Ok);
            QVERIFY(std::fabs(trained.sums.se2 / error - 1) < 1e-9 && std::fabs(trained.sums.sw2 / power - 1) < 1e-9);
            QCOMPARE(double(trained.sums.maxAbs), worst);
            QCOMPARE(std::uint64_t(trained.sums.n), std::uint64_t(w.size()));
            QCOMPARE(trained.errors().total(), std::uint64_t(w.size()));
            std::uint64_t codes = 0;
            for (const auto count : trained.codeCounts) codes += count;
            QCOMPARE(codes, std::uint64_t(w.size()));
            QVERIFY(detail == Detail::Figures || !trained.blockMap().nmse.empty());
            QCOMPARE(trained.bpw, row(*model_, 0, base).bpw);
        }
        QVERIFY(*result_->weightNmse > 0 && std::fabs(error / power / *result_->weightNmse - 1) < 1e-6);
    }

    void otherTensorsAreAsTheSpecSays() {
        const auto base = withoutTrained(*kept_);
        QCOMPARE(row(*model_, 1, *kept_).sums.se2, row(*model_, 1, base).sums.se2);
        // The same name with other values is another tensor.
        const QTemporaryDir folder;
        const auto changed = opened(folder, {made<float>("a.q_proj", DType::F32, {24, 96}, weights(24, 96, 9))});
        QCOMPARE(row(*changed, 0, *kept_).sums.se2, row(*changed, 0, base).sums.se2);
    }

    /// The file contains the trained codes under the plain spec, so any other installation can read it.
    void isWritten() {
        const std::string out = folder_.filePath(QStringLiteral("out.safetensors")).toStdString();
        const std::string back = folder_.filePath(QStringLiteral("back.safetensors")).toStdString();
        const auto written = quantizeModel(*model_, {*kept_, {}, "native", out}, {});
        QVERIFY2(written, written ? "" : written.error().message.c_str());
        const auto file = openModel(out);
        QVERIFY(file);
        for (const auto& [key, text] : (*file)->files[0].metadata)
            QVERIFY(text.find("q_proj_qat") == std::string::npos);
        QVERIFY(dequantizeModel(**file, std::nullopt, back, {}));
        const auto decoded = openModel(back);
        const auto values = loadTensor(*(*decoded)->view(*(*decoded)->find("a.q_proj")));
        const auto base = withoutTrained(*kept_);
        QCOMPARE(values->values, materialized(*quantized(Tensor{{24, 96}, result_->latent.values}, base)).values);
    }

    void isThereInTheNextRun() {
        const auto problems = loadTrained(formats_.path().toStdString());
        QCOMPARE(problems.size(), std::size_t(1)); // already known
        QVERIFY(problems[0].find("already") != std::string::npos);
        QFile(formats_.filePath(QStringLiteral("broken.safetensors"))).open(QIODevice::WriteOnly);
        QCOMPARE(loadTrained(formats_.path().toStdString()).size(), std::size_t(2));
        QVERIFY(loadTrained("/nonexistent").empty());
    }

    void numpyArrays() {
        const std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
        const std::vector<float> six = {1, 2, 3, 4, 5, 6};
        for (const int version : {1, 2, 3}) {
            const auto array = parseNpy(npy(good, six, version));
            QVERIFY(array && array->shape == Shape({2, 3}) && array->values == six);
        }
        const auto scalar = parseNpy(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (), }", {7}));
        QVERIFY(scalar && scalar->shape.empty() && scalar->values == std::vector<float>{7});
        std::vector<float> turned;
        for (const float value : six)
            turned.push_back(std::bit_cast<float>(__builtin_bswap32(std::bit_cast<std::uint32_t>(value))));
        const auto big = parseNpy(npy("{'descr': '>f4', 'fortran_order': False, 'shape': (2, 3), }", turned));
        QVERIFY(big && big->values == six);
        const std::pair<const char*, const char*> wrong[] = {
            {"{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }", "Fortran"},
            {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 4), }", "needs 32 bytes"},
            {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, -3), }", "no shape"},
            {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3", "no shape"},
            {"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296), }", "overflows"},
            {"{'fortran_order': False, 'shape': (2, 3), }", "lacks"},
        };
        for (const auto& [header, says] : wrong) {
            const auto array = parseNpy(npy(header, six));
            QVERIFY2(!array && array.error().message.find(says) != std::string::npos, header);
        }
        const auto whole = npy(good, six);
        for (std::size_t length = 0; length < whole.size(); ++length) // truncated at every length
            QVERIFY(!parseNpy(std::span(whole).first(length)));
    }

    void inputsOutOfFiles() {
        const QString path = folder_.filePath(QStringLiteral("x.npy"));
        const auto bytes = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", {1, 2, 3, 4, 5, 6});
        QFile file(path);
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(reinterpret_cast<const char*>(bytes.data()), qint64(bytes.size()));
        file.close();
        const auto array = InputFile::open(path.toStdString());
        QVERIFY2(array, array ? "" : array.error().message.c_str());
        QCOMPARE((*array)->take("any", 1, 3)->values, (std::vector<float>{1, 2, 3}));
        QVERIFY(!(*array)->take("any", 1, 4) && !(*array)->keysAndValues());

        const QTemporaryDir folder;
        std::vector<float> k(2 * 80 * 4), v(k.size());
        for (std::size_t i = 0; i < k.size(); ++i) k[i] = float(i % 13) - 6, v[i] = float(i % 7);
        const auto written = opened(folder, {made<float>("layers.0.k", DType::F32, {1, 2, 80, 4}, k),
                                             made<float>("layers.0.v", DType::F32, {1, 2, 80, 4}, v)});
        const auto blocks = InputFile::open(written->path);
        auto plan = (*blocks)->keysAndValues();
        QVERIFY2(plan, plan ? "" : plan.error().message.c_str());
        QVERIFY(plan->k.shape == Shape({2, 80, 4}) && plan->k.values == k && plan->v.values == v);
        QVERIFY(plan->q.shape == Shape({2, 64, 4}));
        plan->specs = {"f32", "int8"};
        const auto rows = runKvCache(*plan, {});
        QVERIFY(rows && rows->at(0).output->exact() && *rows->at(1).output->nmse() > 0);
    }
};

QS_TEST(TrainedTest)
#include "trained_test.moc"
