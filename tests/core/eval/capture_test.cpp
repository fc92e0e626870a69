// SPDX-License-Identifier: GPL-3.0-or-later
// Captured inputs against those that hooks in transformers saw (tests/data/eval/make_imatrix.py), and against each other.
#include "core/analysis/input_errors.h"
#include "core/base/text.h"
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
    void sumsOfExpertsAreThoseOfTransformers_data();
    void sumsOfExpertsAreThoseOfTransformers();
    void anExpertFindsItsSums();
    void rowsOfExpertsAreTheirTokens();
    void rowsAndGramsGiveTheSameFigures();
    void everyChunkBeginsWithTheFirstToken();
    void rowsAreSpreadOverTheText();
    void solversTakeWhatIsCaptured();
    void matricesWithInputsFirstAreWeighedByInputs();
    void solversKeepTheOutputOfMatricesWithInputsFirst();
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
        for (const auto& row : entry["counts"]) calls = std::max(calls, std::ceil(row.get<double>() / kContext));
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
    const auto names = opened(folderOf(fused));
    std::size_t stacks = 0;
    for (const TensorInfo& tensor : names->tensors) {
        if (tensor.shape.size() != 3) continue;
        const TensorInfo* found = together.model()->find(tensor.name);
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
void CaptureTest::matricesWithInputsFirstAreWeighedByInputs() {
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

void CaptureTest::solversKeepTheOutputOfMatricesWithInputsFirst() {
    CapturePlan plan = planOf(QStringLiteral("gpt2"));
    plan.rows = 0;
    const Capture rows(QStringLiteral("gpt2"), "x.safetensors", "rows", plan);
    const auto model = opened(folderOf(QStringLiteral("gpt2"))), file = rows.model();
    for (const char* text : {"int4:block=16", "int4", "int4:axis=out", "int4:scale=tensor", "nf4:block=16"})
        for (const char* part : {"attn.c_proj", "mlp.c_fc", "mlp.c_proj"}) {
            const std::string name = std::string("transformer.h.1.") + part + ".weight";
            const TensorInfo& layer = *model->find(name);
            const QuantSpec spec = *parseSpec(text);
            const auto inputs = solve::inputsOf(file.get(), layer, 1 << 20);
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
