// SPDX-License-Identifier: GPL-3.0-or-later
// The report of a real analysis of a golden file, with one refused tensor.
#include "core/analysis/analysis_report.h"
#include "tests/support/test_program.h"

#include <QTest>
#include <algorithm>

using namespace qs;

namespace {

struct Analysed {
    AnalysisPlan plan;
    AnalysisResult result;
};

Analysed analysed(const std::vector<std::string>& specs) {
    Analysed a;
    auto model = openModel(QS_TEST_DATA "/golden/normal.safetensors");
    if (!model) return a;
    a.plan.model = *model;
    for (const auto& tensor : (*model)->tensors)
        if (tensor.isWeight()) a.plan.tensors.push_back(&tensor);
    for (const auto& text : specs) a.plan.specs.emplace_back(text, *parseSpec(text));
    if (auto result = analyse(a.plan, {})) a.result = *result;
    return a;
}

const Section* sectionOf(const Report& report, std::string_view title) {
    for (const auto& section : report.sections)
        if (section.title == title) return &section;
    return nullptr;
}

} // namespace

class TestAnalysisReport : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void holdsWhatTheRowsSay() {
        const auto a = analysed({"nf4:block=64", "int8"});
        QVERIFY(!a.result.rows.empty());
        const auto report = analysisReport(a.plan, a.result, {}, "the command");
        QVERIFY2(report, report ? "" : report.error().message.c_str());
        const std::size_t leftOut = a.plan.specs.size() * a.plan.model->undecoded.size(); // refused rows of these layers
        QCOMPARE(report->data.rows.size(), a.result.rows.size() + leftOut);
        QCOMPARE(report->data.columns.size(), analysisColumns().size());
        const auto* summary = sectionOf(*report, "Summary");
        QVERIFY(summary && summary->brief);
        QCOMPARE(summary->cards.rows.size(), std::size_t(2));
        const auto* worst = sectionOf(*report, "Worst tensors");
        QVERIFY(worst && worst->plots.size() == 2 && worst->tables.size() == 1);
        // Titles and units come from the registry.
        const auto* nmse = findMetric("nmse");
        QVERIFY(worst->plots[0].xTitle.find(nmse->title) != std::string::npos);
        for (const auto& section : report->sections)
            if (!section.plots.empty() && section.title != "Codes")
                QVERIFY2((section.note + section.text).find("a screening proxy, not accuracy") != std::string::npos,
                         section.title.c_str());
        QVERIFY(sectionOf(*report, "Codes")->plots.size() == 4);
    }

    void everyErrorIsInItsPlots() {
        auto a = analysed({"nf4:block=64", "int8"});
        const auto report = analysisReport(a.plan, a.result, {}, "the command");
        QVERIFY(report);
        const auto* errors = sectionOf(*report, "Errors");
        QVERIFY(errors && errors->plots.size() == 4);
        for (const auto& plot : errors->plots) {
            QVERIFY(plot.symlogX.on());
            QVERIFY(!plot.xTitle.empty() && plot.yTitle.find('%') != std::string::npos);
            const auto& series = plot.series.front();
            double sum = 0;
            for (const double y : series.y) sum += y;
            const double all = plot.kind == Plot::Kind::Area ? sum : series.y.back();
            QVERIFY2(std::abs(all - 100) < 1e-6, plot.title.c_str());
            QVERIFY(plotSvg(plot).find(">0<") != std::string::npos); // 0 is in the middle of the axis
        }
        // Rows do not keep histograms. Without the pooled histograms the report has no such section.
        a.result.pooled.clear();
        const auto without = analysisReport(a.plan, a.result, {}, "the command");
        QVERIFY(without && !sectionOf(*without, "Errors"));
    }

    void rankingIsWorstFirst() {
        const auto a = analysed({"nf4:block=64"});
        const auto report = analysisReport(a.plan, a.result, {}, {});
        const auto& bars = sectionOf(*report, "Worst tensors")->plots.at(0).series.at(0).y;
        QVERIFY(std::is_sorted(bars.rbegin(), bars.rend()));
        QCOMPARE(bars.front(), *findMetric("nmse")->value(**std::max_element(
                                   a.result.rows.begin(), a.result.rows.end(), [](const auto& x, const auto& y) {
                                       return *findMetric("nmse")->value(*x) < *findMetric("nmse")->value(*y);
                                   })));
    }

    void provenanceNamesTheInput() {
        const auto a = analysed({"nf4:block=64"});
        const auto report = analysisReport(a.plan, a.result, {}, "the command");
        const auto find = [&](std::string_view key) -> std::string {
            for (const auto& [k, v] : report->provenance)
                if (k == key) return v;
            return "(none)";
        };
        QCOMPARE(find("input_sha256"), *sha256OfFile(QS_TEST_DATA "/golden/normal.safetensors"));
        QCOMPARE(find("command_line"), std::string("the command"));
        QVERIFY(find("specs").find(canonicalText(a.plan.specs[0].second)) != std::string::npos);
        QVERIFY(find("seeds") != "(none)");
    }

    void exactReconstructionHasNoErrorPlots() {
        const auto a = analysed({"f32"});
        const auto report = analysisReport(a.plan, a.result, {}, {});
        QVERIFY(report.has_value());
        QVERIFY(!sectionOf(*report, "Codes"));
        const auto* worst = sectionOf(*report, "Worst tensors");
        QVERIFY(worst && worst->plots.empty());
        for (const auto& writer : reportWriters()) QVERIFY(writer.render(*report).has_value());
    }

    void contentsAreChosen() {
        const auto a = analysed({"nf4:block=64"});
        const auto report = analysisReport(a.plan, a.result, {true, false, false, false, false, false}, {});
        const std::size_t leftOut = a.plan.model->undecoded.size();
        QCOMPARE(report->sections.size(), std::size_t(leftOut > 0 ? 2 : 1));
        QCOMPARE(report->data.rows.size(), a.result.rows.size() + leftOut);
    }
};

QS_TEST(TestAnalysisReport)
#include "analysis_report_test.moc"
