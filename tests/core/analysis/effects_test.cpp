// SPDX-License-Identifier: GPL-3.0-or-later
// What is known of the model's output stands beside the figures of the weights, and proxies are held against it.
#include "core/analysis/analysis_report.h"
#include "core/analysis/proxy_trust.h"
#include "core/analysis/sweep/sweep.h"
#include "tests/support/files.h"
#include "tests/support/test_program.h"

#include <QtTest>

#include <cmath>

using namespace qs;
using namespace qs::test;

namespace {

constexpr const char* kSample = "resources/samples/tiny-llama";

AnalysisRow rowOf(int i, double nmse) {
    auto row = std::make_shared<TensorAnalysis>();
    row->tensor = "t" + std::to_string(i), row->elements = 10;
    row->spec = *parseSpec("nf4:block=64"), row->specAsTyped = "nf4:block=64";
    row->sums.n = 10, row->sums.sw2 = 1, row->sums.se2 = nmse;
    return row;
}

double valueOf(const char* metric, const AnalysisRow& row) {
    return findMetric(metric)->value(*row).value_or(std::nan(""));
}

} // namespace

class EffectsTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void figuresOfSpecsAndOfAllSpecs();
    void aRowTakesAndLosesThem();
    void proxiesCarryTheirTrust();
    void whatIsNotMeasuredIsSaid();
    void analysesAndSweepsShowThem();
};

void EffectsTest::figuresOfSpecsAndOfAllSpecs() {
    OutputEffects effects;
    QVERIFY(effects.empty());
    OutputEffect alone, slope;
    alone.alone = OutputFigure{0.5, 0.1}, slope.slope = OutputFigure{3, 0.5};
    effects.add("t0", canonicalText(*parseSpec("nf4:block=64")), alone);
    effects.add("t0", "", slope);
    const auto own = effects.of("t0", *parseSpec("nf4")); // the same spec in other words
    QVERIFY(own && own->alone && own->slope);
    QCOMPARE(own->alone->mean, 0.5);
    const auto other = effects.of("t0", *parseSpec("int8"));
    QVERIFY(other && !other->alone && other->slope);
    QVERIFY(!effects.of("t1", *parseSpec("int8")));
}

void EffectsTest::aRowTakesAndLosesThem() {
    OutputEffects effects;
    OutputEffect alone, slope;
    alone.alone = OutputFigure{0.5, 0.1}, slope.slope = OutputFigure{3, 0.5};
    effects.add("t0", canonicalText(*parseSpec("nf4:block=64")), alone);
    effects.add("t0", "", slope);
    const auto plain = rowOf(0, 0.01), with = withEffect(plain, &effects);
    QVERIFY(std::isnan(valueOf("kl_alone", plain)));
    QVERIFY(q(findMetric("kl_alone")->whyMissing(*plain)).contains(u"Evidence"));
    QCOMPARE(valueOf("kl_alone", with), 0.5);
    QCOMPARE(*findMetric("kl_alone")->error(*with), 0.1);
    QCOMPARE(valueOf("kl_predicted", with), 3 * 0.01);
    QCOMPARE(*findMetric("kl_predicted")->error(*with), 0.5 * 0.01);
    QVERIFY(std::isnan(valueOf("kl_saved", with)) && std::isnan(valueOf("kl_imported", with)));
    QCOMPARE(withEffect(rowOf(1, 0.01), &effects)->onOutput, nullptr);
    QVERIFY(std::isnan(valueOf("kl_alone", withEffect(with, nullptr))));
    QCOMPARE(withEffect(plain, nullptr), plain); // nothing changes: no copy
}

void EffectsTest::proxiesCarryTheirTrust() {
    OutputEffects effects;
    std::vector<AnalysisRow> rows;
    for (int i = 0; i < 8; ++i) {
        OutputEffect effect;
        effect.alone = OutputFigure{i == 7 ? 0.0 : 0.1 * (i + 1), {}}; // the last one is not as the weights say
        effects.add("t" + std::to_string(i), "", effect);
        rows.push_back(withEffect(rowOf(i, 0.01 * (i + 1)), &effects));
    }
    const auto nmse = proxyTrust(*findMetric("nmse"), rows), sqnr = proxyTrust(*findMetric("sqnr_db"), rows);
    QVERIFY(nmse && sqnr);
    QCOMPARE(nmse->agreement.items, std::size_t(8));
    QCOMPARE(nmse->agreement.tau, 1 - 2 * 7.0 / 28);
    QCOMPARE(sqnr->agreement.tau, nmse->agreement.tau); // higher is better: the same order
    QCOMPARE(nmse->misjudged, std::vector<std::string>{"t7"});
    const std::string remark = proxyRemark(*findMetric("nmse"), rows, true);
    QVERIFY2(q(remark).contains(u"NMSE ranks 8 tensors as KL alone does with Kendall's tau 0.50 ["), remark.c_str());
    QVERIFY2(q(remark).contains(u"it misjudges \"t7\""), remark.c_str());
    QVERIFY(!proxyTrust(*findMetric("kl_alone"), rows)); // no proxy
    QVERIFY(!proxyTrust(*findMetric("bias"), rows));     // no direction
}

void EffectsTest::whatIsNotMeasuredIsSaid() {
    const std::vector<AnalysisRow> rows = {rowOf(0, 0.1), rowOf(1, 0.2)};
    QVERIFY(q(proxyRemark(*findMetric("nmse"), rows)).endsWith(u"is not measured."));
    QVERIFY(q(proxyRemark(*findMetric("kl_predicted"), std::nullopt)).startsWith(u"KL predicted: an estimate"));
    QVERIFY(proxyRemark(*findMetric("kl_alone"), std::nullopt).empty());
    QVERIFY(proxyRemark(*findMetric("kurtosis"), std::nullopt).empty());
}

void EffectsTest::analysesAndSweepsShowThem() {
    const auto model = openModel(kSample);
    QVERIFY(model);
    auto effects = std::make_shared<OutputEffects>();
    std::vector<const TensorInfo*> tensors;
    int i = 0;
    for (const TensorInfo& tensor : (*model)->tensors) {
        if (!QString::fromStdString(tensor.name).contains(u"k_proj") || tensor.shape.size() != 2) continue;
        OutputEffect alone, slope;
        alone.alone = OutputFigure{0.01 * ++i, 0.001}, slope.slope = OutputFigure{2, 0.1};
        effects->add(tensor.name, canonicalText(*parseSpec("int4:block=32")), alone);
        effects->add(tensor.name, "", slope);
        tensors.push_back(&tensor);
    }
    QCOMPARE(tensors.size(), std::size_t(8));
    effects->addModel(canonicalText(*parseSpec("int4:block=32")), {0.7, 0.01});
    AnalysisPlan plan{*model, tensors, {{"int4:block=32", *parseSpec("int4:block=32")}}, {}};
    plan.options.effects = effects;
    const auto result = analyse(plan, Job());
    QVERIFY(result);
    QCOMPARE(valueOf("kl_alone", result->rows[2]), 0.03);
    const auto report = analysisReport(plan, *result, {}, "");
    QVERIFY(report);
    QVERIFY2(q(report->sections[0].note).contains(u"Kendall's tau"), report->sections[0].note.c_str());
    QCOMPARE(q(report->sections[1].title), QStringLiteral("Effect on the output"));
    QCOMPARE(report->sections[1].tables.size(), std::size_t(2));
    QVERIFY(!report->sections[1].plots.empty());

    const auto specs = sweepSpecs({"int4:block=32", "int8:block=32"}, {});
    QVERIFY(specs);
    const auto sweep = runSweep({*model, tensors, *specs, DecodedAs::F32, effects}, Job());
    QVERIFY(sweep);
    const SweepPoint &four = sweep->at(0, 0), &eight = sweep->at(0, 1);
    QVERIFY(std::fabs(four.whole(four.alone)->mean - 0.36) < 1e-12);
    QVERIFY(std::fabs(*four.whole(four.alone)->error - 0.008) < 1e-12);
    QCOMPARE(four.modelKl->mean, 0.7);
    QVERIFY(!eight.whole(eight.alone) && !eight.modelKl); // not measured under int8: not 0
    QVERIFY(eight.whole(eight.predicted)->mean < four.whole(four.predicted)->mean);
    QVERIFY(q(sweepRemark(*sweep)).endsWith(u"is not measured."));
}

QS_TEST(EffectsTest)
#include "effects_test.moc"
