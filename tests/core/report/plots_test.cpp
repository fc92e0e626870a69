// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/report/plot_style.h"
#include "tests/support/test_program.h"

#include <QRegularExpression>
#include <QTest>
#include <QXmlStreamReader>
#include <cmath>

using namespace qs;

namespace {

bool wellFormed(const std::string& svg, QString* why) {
    QXmlStreamReader xml(QByteArray::fromStdString(svg));
    while (!xml.atEnd()) xml.readNext();
    *why = xml.errorString();
    return !xml.hasError() && svg.starts_with("<svg");
}

} // namespace

class TestPlots : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void ticksAreFewAndRound() {
        for (const double low : {-1e9, -3.7, 0.0, 1e-7, 5.0, 19.89})
            for (const double width : {0.0, 1e-6, 0.3, 1.0, 7.0, 1e6}) {
                for (const bool widen : {false, true}) {
                    const auto ticks = roundTicks(low, low + width, 6, widen);
                    QVERIFY(ticks.values.size() >= 1 && ticks.values.size() <= 6);
                    QCOMPARE(ticks.values.size(), ticks.labels.size());
                    QVERIFY(ticks.low < ticks.high);
                    QVERIFY(ticks.low <= low + 1e-9 * std::fabs(low) &&
                            ticks.high >= low + width - 1e-9 * std::fabs(low + width));
                }
            }
        QCOMPARE(roundTicks(0, 10).labels.back(), std::string("10"));
        QVERIFY(roundTicks(std::nan(""), 1).low < roundTicks(std::nan(""), 1).high);
        const auto powers = powerTicks(1, 3e9);
        QVERIFY(powers.values.size() <= 6 && powers.high >= 3e9);
    }

    void viridisEnds() {
        QCOMPARE(viridis(0), std::string("#440154"));
        QCOMPARE(viridis(1), std::string("#fde725"));
        QCOMPARE(viridis(-5), viridis(0));
        QVERIFY(viridisIsDark(0) && !viridisIsDark(1));
    }

    void everyKindIsWellFormed_data() {
        QTest::addColumn<int>("kind");
        QTest::addColumn<bool>("empty");
        for (int kind = 0; kind < 4; ++kind)
            for (const bool empty : {false, true})
                QTest::addRow("%d %s", kind, empty ? "empty" : "full") << kind << empty;
    }
    void everyKindIsWellFormed() {
        QFETCH(int, kind);
        QFETCH(bool, empty);
        Plot plot;
        plot.kind = Plot::Kind(kind);
        plot.title = "a<b>&\"\x1b";
        plot.xTitle = "x dB", plot.yTitle = "y";
        if (!empty) {
            plot.series = {{"one", {0, 1, 2, 3}, {1, std::nan(""), 3, 100}}, {"two", {0, 1, 2, 3}, {0, 1, 1e9, -1}}};
            plot.verticals = {1, 2}, plot.verticalLabels = {"p50", "p<99"};
            if (plot.kind == Plot::Kind::HeatMap) {
                plot.rowLabels = {"q", "k"}, plot.categories = {"0", "1"};
                plot.cells = {1, std::nan(""), INFINITY, 4};
                plot.cellTitle = "SQNR dB";
            }
        }
        for (const bool logY : {false, true}) {
            plot.logY = logY;
            QString why;
            QVERIFY2(wellFormed(plotSvg(plot), &why), qPrintable(why));
        }
    }

    void heatMapSaysItsRangeUnitAndGaps() {
        Plot plot;
        plot.kind = Plot::Kind::HeatMap;
        plot.rowLabels = {"q"}, plot.categories = {"0", "1", "2"};
        plot.cells = {18.25, std::nan(""), 44.5};
        plot.cellTitle = "SQNR dB";
        const auto svg = plotSvg(plot);
        for (const char* text : {"18.25", "44.50", "SQNR dB", "hatched: not measured", "class=\"hatch\""})
            QVERIFY2(svg.find(text) != std::string::npos, text);
        plot.cells[1] = INFINITY; // there is no such tensor: neither hatched nor mentioned
        QVERIFY(plotSvg(plot).find("class=\"hatch\"") == std::string::npos);
    }

    /// As in the window, bright is worse, at either end of the scale.
    void brightIsWorse() {
        Plot plot;
        plot.kind = Plot::Kind::HeatMap;
        plot.rowLabels = {"q"}, plot.categories = {"0", "1"};
        plot.cells = {10, 40};
        const auto colours = [&plot] {
            QStringList out;
            const QRegularExpression cell(QStringLiteral("fill=\"(#[0-9a-f]{6})\"><title>"));
            const QString svg = QString::fromStdString(plotSvg(plot));
            for (auto at = cell.globalMatch(svg); at.hasNext();) out << at.next().captured(1);
            return out;
        };
        const QStringList errors = colours();
        QCOMPARE(errors.size(), 2);
        plot.lowIsGood = false;
        const QStringList ratios = colours();
        QCOMPARE(errors, QStringList(ratios.crbegin(), ratios.crend()));
        QVERIFY(plotSvg(plot).find("bright: worse") != std::string::npos);
    }

    void halfIsAsPlainAsDouble() {
        Plot plot;
        plot.kind = Plot::Kind::HeatMap;
        plot.rowLabels = {"q"}, plot.categories = {"0", "1", "2"};
        plot.cells = {0.05, 1, 4};
        plot.logY = true;
        const auto svg = plotSvg(plot);
        // From 1/20 to 20: full blue and white, but not full orange.
        for (const char* text : {">1/20<", ">20.00<", "fill=\"#1560cc\"", "fill=\"#f4f4f2\"", ">4.00<"})
            QVERIFY2(svg.find(text) != std::string::npos, text);
        QVERIFY(svg.find("fill=\"#b05414\"") == std::string::npos);
    }

    void scatterPrintsPowersAndNamesItsGuides() {
        Plot plot;
        plot.kind = Plot::Kind::Scatter;
        plot.xPowers = 2, plot.logY = true;
        plot.series = {{"cpu", {0, 2, 6}, {3, 20, 0}}, {"other", {0, 6}, {5, 900}}};
        plot.guides = {{"f32 roof", {0, 6}, {1000, 1000}}, {"i8 roof", {0, 6}, {1010, 1010}}};
        plot.verticals = {2}, plot.verticalLabels = {"from M = 4"};
        auto svg = plotSvg(plot);
        for (const char* text : {">1<", ">4<", ">64<", ">10<", ">1000<", ">f32 roof<", ">i8 roof<", ">from M = 4<"})
            QVERIFY2(svg.find(text) != std::string::npos, text);
        const auto count = [&](const std::string& what) {
            int found = 0;
            for (auto at = svg.find(what); at != std::string::npos; at = svg.find(what, at + 1)) ++found;
            return found;
        };
        QCOMPARE(count("<title>cpu</title>"), 2); // 0 has no logarithm
        QCOMPARE(count("class=\"thin"), 2);
        plot.joined = false;
        svg = plotSvg(plot);
        QCOMPARE(count("class=\"thin"), 0);
        QCOMPARE(count("<title>other</title>"), 2);
    }

    void namesOfManySeriesTakeMoreLines() {
        Plot plot;
        plot.kind = Plot::Kind::Lines;
        plot.yTitle = "y";
        for (int i = 0; i < 6; ++i) plot.series.push_back({"a name of some length", {0, 1}, {0, 1}});
        const std::string svg = plotSvg(plot, 400, 200);
        const QRegularExpression at(QStringLiteral("<text x=\"(-?[0-9.]+)\" y=\"(?:11|25|39|53)\\.0\" class=\"\">"));
        auto names = at.globalMatch(QString::fromStdString(svg));
        int found = 0;
        for (; names.hasNext(); ++found) QVERIFY(names.next().captured(1).toDouble() > 0);
        QCOMPARE(found, 6);
    }

    void missingBarIsSaid() {
        Plot plot;
        plot.kind = Plot::Kind::Bars;
        plot.categories = {"a", "b"};
        plot.series = {{"s", {}, {1, std::nan("")}}};
        QVERIFY(plotSvg(plot).find("not measured") != std::string::npos);
    }
};

QS_TEST(TestPlots)
#include "plots_test.moc"
