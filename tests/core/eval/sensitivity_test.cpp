// SPDX-License-Identifier: GPL-3.0-or-later
// Sensitivities of a small network, against evaluations of the same changed networks from the first layer on.
#include "core/eval/forward/hidden_states.h"
#include "core/eval/run/evaluate.h"
#include "core/eval/sensitivity/noise.h"
#include "core/quant/encode/quantizer.h"
#include "tests/core/eval/sensitivity_plans.h"
#include "tests/support/test_program.h"

#include <QFile>
#include <QProcess>
#include <QTemporaryDir>
#include <QtTest>

#include <bit>
#include <cmath>
#include <cstdio>

using namespace qs;
using namespace qs::eval;
using namespace qs::eval::test;

namespace {

constexpr double kClose = 1e-9; ///< relative: sums of the same scores in another order

/// The scores of a changed network from the first layer on.
ScoreSummary evaluated(WeightChange change, const std::shared_ptr<const Model>& model = network()) {
    EvaluationPlan plan;
    plan.text = text();
    plan.context = kContext, plan.chunks = kChunks;
    plan.changes.push_back(std::move(change));
    const auto result = evaluate(model, plan, Job());
    if (!result || !result->reasons.front().empty()) qFatal("not evaluated");
    return *summarize(result->scores.front());
}

/// What a sensitivity makes of a spec: values as a written file holds them.
WeightChange storedSpec(const QuantSpec& spec) { return quantizedAs(spec, {.asStored = true}); }

WeightChange within(WeightChange change, std::function<bool(const TensorInfo&)> touches) {
    change.touches = [all = change.touches, touches](const TensorInfo& t) { return all(t) && touches(t); };
    return change;
}

bool isInLayers(const TensorInfo& tensor) { return placeOf(tensor.name).layer >= 0; }

bool isInTwoLayers(const TensorInfo& tensor) {
    const int layer = placeOf(tensor.name).layer;
    return layer == 1 || layer == 3;
}

bool near(double a, double b) { return std::fabs(a - b) <= kClose * std::max(std::fabs(a), std::fabs(b)); }

QString hex(double x) { return QString::number(std::bit_cast<std::uint64_t>(x), 16); }
QString hex(const std::optional<double>& x) { return x ? hex(*x) : QStringLiteral("-"); }
QString hex(const std::optional<Estimate>& x) {
    return x ? hex(x->mean) + u',' + hex(x->independent) + u',' + hex(x->byChunk) : QStringLiteral("-");
}

/// All figures to the last bit, a line for each row.
QString figures(const Sensitivity& result) {
    QString out;
    for (const SensitivityRow& row : result.rows) {
        const QStringList words = {QString::fromStdString(row.unit),
                                   QString::fromStdString(row.spec),
                                   hex(row.nmse),
                                   hex(row.bend),
                                   QString::number(row.tokens),
                                   hex(row.divergence),
                                   hex(row.gain),
                                   hex(row.slope),
                                   hex(row.predicted),
                                   hex(row.outputNmse),
                                   hex(row.weightedNmse)};
        out += words.join(u' ') + u'\n';
    }
    return out;
}

SensitivityPlan smallPlan(const char* how) {
    auto plan = planOf(how, {"nf4:block=16"});
    plan.chunks = 2, plan.scope.takes = isInTwoLayers;
    return plan;
}

/// Prints the figures of each way to measure. The number of threads is read once in a process, so this is a program.
int printFigures(int, char**) {
    for (const SensitivityHow& how : sensitivityHows())
        std::fputs(qPrintable(figures(measured(smallPlan(how.id)))), stdout);
    return 0;
}

QString figuresWithThreads(const char* threads) {
    QProcess process;
    auto environment = QProcessEnvironment::systemEnvironment();
    environment.insert(QStringLiteral("QS_THREADS"), QString::fromLatin1(threads));
    process.setProcessEnvironment(environment);
    process.start(QCoreApplication::applicationFilePath(), {QStringLiteral("--sensitivity-figures")});
    if (!process.waitForFinished(qs::test::kWait) || process.exitCode() != 0) return {};
    return QString::fromLatin1(process.readAllStandardOutput());
}

} // namespace

class SensitivityTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void aloneIsAnEvaluationOfOneChange();
    void aLayoutMeansWhatItMeansInAnEvaluation();
    void sparedIsAnEvaluationOfAllOtherChanges();
    void rolesAndLayersCoverAllMatrices();
    void slopesAreKlOfNoise();
    void noiseHasItsSize();
    void nothingDependsOnMemoryOrCache_data();
    void nothingDependsOnMemoryOrCache();
    void nothingDependsOnThreads();
    void aStoppedMeasurementGoesOn();
    void runsEndWhenTheyAreCertain();
    void brokenRecordsAreMeasuredAgain();
    void badPlansAreRefused();
};

void SensitivityTest::aloneIsAnEvaluationOfOneChange() {
    auto plan = planOf("alone", {"nf4:block=16", "int8"});
    std::size_t arrived = 0;
    std::vector<SensitivityCost> costs;
    plan.arrived = [&](const SensitivityRow&) { ++arrived; };
    plan.expected = [&](const SensitivityCost& cost) {
        QCOMPARE(arrived, std::size_t(0));
        costs.push_back(cost);
    };
    const auto result = measured(plan);
    QCOMPARE(arrived, result.rows.size());
    QCOMPARE(costs.size(), std::size_t(1));
    QCOMPARE(costs[0].runs, result.rows.size());
    // 5 layers of 7 matrices with 2 specs: a change in layer l passes 5 - l layers; the embedding, which is the head too,
    // passes all. 3 chunks score 23 tokens each.
    QCOMPARE(costs[0].layerPasses, std::size_t(7 * 2 * 15 + 2 * 5));
    QVERIFY(costs[0].tokens == 3 * 48 && costs[0].scored == 3 * 23 && costs[0].seconds > 0);
    QCOMPARE(result.rows.size() % 2, std::size_t(0));
    QVERIFY(result.rows.size() >= 14);
    double sum = 0;
    for (const SensitivityRow& row : result.rows)
        if (row.spec == "nf4:block=16") sum += row.divergence->mean;
    for (const std::size_t i : {std::size_t(0), result.rows.size() / 2, result.rows.size() - 1}) {
        const SensitivityRow& row = result.rows[i];
        const auto expected = evaluated(
            within(storedSpec(*parseSpec(row.spec)), [&](const TensorInfo& t) { return t.name == row.unit; }));
        QVERIFY(near(row.divergence->mean, expected.divergence.mean));
        QVERIFY(near(*row.divergence->byChunk, *expected.divergence.byChunk));
        QVERIFY(near(*row.divergence->independent, *expected.divergence.independent));
        QVERIFY(near(row.nllChange->mean, expected.nllChange.mean));
        QCOMPARE(*row.largestDivergence, expected.largestDivergence);
        QCOMPARE(row.tokens, expected.tokens);
    }
    QCOMPARE(result.additivity.size(), std::size_t(2));
    const Additivity& added = result.additivity.front();
    QVERIFY(near(added.all->mean, evaluated(storedSpec(plan.specs.front())).divergence.mean));
    QVERIFY(near(added.sum, sum));
    QVERIFY(added.floor >= 0 && added.floor < 1e-3 * added.all->mean);
    QVERIFY(near(*added.ratio, (sum - double(added.units) * added.floor) / (added.all->mean - added.floor)));
}

/// The same matrices, values and bytes as of the file that the layout writes.
void SensitivityTest::aLayoutMeansWhatItMeansInAnEvaluation() {
    const auto model = network();
    const auto all = scopeOf(*model, {}, "llm-int8");
    QVERIFY(all);
    for (const TensorInfo& tensor : model->tensors) // bitsandbytes has no quantized embedding
        QCOMPARE(all->covers(tensor), tensor.isWeight() && tensor.role != TensorRole::Embedding);
    auto plan = planOf("alone", {"int8:dialect=bnb"});
    const std::vector<std::string> filters = {"layers\\.1\\..*(q_proj|down_proj)"};
    plan.scope = *scopeOf(*model, filters, "llm-int8");
    const auto result = sensitivity(model, plan, Job());
    QVERIFY2(result, result ? "" : result.error().message.c_str());
    QCOMPARE(result->rows.size(), std::size_t(2));
    for (const SensitivityRow& row : result->rows) {
        QVERIFY2(row.divergence, row.reason.c_str());
        std::vector<WeightChange> changes = {quantizedAs(plan.specs[0], *scopeOf(*model, {row.unit}, "llm-int8"))};
        QVERIFY(measureSizes(*model, changes, Job()));
        QCOMPARE(row.size->bytes, changes[0].size->bytes);
        QVERIFY(near(row.divergence->mean, evaluated(changes[0], model).divergence.mean));
        const auto otherwise = evaluated(quantizedAs(plan.specs[0], *scopeOf(*model, {row.unit}, "")), model);
        QVERIFY(!near(row.divergence->mean, otherwise.divergence.mean)); // f32 there, not the type of the source
    }
}

void SensitivityTest::sparedIsAnEvaluationOfAllOtherChanges() {
    const auto result = measured(planOf("spared", {"nf4:block=16"}));
    const QuantSpec spec = *parseSpec("nf4:block=16");
    const auto all = evaluated(storedSpec(spec));
    for (const std::size_t i : {std::size_t(0), std::size_t(1), result.rows.size() - 1}) {
        const SensitivityRow& row = result.rows[i];
        const auto expected =
            evaluated(within(storedSpec(spec), [&](const TensorInfo& t) { return t.name != row.unit; }));
        QVERIFY(near(row.divergence->mean, expected.divergence.mean));
        QVERIFY(std::fabs(row.gain->mean - (all.divergence.mean - expected.divergence.mean)) < 1e-12);
        QVERIFY(*row.gain->byChunk > 0);
    }
}

void SensitivityTest::rolesAndLayersCoverAllMatrices() {
    std::size_t matrices = 0;
    for (const Grouping& by : groupings()) {
        auto plan = planOf("alone", {"int8"});
        plan.by = &by;
        const auto result = measured(plan);
        std::size_t tensors = 0;
        for (const SensitivityRow& row : result.rows) tensors += row.tensors.size();
        if (by.id == std::string_view("tensor")) matrices = tensors;
        QCOMPARE(tensors, matrices);
        const SensitivityRow& last = result.rows.back();
        const auto expected = evaluated(within(storedSpec(plan.specs.front()), [&](const TensorInfo& t) {
            return std::find(last.tensors.begin(), last.tensors.end(), t.name) != last.tensors.end();
        }));
        QVERIFY(near(last.divergence->mean, expected.divergence.mean));
    }
}

void SensitivityTest::slopesAreKlOfNoise() {
    const auto result = measured(planOf("slope", {"nf4:block=16"}));
    const SensitivityRow& row = result.rows.front();
    const auto touches = [&](const TensorInfo& t) { return t.name == row.unit; };
    const double small = evaluated(within(withNoise(0.0025), touches)).divergence.mean;
    const double large = evaluated(within(withNoise(0.01), touches)).divergence.mean;
    const double slope = (0.0025 * small + 0.01 * large) / (0.0025 * 0.0025 + 0.01 * 0.01);
    QVERIFY(near(row.slope->mean, slope));
    QVERIFY(near(*row.bend, large / 0.01 / (small / 0.0025)));
    QVERIFY(near(row.predicted->mean, slope * *row.nmse));
    QVERIFY(*row.slope->byChunk > 0);
    // Predictions say something of what is measured: within a factor of 3 for nearly all tensors.
    const auto alone = measured(planOf("alone", {"nf4:block=16"}));
    std::size_t close = 0;
    for (std::size_t i = 0; i < alone.rows.size(); ++i) {
        QCOMPARE(alone.rows[i].unit, result.rows[i].unit);
        const double ratio = result.rows[i].predicted->mean / alone.rows[i].divergence->mean;
        close += ratio > 1.0 / 3 && ratio < 3;
    }
    QVERIFY2(close * 10 >= alone.rows.size() * 8, qPrintable(QString::number(close)));
}

void SensitivityTest::noiseHasItsSize() {
    const auto model = network();
    for (const TensorInfo& tensor : model->tensors) {
        if (!isInLayers(tensor) || tensor.shape.size() != 2) continue;
        const auto sums = squaredError(tensor, *model->view(tensor), withNoise(0.01), Job());
        QVERIFY(sums);
        QVERIFY(std::fabs(sums->error / sums->power / 0.01 - 1) < 1e-4);
    }
}

void SensitivityTest::nothingDependsOnMemoryOrCache_data() {
    QTest::addColumn<QString>("how");
    for (const SensitivityHow& how : sensitivityHows()) QTest::newRow(how.id) << QString::fromLatin1(how.id);
}

void SensitivityTest::nothingDependsOnMemoryOrCache() {
    QFETCH(QString, how);
    auto plan = smallPlan(how.toLatin1().constData());
    const QString expected = figures(measured(plan));
    plan.memory = 1; // one run at a time, borders in a file
    QCOMPARE(figures(measured(plan)), expected);
    QTemporaryDir folder;
    plan.cache = folder.filePath(QStringLiteral("runs")).toStdString();
    const auto first = measured(plan), second = measured(plan);
    QCOMPARE(figures(first), expected);
    QCOMPARE(figures(second), expected);
    QCOMPARE(second.runs, std::size_t(0));
    QCOMPARE(second.keptRuns, first.runs + first.keptRuns);
    plan.chunks = 1; // other tokens: nothing that was kept is taken
    const auto other = measured(plan);
    QCOMPARE(other.runs, first.runs);
}

void SensitivityTest::nothingDependsOnThreads() {
    const QString one = figuresWithThreads("1");
    QVERIFY2(one.count(u'\n') > 40, qPrintable(one));
    QCOMPARE(figuresWithThreads("3"), one);
}

void SensitivityTest::aStoppedMeasurementGoesOn() {
    auto plan = planOf("alone", {"nf4:block=16"});
    plan.chunks = 2, plan.memory = 1, plan.scope.takes = isInTwoLayers;
    const auto expected = measured(plan);
    QTemporaryDir folder;
    plan.cache = folder.path().toStdString();
    const Job job;
    std::size_t rows = 0;
    plan.arrived = [&](const SensitivityRow&) {
        if (++rows == 5) job.cancel();
    };
    const auto stopped = sensitivity(network(), plan, job);
    QVERIFY(!stopped && stopped.error().cancelled);
    plan.arrived = {};
    const auto rest = measured(plan);
    QVERIFY(rest.keptRuns >= 5);
    QCOMPARE(rest.runs + rest.keptRuns, expected.runs + expected.keptRuns);
    QCOMPARE(figures(rest), figures(expected));
}

void SensitivityTest::runsEndWhenTheyAreCertain() {
    auto plan = planOf("alone", {"nf4:block=16"});
    plan.context = kContext / 4, plan.chunks = 3 * kChunksToEnd, plan.scope.takes = isInTwoLayers;
    const auto whole = measured(plan);
    QCOMPARE(whole.endedRuns, std::size_t(0));
    plan.until = 1e-9; // never reached
    QCOMPARE(figures(measured(plan)), figures(whole));
    QTemporaryDir folder;
    plan.cache = folder.path().toStdString();
    plan.until = 1; // after the first look
    const auto ended = measured(plan);
    QVERIFY(ended.endedRuns > 0);
    plan.chunks = kChunksToEnd, plan.until = 0, plan.cache.clear();
    const auto few = measured(plan);
    for (std::size_t i = 0; i < ended.rows.size(); ++i) {
        const auto& row = ended.rows[i];
        QVERIFY(row.divergence && row.divergence->byChunk);
        if (*row.divergence->byChunk > row.divergence->mean) continue; // it went on
        QCOMPARE(row.tokens, few.rows[i].tokens);
        QCOMPARE(row.divergence->mean, few.rows[i].divergence->mean);
    }
    plan.chunks = 3 * kChunksToEnd, plan.cache = folder.path().toStdString();
    QCOMPARE(figures(measured(plan)), figures(whole)); // runs that ended are not taken for whole ones
    plan.until = 1;
    QCOMPARE(measured(plan).runs, std::size_t(0));
}

void SensitivityTest::brokenRecordsAreMeasuredAgain() {
    auto plan = planOf("alone", {"int8"});
    plan.chunks = 1;
    QTemporaryDir folder;
    plan.cache = folder.path().toStdString();
    const auto expected = measured(plan);
    const QStringList names = QDir(folder.path()).entryList(QDir::Files);
    QCOMPARE(names.size(), 1);
    QFile file(folder.filePath(names.front()));
    QVERIFY(file.open(QIODevice::ReadWrite));
    QByteArray bytes = file.readAll();
    bytes[100] = bytes[100] == '0' ? '1' : '0'; // a number of the first line
    bytes.chop(20);                             // the last line is torn
    bytes = "nonsense\n" + bytes;
    QVERIFY(file.resize(0) && file.seek(0) && file.write(bytes) == bytes.size());
    file.close();
    const auto again = measured(plan);
    QCOMPARE(again.runs, std::size_t(2));
    QCOMPARE(figures(again), figures(expected));
    QCOMPARE(measured(plan).runs, std::size_t(0)); // nothing was appended to the torn line
}

void SensitivityTest::badPlansAreRefused() {
    auto plan = planOf("alone", {});
    auto refused = sensitivity(network(), plan, Job());
    QVERIFY(!refused && QString::fromStdString(refused.error().message).contains(QLatin1String("--spec")));
    plan = planOf("alone", {"int8"});
    plan.scope.takes = [](const TensorInfo&) { return false; };
    refused = sensitivity(network(), plan, Job());
    QVERIFY(!refused && QString::fromStdString(refused.error().message).contains(QLatin1String("--tensor")));
    plan = planOf("alone", {"int8"});
    plan.text.tokens.resize(kContext - 1);
    refused = sensitivity(network(), plan, Job());
    QVERIFY(!refused && QString::fromStdString(refused.error().message).contains(QLatin1String("needs at least 48")));
    plan = planOf("alone", {"int8"});
    plan.cache = "/proc/none/here";
    refused = sensitivity(network(), plan, Job());
    QVERIFY(!refused && QString::fromStdString(refused.error().message).contains(QLatin1String("--cache")));
    // A spec that no matrix takes is a row with its reason.
    plan = planOf("alone", {"q4_k", "int8"});
    const auto rows = measured(plan).rows;
    std::size_t reasons = 0;
    for (const SensitivityRow& row : rows) {
        reasons += row.reason.empty() ? 0 : 1;
        QVERIFY(row.reason.empty() || row.spec == "q4_k");
    }
    QVERIFY(reasons > 0);
}

QS_TEST(SensitivityTest)
QS_OTHER_MAIN("--sensitivity-figures", printFigures)
#include "sensitivity_test.moc"
