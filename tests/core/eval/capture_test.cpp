// SPDX-License-Identifier: GPL-3.0-or-later
// Captured inputs against those that hooks in transformers saw (tests/data/eval/make_imatrix.py), and against each other.
#include "core/analysis/input_errors.h"
#include "core/base/text.h"
#include "core/quant/encode/quantizer.h"
#include "core/solve/inputs.h"
#include "tests/core/eval/captures.h"
#include "tests/support/files.h"
#include "tests/support/test_program.h"

#include <QFile>
#include <QTemporaryDir>
#include <QtTest>

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

using namespace qs;
using namespace qs::eval;
using namespace qs::eval::test;
using namespace qs::test;

namespace {

nlohmann::json expectedOf(const QString& family) {
    QFile file(QString::fromStdString(folderOf(family) + "/imatrix.json"));
    if (!file.open(QIODevice::ReadOnly)) qFatal("no imatrix.json");
    return nlohmann::json::parse(file.readAll().toStdString());
}

} // namespace

class CaptureTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void importanceIsThatOfTransformers_data();
    void importanceIsThatOfTransformers();
    void ggufIsLaidOutAsLlamaCppsIs();
    void legacyFilesHoldMeansTimesCalls();
    void sumsOfExpertsAreThoseOfTransformers_data();
    void sumsOfExpertsAreThoseOfTransformers();
    void anExpertFindsItsSums();
    void rowsOfExpertsAreTheirTokens();
    void rowsAndGramsGiveTheSameFigures();
    void everyChunkBeginsWithTheFirstToken();
    void rowsAreSpreadOverTheText();
    void badRequestsAreRefused();
};

void CaptureTest::importanceIsThatOfTransformers_data() {
    QTest::addColumn<QString>("family");
    QTest::addColumn<QString>("file");
    for (const char* family : {"llama", "phi3", "gpt2"})
        for (const char* file : {"i.gguf", "i.dat"})
            QTest::addRow("%s %s", family, file) << QString::fromLatin1(family) << QString::fromLatin1(file);
}

void CaptureTest::importanceIsThatOfTransformers() {
    QFETCH(QString, family);
    QFETCH(QString, file);
    const Capture capture(family, file.toLatin1().constData());
    const auto model = opened(folderOf(family)), importance = capture.model();
    const auto expected = expectedOf(family);
    QCOMPARE(capture.captured().matrices, expected.size());
    QCOMPARE(capture.captured().chunks, std::size_t(3));
    for (const auto& [name, entry] : expected.items()) {
        const TensorInfo* layer = model->find(name);
        QVERIFY2(layer, name.c_str());
        const auto weights = solve::columnWeightsOf(*importance, *layer); // GPT-2's matrices are [inputs, outputs]
        QVERIFY2(weights, weights ? "" : weights.error().message.c_str());
        QVERIFY2(weights->has_value(), name.c_str());
        const auto sums = entry["sums"].get<std::vector<double>>();
        const double largest = *std::max_element(sums.begin(), sums.end());
        for (std::size_t j = 0; j < sums.size(); ++j) {
            const double mean = sums[j] / entry["count"].get<double>();
            QVERIFY2(std::fabs(double((**weights)[j]) - mean) <= 1e-5 * (mean + largest / 24), name.c_str());
        }
    }
}

void CaptureTest::ggufIsLaidOutAsLlamaCppsIs() {
    const Capture capture(QStringLiteral("llama"), "i.gguf");
    const auto model = capture.model();
    const auto& metadata = model->files.front().metadata;
    QCOMPARE(metadata.at("general.type"), std::string("imatrix"));
    QCOMPARE(metadata.at("imatrix.chunk_count"), std::string("3"));
    QCOMPARE(metadata.at("imatrix.chunk_size"), std::string("8"));
    QVERIFY(metadata.contains("imatrix.datasets"));
    QCOMPARE(model->tensors.size(), std::size_t(2 * 3 * 7));
    const TensorInfo* sums = model->find("blk.2.ffn_down.weight.in_sum2");
    QVERIFY(sums && sums->dtype == DType::F32 && sums->elements == 48 && sums->shape.size() == 1);
    QCOMPARE(valuesOf(*model, "blk.2.ffn_down.weight.counts"), std::vector<float>{24});
    // Raw sums, rounded once from f64.
    const auto expected = expectedOf(QStringLiteral("llama"))["model.layers.2.mlp.down_proj.weight"]["sums"];
    const auto values = valuesOf(*model, "blk.2.ffn_down.weight.in_sum2");
    for (std::size_t j = 0; j < values.size(); ++j)
        QVERIFY(std::fabs(double(values[j]) / expected[j].get<double>() - 1) < 1e-5);
    // The first words of the file: magic, version 3, 42 tensors, 4 keys and our mark.
    const QByteArray bytes = bytesOf(q(capture.path()));
    QCOMPARE(bytes.left(4), QByteArray("GGUF"));
    std::uint64_t counts[2];
    std::memcpy(counts, bytes.constData() + 8, sizeof counts);
    QCOMPARE(counts[0], std::uint64_t(42));
    QCOMPARE(counts[1], std::uint64_t(5));
    QCOMPARE(bytes.size() % 32, 0);
}

void CaptureTest::legacyFilesHoldMeansTimesCalls() {
    const Capture capture(QStringLiteral("llama"), "i.dat"), modern(QStringLiteral("llama"), "i.gguf");
    const QByteArray bytes = bytesOf(q(capture.path()));
    std::size_t at = 0;
    const auto number = [&] {
        std::int32_t value = 0;
        std::memcpy(&value, bytes.constData() + at, 4), at += 4;
        return value;
    };
    QCOMPARE(number(), 21);
    std::string last;
    for (int entry = 0; entry < 21; ++entry) {
        const auto length = std::size_t(number());
        const std::string name(bytes.constData() + at, length);
        at += length;
        QVERIFY(last < name);
        last = name;
        QCOMPARE(number(), 3); // ceil(24 tokens / chunks of 8)
        const auto columns = std::size_t(number());
        const auto sums = valuesOf(*modern.model(), name + ".in_sum2");
        QCOMPARE(columns, sums.size());
        for (const float sum : sums) {
            float value = 0;
            std::memcpy(&value, bytes.constData() + at, 4), at += 4;
            QVERIFY(std::fabs(value - sum / 24 * 3) <= 1e-6f * std::fabs(value));
        }
    }
    QCOMPARE(number(), 3);
    QCOMPARE(number(), 10);
    QCOMPARE(bytes.mid(qsizetype(at)), QByteArray("a text.txt"));
}

void CaptureTest::sumsOfExpertsAreThoseOfTransformers_data() {
    QTest::addColumn<QString>("family");
    for (const char* family : {"mixtral", "qwen3_moe", "qwen3_moe_fused"})
        QTest::newRow(family) << QString::fromLatin1(family);
}

// Sums [inputs, experts] and counts [1, experts] in ggml's order of axes, as llama-imatrix writes them.
void CaptureTest::sumsOfExpertsAreThoseOfTransformers() {
    QFETCH(QString, family);
    const Capture capture(family, "i.gguf"), legacy(family, "i.dat");
    const auto model = capture.model(), old = legacy.model();
    const auto expected = expectedOf(family);
    QVERIFY(!expected.empty());
    for (const auto& [name, entry] : expected.items()) {
        const auto& sums = entry["sums"];
        const auto experts = std::int64_t(sums.size()), inputs = std::int64_t(sums[0].size());
        const TensorInfo *squares = model->find(name + ".in_sum2"), *counts = model->find(name + ".counts");
        QVERIFY2(squares && counts, name.c_str());
        if (experts > 1) {
            QCOMPARE(shapeText(squares->shape), shapeText(std::vector<std::int64_t>{experts, inputs}));
            QCOMPARE(shapeText(counts->shape), shapeText(std::vector<std::int64_t>{experts, 1}));
        }
        const auto found = valuesOf(*model, name + ".in_sum2"), count = valuesOf(*model, name + ".counts"),
                   means = valuesOf(*old, name + ".in_sum2");
        double most = 0, calls = 0;
        for (const auto& row : entry["counts"]) calls = std::max(calls, std::ceil(row.get<double>() / kCaptureContext));
        for (const auto& row : sums)
            for (const auto& value : row) most = std::max(most, value.get<double>());
        for (std::size_t e = 0; e < std::size_t(experts); ++e) {
            const auto rows = entry["counts"][e].get<double>();
            QCOMPARE(double(count[e]), rows);
            for (std::size_t j = 0; j < std::size_t(inputs); ++j) {
                const std::size_t at = e * std::size_t(inputs) + j;
                const auto sum = sums[e][j].get<double>();
                QVERIFY2(std::fabs(double(found[at]) - sum) <= 1e-5 * (sum + most / 24), name.c_str());
                const double mean = (rows > 0 ? sum / rows : 1) * calls; // 1 for an expert without a token
                QVERIFY2(std::fabs(double(means[at]) - mean) <= 1e-5 * (mean + calls * most / 24), name.c_str());
            }
        }
    }
    QVERIFY(model->find("blk.0.attn_q.weight.in_sum2")); // attention is there too
}

// The matrix of an expert is weighed by its own sums, from both kinds of files.
void CaptureTest::anExpertFindsItsSums() {
    const QString family = QStringLiteral("mixtral");
    const Capture modern(family, "i.gguf"), legacy(family, "i.dat");
    const auto model = opened(folderOf(family));
    const auto expected = expectedOf(family)["blk.1.ffn_down_exps.weight"];
    for (const Capture* capture : {&modern, &legacy})
        for (std::size_t e = 0; e < 4; ++e) {
            const TensorInfo* layer =
                model->find("model.layers.1.block_sparse_moe.experts." + std::to_string(e) + ".w2.weight");
            QVERIFY(layer);
            const auto weights = solve::columnWeightsOf(*capture->model(), *layer);
            QVERIFY2(weights && *weights, weights ? "" : weights.error().message.c_str());
            const auto count = expected["counts"][e].get<double>();
            for (std::size_t j = 0; j < 48; ++j) {
                const double mean = count > 0 ? expected["sums"][e][j].get<double>() / count : 1;
                QVERIFY(std::fabs(double((**weights)[j]) - mean) <= 1e-4 * (mean + 1));
            }
        }
}

void CaptureTest::rowsOfExpertsAreTheirTokens() {
    const QString family = QStringLiteral("qwen3_moe");
    CapturePlan plan = planOf(family);
    plan.rows = 0;
    const Capture rows(family, "x.safetensors", "rows", plan), gram(family, "g.safetensors", "gram");
    const auto model = rows.model(), grams = gram.model();
    const auto expected = expectedOf(family)["blk.0.ffn_down_exps.weight"];
    std::size_t all = 0;
    for (std::size_t e = 0; e < 6; ++e) {
        const std::string name = "model.layers.0.mlp.experts." + std::to_string(e) + ".down_proj.weight";
        const TensorInfo* found = model->find(name);
        QVERIFY(found && found->shape.size() == 2);
        QCOMPARE(found->shape[0], expected["counts"][e].get<std::int64_t>());
        all += std::size_t(found->shape[0]);
        const auto values = valuesOf(*model, name);
        std::vector<double> sums(16);
        for (std::size_t i = 0; i < values.size(); ++i) sums[i % 16] += double(values[i]) * double(values[i]);
        const TensorInfo* product = grams->find(name + ".gram");
        QVERIFY(product);
        std::vector<double> squares(product->elements);
        grams->view(*product)->readInto(0, std::as_writable_bytes(std::span(squares)));
        for (std::size_t j = 0; j < 16; ++j) {
            const auto sum = expected["sums"][e][j].get<double>();
            QVERIFY(std::fabs(sums[j] - sum) <= 1e-4 * (sum + 1));
            QVERIFY(std::fabs(squares[j * 16 + j] - sum) <= 1e-4 * (sum + 1));
        }
    }
    QCOMPARE(all, std::size_t(24 * 3)); // every token goes through three experts
    // All experts as one tensor have the rows of all.
    const QString fused = QStringLiteral("qwen3_moe_fused");
    CapturePlan few = planOf(fused);
    few.rows = 10;
    const Capture together(fused, "x.safetensors", "rows", few);
    const auto names = opened(folderOf(fused)), captured = together.model();
    std::size_t stacks = 0;
    for (const TensorInfo& tensor : names->tensors) {
        if (tensor.shape.size() != 3) continue;
        const TensorInfo* found = captured->find(tensor.name);
        QVERIFY2(found && found->shape[0] == 10 && found->shape[1] == tensor.shape.back(), tensor.name.c_str());
        ++stacks;
    }
    QVERIFY(stacks >= 2);
}

void CaptureTest::rowsAndGramsGiveTheSameFigures() {
    CapturePlan plan = planOf(QStringLiteral("llama"));
    plan.rows = 0;
    const Capture rows(QStringLiteral("llama"), "x.safetensors", "rows", plan);
    const Capture gram(QStringLiteral("llama"), "g.safetensors", "gram"), sums(QStringLiteral("llama"), "i.gguf");
    const auto model = opened(folderOf(QStringLiteral("llama")));
    const QuantSpec spec = *parseSpec("nf4:block=16");
    std::size_t layers = 0;
    for (const TensorInfo& layer : model->tensors) {
        if (placeOf(layer.name).layer < 0 || layer.shape.size() != 2) continue;
        const auto figures = [&](const Capture& from) {
            const auto inputs = layerInputs(from.model().get(), layer);
            if (!inputs || !*inputs) qFatal("no inputs");
            const auto errors = errorsOnInputs(*model->view(layer), composedPlan(spec), {}, **inputs, {}, Job());
            if (!errors) qFatal("%s", errors.error().message.c_str());
            return *errors;
        };
        const auto a = figures(rows), b = figures(gram), c = figures(sums);
        QVERIFY(a.outputNmse && b.outputNmse && !c.outputNmse);
        QVERIFY(std::fabs(*b.outputNmse / *a.outputNmse - 1) < 1e-4);
        QVERIFY(std::fabs(*b.weightedNmse / *a.weightedNmse - 1) < 1e-5);
        QVERIFY(std::fabs(*c.weightedNmse / *a.weightedNmse - 1) < 1e-5);
        ++layers;
    }
    QCOMPARE(layers, std::size_t(21));
}

void CaptureTest::everyChunkBeginsWithTheFirstToken() {
    CapturePlan plan = planOf(QStringLiteral("llama")), written = plan;
    const Capture without(QStringLiteral("llama"), "i.dat", "", plan);
    plan.text.first = plan.text.tokens[0] == 1 ? 2 : 1;
    for (std::size_t at = 0; at < written.text.tokens.size(); at += kCaptureContext)
        written.text.tokens[at] = *plan.text.first;
    const Capture with(QStringLiteral("llama"), "i.dat", "", plan),
        expected(QStringLiteral("llama"), "i.dat", "", written);
    QVERIFY(bytesOf(q(with.path())) == bytesOf(q(expected.path())));
    QVERIFY(bytesOf(q(with.path())) != bytesOf(q(without.path())));
}

void CaptureTest::rowsAreSpreadOverTheText() {
    CapturePlan plan = planOf(QStringLiteral("llama"));
    plan.rows = 0;
    const Capture all(QStringLiteral("llama"), "x.safetensors", "rows", plan);
    plan.rows = 6;
    const Capture some(QStringLiteral("llama"), "x.safetensors", "rows", plan);
    const std::string name = "model.layers.1.mlp.down_proj.weight";
    const auto whole = valuesOf(*all.model(), name), part = valuesOf(*some.model(), name);
    QCOMPARE(whole.size(), std::size_t(24 * 48));
    QCOMPARE(part.size(), std::size_t(6 * 48));
    for (std::size_t row = 0; row < 6; ++row)
        for (std::size_t j = 0; j < 48; ++j) QCOMPARE(part[row * 48 + j], whole[4 * row * 48 + j]);
}

void CaptureTest::badRequestsAreRefused() {
    const auto refusal = [](const char* path, const char* what) {
        const auto kind = captureKindOf(path, what);
        return kind ? QString() : QString::fromStdString(kind.error().message);
    };
    QVERIFY(refusal("x.npz", "").contains(QLatin1String(".safetensors, .gguf, .dat")));
    QVERIFY(refusal("x.gguf", "gram").contains(QLatin1String(".safetensors")));
    QTemporaryDir dir;
    const std::string path = dir.filePath(QStringLiteral("i.gguf")).toStdString();
    CapturePlan plan = planOf(QStringLiteral("llama"));
    plan.text.tokens.resize(5);
    const auto kind = captureKindOf(path, "");
    const auto refused = (*kind)->write(opened(folderOf(QStringLiteral("llama"))), plan, path, Job());
    QVERIFY(!refused && QString::fromStdString(refused.error().message).contains(QLatin1String("5 tokens")));
    const Job job;
    job.cancel();
    for (const CaptureKind& each : captureKinds()) {
        const auto stopped =
            each.write(opened(folderOf(QStringLiteral("llama"))), planOf(QStringLiteral("llama")), path, job);
        QVERIFY(!stopped && stopped.error().cancelled);
        QVERIFY(!QFile::exists(QString::fromStdString(path)));
    }
}

QS_TEST(CaptureTest)
#include "capture_test.moc"
