// SPDX-License-Identifier: GPL-3.0-or-later
// Captured inputs against those that hooks in transformers saw (tests/data/eval/make_imatrix.py), and against each other.
#include "core/analysis/input_errors.h"
#include "core/eval/capture/capture.h"
#include "core/eval/tokenizer/token_file.h"
#include "core/quant/encode/quantizer.h"
#include "core/solve/inputs.h"
#include "core/solve/solver.h"
#include "tests/support/test_program.h"

#include <QFile>
#include <QTemporaryDir>
#include <QtTest>

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

using namespace qs;
using namespace qs::eval;

namespace {

constexpr std::size_t kContext = 8;

std::string folderOf(const QString& family) { return "tests/data/eval/" + family.toStdString(); }

std::shared_ptr<const Model> opened(const std::string& path) {
    const auto model = openModel(path);
    if (!model) qFatal("%s", model.error().message.c_str());
    return *model;
}

CapturePlan planOf(const QString& family) {
    const auto tokens = readTokens(folderOf(family) + "/tokens.npy");
    if (!tokens) qFatal("%s", tokens.error().message.c_str());
    CapturePlan plan;
    plan.text = {"a text.txt", "0123", *tokens};
    plan.context = kContext;
    return plan;
}

nlohmann::json expectedOf(const QString& family) {
    QFile file(QString::fromStdString(folderOf(family) + "/imatrix.json"));
    if (!file.open(QIODevice::ReadOnly)) qFatal("no imatrix.json");
    return nlohmann::json::parse(file.readAll().toStdString());
}

QByteArray bytesOf(const std::string& path) {
    QFile file(QString::fromStdString(path));
    if (!file.open(QIODevice::ReadOnly)) qFatal("%s is missing", path.c_str());
    return file.readAll();
}

std::vector<float> valuesOf(const Model& model, const std::string& name) {
    const TensorInfo* tensor = model.find(name);
    if (!tensor) qFatal("%s is missing", name.c_str());
    std::vector<float> out(tensor->elements);
    loadF32(*model.view(*tensor), 0, out.size(), out.data());
    return out;
}

/// A capture of a family's network into a temporary file.
class Capture {
public:
    Capture(const QString& family, const char* file, const char* what = "", CapturePlan plan = {})
        : path_(dir_.filePath(QString::fromLatin1(file)).toStdString()) {
        if (plan.text.tokens.empty()) plan = planOf(family);
        const auto kind = captureKindOf(path_, what);
        if (!kind) qFatal("%s", kind.error().message.c_str());
        const auto done = (*kind)->write(opened(folderOf(family)), plan, path_, Job());
        if (!done) qFatal("%s", done.error().message.c_str());
        captured_ = *done;
    }
    const std::string& path() const { return path_; }
    const Captured& captured() const { return captured_; }
    std::shared_ptr<const Model> model() const { return opened(path_); }

private:
    QTemporaryDir dir_;
    std::string path_;
    Captured captured_;
};

} // namespace

class CaptureTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void importanceIsThatOfTransformers_data();
    void importanceIsThatOfTransformers();
    void ggufIsLaidOutAsLlamaCppsIs();
    void legacyFilesHoldMeansTimesCalls();
    void rowsAndGramsGiveTheSameFigures();
    void everyChunkBeginsWithTheFirstToken();
    void rowsAreSpreadOverTheText();
    void solversTakeWhatIsCaptured();
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
        TensorInfo byInputs = *layer; // GPT-2's matrices are [inputs, outputs]; weights are looked up by the last axis
        byInputs.shape = {1, std::int64_t(entry["sums"].size())};
        const auto weights = solve::columnWeightsOf(*importance, byInputs);
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
    // The first words of the file: magic, version 3, 42 tensors, 4 keys.
    const QByteArray bytes = bytesOf(capture.path());
    QCOMPARE(bytes.left(4), QByteArray("GGUF"));
    std::uint64_t counts[2];
    std::memcpy(counts, bytes.constData() + 8, sizeof counts);
    QCOMPARE(counts[0], std::uint64_t(42));
    QCOMPARE(counts[1], std::uint64_t(4));
    QCOMPARE(bytes.size() % 32, 0);
}

void CaptureTest::legacyFilesHoldMeansTimesCalls() {
    const Capture capture(QStringLiteral("llama"), "i.dat"), modern(QStringLiteral("llama"), "i.gguf");
    const QByteArray bytes = bytesOf(capture.path());
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
    for (std::size_t at = 0; at < written.text.tokens.size(); at += kContext)
        written.text.tokens[at] = *plan.text.first;
    const Capture with(QStringLiteral("llama"), "i.dat", "", plan),
        expected(QStringLiteral("llama"), "i.dat", "", written);
    QVERIFY(bytesOf(with.path()) == bytesOf(expected.path()));
    QVERIFY(bytesOf(with.path()) != bytesOf(without.path()));
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

void CaptureTest::solversTakeWhatIsCaptured() {
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
            const auto inputs = solve::inputsOf(file.get(), layer, 1 << 20, solver.needsRows);
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
