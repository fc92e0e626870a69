// SPDX-License-Identifier: GPL-3.0-or-later
// Results of the labs as texts of session files: all of it is restored, and impossible results are refused.
#include "core/session/kept_labs.h"

#include "core/solve/save.h"
#include "core/value/synthetic.h"
#include "tests/core/quant/made_model.h"
#include "tests/support/files.h"
#include "tests/support/test_program.h"

#include <QFile>
#include <nlohmann/json.hpp>

using namespace qs;
using namespace qs::test;

namespace {

constexpr std::int64_t kRows = 24, kColumns = 80;
const std::string kName = "layers.0.q_proj.weight";

} // namespace

class KeptLabsTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase();
    void training();
    void trainingOfTooManyWeights();
    void solutions_data();
    void solutions();
    void products();
    void operations();
    void refused_data();
    void refused();

private:
    value::Tensor weight() const { return {{kRows, kColumns}, valuesOf<float>(*model_, kName), DType::F32}; }
    KeptTraining trained(const char* spec, int steps,
                         const std::function<bool(const value::QatStep&)>& onStep = {}) const;
    KeptSolutions solved(const char* spec, const char* settings) const;
    KeptProducts multiplied() const;
    KeptOperations tried() const;
    std::string textOf(const QString& kind) const;
    QString problemOf(const QString& kind, const std::string& text) const;

    QTemporaryDir folder_;
    std::shared_ptr<const Model> model_;
    std::map<QString, std::string> texts_; ///< for each kind, a valid text
};

void KeptLabsTest::initTestCase() {
    model_ = opened(folder_, {made(kName, DType::F32, {kRows, kColumns}, normal(kRows * kColumns, 1)),
                              made("other", DType::F32, {kRows, kColumns + 1}, normal(kRows * (kColumns + 1), 2)),
                              made("ids", DType::I32, {kRows, kColumns}, std::vector<int>(kRows * kColumns))});
}

KeptTraining KeptLabsTest::trained(const char* text, int steps,
                                   const std::function<bool(const value::QatStep&)>& onStep) const {
    KeptTraining training{kName, *parseSpec(text), "x \"1\".npy", 32, steps, 0.005, {}};
    const auto spec = forTensor(training.spec, *model_->find(kName));
    const value::QatPlan plan{weight(), value::syntheticInputs(32, kColumns, 1), spec, steps, 0.005};
    auto result = value::trainQat(plan, Job{}, onStep);
    if (!result) qFatal("%s", result.error().message.c_str());
    training.result = std::move(*result);
    return training;
}

void KeptLabsTest::training() {
    for (const bool stopped : {false, true}) {
        const char* spec = stopped ? "int8:axis=out" : "nf4:block=16";
        const auto was = trained(spec, 6, [&](const value::QatStep& step) { return !stopped || step.step < 3; });
        const auto text = keptTraining(was);
        const auto back = trainingKept(text, *model_);
        QVERIFY2(back, back ? "" : back.error().message.c_str());
        const auto& is = **back;
        QCOMPARE(q(keptTraining(is)), q(text));
        QCOMPARE(is.tensor, was.tensor);
        QVERIFY(is.spec == was.spec && is.result.spec == was.result.spec);
        QVERIFY(is.inputs == was.inputs && is.rows == 32 && is.steps == 6 && is.rate == 0.005);
        QCOMPARE(is.result.curve.size(), std::size_t(stopped ? 4 : 7));
        for (std::size_t i = 0; i < is.result.curve.size(); ++i) {
            const auto &a = is.result.curve[i], &b = was.result.curve[i];
            QVERIFY(a.step == b.step && a.loss == b.loss && a.best == b.best);
        }
        QVERIFY(is.result.startLoss == was.result.startLoss && is.result.bestLoss == was.result.bestLoss);
        QCOMPARE(is.result.bestStep, was.result.bestStep);
        QVERIFY((stopped || is.result.bestStep > 0) && is.result.weightNmse == was.result.weightNmse);
        QCOMPARE(is.result.stopped, stopped);
        QVERIFY(is.result.latent.shape == was.result.latent.shape);
        QVERIFY(is.result.latent.values == was.result.latent.values);
        for (std::size_t n = 0; n < text.size(); n += text.size() / 9)
            QVERIFY(!trainingKept(text.substr(0, n), *model_));
    }
}

/// The curve and the figures are kept anyway.
void KeptLabsTest::trainingOfTooManyWeights() {
    auto was = trained("nf4:block=16", 2);
    was.result.latent.values.resize(kMostKeptFloats + 1);
    const auto back = trainingKept(keptTraining(was), *model_);
    QVERIFY2(back, back ? "" : back.error().message.c_str());
    QVERIFY((*back)->result.latent.values.empty());
    QCOMPARE((*back)->result.curve.size(), std::size_t(3));
    QVERIFY((*back)->result.weightNmse == was.result.weightNmse);
}

KeptSolutions KeptLabsTest::solved(const char* spec, const char* settings) const {
    KeptSolutions out{kName, *parseSpec(spec), {}, nullptr};
    const auto view = model_->view(*model_->find(kName));
    const auto how = solve::parseSettings(settings);
    const auto inputs = value::syntheticInputs(64, kColumns, 1);
    if (!view || !how) qFatal("no problem");
    const solve::Problem problem{*view, out.spec, *how, inputs};
    const auto solution = solve::solve(problem, Job{});
    if (!solution) return out; // the solver does not accept this spec
    out.rows = {solve::solveRowOf(problem, *solution, "synthetic, 64 × 80")};
    out.rows.push_back(out.rows.front());
    out.rows.front().output.reset();
    out.solved = solution->solved;
    return out;
}

void KeptLabsTest::solutions_data() {
    QTest::addColumn<QString>("spec");
    QTest::addColumn<QString>("settings");
    for (const char* spec : {"int4:block=32", "nf4:block=32", "nvfp4", "int4:sym=no:calib=hqq:block=16:scaletype=f16",
                             "int4:sym=no:block=16", "codebook:bits=3", "ternary:scale=channel", "int8:tile=0x8,1x16",
                             "int8:scale=tensor", "mxfp4", "q4_0"})
        for (const char* how : {"gptq", "gptq:order=act", "awq", "awq:clip=yes"})
            QTest::addRow("%s, %s", spec, how) << QString::fromLatin1(spec) << QString::fromLatin1(how);
}

/// What is read and written again must be equal byte by byte.
void KeptLabsTest::solutions() {
    QFETCH(QString, spec);
    QFETCH(QString, settings);
    const auto was = solved(spec.toLatin1(), settings.toLatin1());
    if (!was.solved) return;
    const auto text = keptSolutions(was);
    const auto back = solutionsKept(text, *model_);
    QVERIFY2(back, back ? "" : back.error().message.c_str());
    QCOMPARE(q(keptSolutions(**back)), q(text));
    QVERIFY((*back)->spec == was.spec && (*back)->tensor == kName);
    QCOMPARE((*back)->rows.size(), std::size_t(2));
    const auto &a = (*back)->rows[1], &b = was.rows[1];
    QVERIFY(!(*back)->rows[0].output && a.output == b.output && a.nearestWeight == b.nearestWeight);
    QVERIFY(a.solver == b.solver && a.inputs == b.inputs && a.remark == b.remark && a.seconds == b.seconds);
    QVERIFY((*back)->solved);
    const auto saved = [&](const KeptSolutions& one, const char* name) {
        const auto path = folder_.filePath(QString::fromLatin1(name));
        const auto written =
            solve::saveSolved(*model_, *model_->find(kName), one.spec, one.solved, path.toStdString(), Job{});
        if (!written) qFatal("%s", written.error().message.c_str());
        QFile file(path);
        return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
    };
    const auto before = saved(was, "before.safetensors");
    QVERIFY(before.size() > 100);
    QCOMPARE(saved(**back, "after.safetensors"), before);
}

KeptProducts KeptLabsTest::multiplied() const {
    KeptProducts out{kName,
                     *parseSpec("nf4:block=16"),
                     value::choicesOf(value::labPresets().front()),
                     16,
                     2,
                     8,
                     16,
                     "x.npy",
                     "",
                     "",
                     {},
                     {}};
    out.choices[0] = "nf4:block=7"; // refused: a row with a reason
    out.products = value::runLab(
        {value::syntheticInputs(16, kColumns, 1), weight(), value::syntheticGradients(16, kRows, 2), out.choices},
        Job{});
    out.cache = value::runKvCache(value::syntheticKv(2, 8, 16, 1), Job{});
    return out;
}

void KeptLabsTest::products() {
    auto was = multiplied();
    QVERIFY(was.products && was.cache && !was.products->front().error && was.products->at(1).error);
    for (const bool failed : {false, true}) {
        if (failed) was.cache = fail("K does not fit");
        const auto text = keptProducts(was);
        const auto back = productsKept(text, *model_);
        QVERIFY2(back, back ? "" : back.error().message.c_str());
        const auto& is = **back;
        QCOMPARE(q(keptProducts(is)), q(text));
        QVERIFY(is.choices == was.choices && is.activations == "x.npy" && is.gradients.empty() && is.dim == 16);
        QVERIFY(is.products && is.products->size() == 3);
        QVERIFY(!is.products->front().error && is.products->front().reason == was.products->front().reason);
        QVERIFY(is.products->at(1).error->nmse() == was.products->at(1).error->nmse());
        if (failed) QCOMPARE(q(is.cache.error().message), QStringLiteral("K does not fit"));
        if (failed) continue;
        QVERIFY(is.cache && is.cache->size() == was.cache->size());
        QVERIFY(is.cache->front().kl == was.cache->front().kl);
        QVERIFY(is.cache->front().bytesPerToken == was.cache->front().bytesPerToken);
    }
}

KeptOperations KeptLabsTest::tried() const {
    KeptOperations out{kName, *parseSpec("int8"), {}, {}};
    const auto subject = value::whatIfSubject(weight(), out.spec, Job{});
    for (const auto& operation : value::whatIfOperations()) {
        out.arguments.push_back(operation.initial({kRows, kColumns}));
        const auto rows = operation.run(*subject, out.arguments.back(), Job{});
        if (!rows) qFatal("%s", rows.error().message.c_str());
        out.rows.insert(out.rows.end(), rows->begin(), rows->end());
    }
    return out;
}

void KeptLabsTest::operations() {
    const auto was = tried();
    const auto text = keptOperations(was);
    const auto back = operationsKept(text, *model_);
    QVERIFY2(back, back ? "" : back.error().message.c_str());
    const auto& is = **back;
    QCOMPARE(q(keptOperations(is)), q(text));
    QVERIFY(is.arguments == was.arguments && is.rows.size() == was.rows.size() && is.rows.size() >= 6);
    for (std::size_t i = 0; i < is.rows.size(); ++i) {
        const auto &a = is.rows[i], &b = was.rows[i];
        QVERIFY(a.operation == b.operation && a.shape == b.shape && a.bytesPerDevice == b.bytesPerDevice);
        QVERIFY(a.caused.has_value() == b.caused.has_value() && a.devices == b.devices && a.note == b.note);
    }
}

std::string KeptLabsTest::textOf(const QString& kind) const {
    if (kind == u"training") return keptTraining(trained("nf4:block=16", 3));
    if (kind == u"zero points") return keptSolutions(solved("int4:sym=no:block=16", "gptq"));
    if (kind == u"codebook") return keptSolutions(solved("codebook:bits=3", "awq"));
    if (kind == u"products") return keptProducts(multiplied());
    return keptOperations(tried());
}

QString KeptLabsTest::problemOf(const QString& kind, const std::string& text) const {
    const auto said = [](const auto& result) { return result ? QString() : q(result.error().message); };
    if (kind == u"training") return said(trainingKept(text, *model_));
    if (kind == u"zero points" || kind == u"codebook") return said(solutionsKept(text, *model_));
    if (kind == u"products") return said(productsKept(text, *model_));
    return said(operationsKept(text, *model_));
}

void KeptLabsTest::refused_data() {
    QTest::addColumn<QString>("kind");
    QTest::addColumn<QString>("place"); // path in the JSON
    QTest::addColumn<QString>("value"); // new value there; empty: removed
    const auto row = [](const char* kind, const char* place, const std::string& value) {
        QTest::addRow("%s %s=%s", kind, place, value.substr(0, 20).c_str())
            << QString::fromLatin1(kind) << QString::fromLatin1(place) << QString::fromStdString(value);
    };
    const auto words = [](std::size_t n) { return '"' + std::string(n, 'x') + '"'; };
    for (const char* kind : {"training", "zero points", "products", "operations"}) {
        row(kind, "/tensor", "\"nowhere\"");
        row(kind, "/tensor", "");
        row(kind, "/spec", "\"int99\"");
        row(kind, "/spec", "7");
    }
    for (const char* kind : {"training", "zero points"})
        for (const char* other : {"\"other\"", "\"ids\""})
            row(kind, "/tensor", other); // tensors with another size or
                                         // another dtype
    for (const char* value : {"0", "-1", "2000000", "1e400", "2"}) row("training", "/steps", value);
    for (const char* value : {"0", "2000000"}) row("training", "/rows", value);
    for (const char* value : {"0", "1.5", "null", "-1"}) row("training", "/rate", value);
    for (const char* value : {"[]", "[0.5,null]", "[0.5,-1]", "[\"x\"]", "[1,1,1,1,1]", "7"})
        row("training", "/losses", value);
    row("training", "/weight_nmse", "-1");
    row("training", "/inputs", words(5000));
    for (const char* value : {"\"AAAA\"", "\"!\"", "7", ""}) row("training", "/latent", value);
    row("training", "/latent", '"' + std::string(kRows * kColumns * 4 / 3 * 4, '/') + '"'); // NaN

    for (const char* place : {"/solution/values", "/solution/params", "/solution/column_scales"})
        for (const char* value : {"\"AAAA\"", "7"}) row("zero points", place, value);
    row("zero points", "/solution/values", "\"\"");
    row("zero points", "/solution/values", '"' + std::string(kRows * kColumns * 4 / 3 * 4, '/') + '"'); // NaN
    const auto groups = std::size_t(kRows * kColumns / 16);
    // Scales that are NaN, and zero points that do not fit a byte (0xd9d9d9d9 as f32: -8e15).
    for (const char* three : {"////", "2dnZ"}) {
        std::string text;
        for (std::size_t i = 0; i < groups * 12 / 3; ++i) text += three;
        row("zero points", "/solution/params", '"' + text + '"');
    }
    row("zero points", "/solution/column_scales", '"' + std::string((kColumns * 4 + 2) / 3 * 4 - 1, 'A') + "=\""); // 0
    for (const char* value : {"0", "-1", "null", "1e39"}) row("zero points", "/solution/tensor_scale", value);
    row("zero points", "/solution/levels", "[0,1]"); // this spec learns no levels
    for (const char* value : {"[]", "[0,1]", "[0,1,2,3,4,5,6,5]", "[0,1,2,3,4,5,6,null]", "[0,1,2,3,4,5,6,7,8]"})
        row("codebook", "/solution/levels", value);
    for (const char* value : {"-1", "\"x\""}) row("zero points", "/rows/0/nearest_output", value);
    row("zero points", "/rows/0/seconds", "null");
    row("zero points", "/rows/0/solver", words(5000));
    row("zero points", "/rows", "[]");

    for (const char* place : {"/rows", "/heads", "/tokens", "/dim"})
        for (const char* value : {"0", "2000000", "-3"}) row("products", place, value);
    row("products", "/choices", "[\"keep\"]");
    row("products", "/choices/0", words(5000));
    row("products", "/activations", words(5000));
    row("products", "/cache/0/bytes_per_token", "null"); // a row with an error needs a size
    row("products", "/cache/0/bytes_per_token", "-1");
    row("products", "/cache/0/output/error", "-1");
    row("products", "/cache/0/output/power", "1e-320"); // the ratio overflows
    row("products", "/products/1/error", "[]");
    row("products", "/products/1/error/max_abs", "null");
    row("products", "/products/1/kernel", words(5000));

    row("operations", "/arguments", "[]");
    row("operations", "/arguments/0", words(5000));
    row("operations", "/rows/0/operation", "\"divide\"");
    row("operations", "/rows/0/shape", "[-1]");
    row("operations", "/rows/0/devices", "0");
    row("operations", "/rows/0/bytes_before", "18446744073709551615");
    row("operations", "/rows/0/before/power", "-1");
    row("operations", "/rows/0/detail", words(5000));
}

void KeptLabsTest::refused() {
    QFETCH(QString, kind);
    QFETCH(QString, place);
    QFETCH(QString, value);
    auto& text = texts_[kind];
    if (text.empty()) text = textOf(kind);
    QCOMPARE(problemOf(kind, text), QString());
    const nlohmann::json::json_pointer at(place.toStdString());
    auto object = nlohmann::json::parse(text);
    QVERIFY(object.contains(at));
    auto written = value.toStdString();
    if (written.empty()) {
        object.at(at.parent_pointer()).erase(at.back());
        written = object.dump();
    } else { // as text, because the JSON library cannot represent some of these numbers
        object[at] = "HERE";
        auto whole = object.dump();
        written = whole.replace(whole.find("\"HERE\""), 6, written);
    }
    QVERIFY(!problemOf(kind, written).isEmpty());
}

QS_TEST(KeptLabsTest)
#include "kept_labs_test.moc"
