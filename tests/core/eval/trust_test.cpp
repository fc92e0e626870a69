// SPDX-License-Identifier: GPL-3.0-or-later
// Kendall's tau-b against values of scipy.stats.kendalltau (scipy 1.x), its interval, and which items are misjudged.
#include "core/eval/trust/trust_tables.h"
#include "tests/support/test_program.h"

#include <QtTest>

#include <cmath>

using namespace qs;
using namespace qs::eval;

class TrustTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void tauIsScipys();
    void intervalsCoverAndRepeat();
    void whatHasNoTau();
    void theMisjudgedIsNamed();
    void tablesOfTensorsAndSpecs();
};

void TrustTest::tauIsScipys() {
    const auto is = [](const std::vector<double>& x, const std::vector<double>& y, double expected) {
        const auto agreement = rankAgreement(x, y);
        return agreement && std::fabs(agreement->tau - expected) < 1e-14;
    };
    QVERIFY(is({1, 2, 3, 4, 5, 6, 7, 8}, {2, 1, 4, 3, 6, 5, 8, 7}, 0.7142857142857142));
    QVERIFY(is({1, 1, 2, 3, 3, 3, 4, 5, 6, 6}, {3, 1, 2, 2, 5, 5, 4, 9, 7, 7}, 0.6587325492402598));
    QVERIFY(is({0.5, 0.25, 0.125, 4, 4, 1}, {1, 2, 3, -1, -1, 0}, -1.0));
    std::vector<double> x, y, xTrend, yTrend;
    for (int i = 1; i <= 60; ++i) {
        x.push_back(i * i % 97), y.push_back(i * 37 % 101 % 23);
        xTrend.push_back(x.back() + i), yTrend.push_back(y.back() + 2 * i);
    }
    QVERIFY(is(x, y, -0.0898951955549905));
    QVERIFY(is(xTrend, yTrend, 0.46233183892980445));
}

void TrustTest::intervalsCoverAndRepeat() {
    std::vector<double> x, y;
    for (int i = 1; i <= 60; ++i) x.push_back(i * i % 97 + i), y.push_back(i * 37 % 101 % 23 + 2 * i);
    const auto first = rankAgreement(x, y), again = rankAgreement(x, y);
    QVERIFY(first && again);
    QCOMPARE(first->items, std::size_t(60));
    QCOMPARE(first->low, again->low);
    QCOMPARE(first->high, again->high);
    QVERIFY(first->low < first->tau && first->tau < first->high);
    // A normal approximation of the interval of 60 items at this tau is about +-0.15.
    QVERIFY2(first->high - first->low > 0.1 && first->high - first->low < 0.5,
             qPrintable(QString::number(first->high - first->low)));
    const auto same = rankAgreement(x, x);
    QVERIFY(same && same->tau == 1 && same->low == 1 && same->high == 1);
}

void TrustTest::whatHasNoTau() {
    const double nan = std::nan("");
    QVERIFY(!rankAgreement(std::vector<double>{1, 1, 1, 1}, std::vector<double>{1, 2, 3, 4}));
    QVERIFY(!rankAgreement(std::vector<double>{1, 2, 3}, std::vector<double>{1, 2, 3}));
    QVERIFY(!rankAgreement(std::vector<double>{1, 2, 3, nan}, std::vector<double>{1, 2, 3, 4}));
    const auto some = rankAgreement(std::vector<double>{1, 2, nan, 3, 4}, std::vector<double>{1, 2, 0, 3, 4});
    QVERIFY(some && some->items == 4 && some->tau == 1);
}

void TrustTest::theMisjudgedIsNamed() {
    TrustTable table;
    table.of = "tensors";
    for (int i = 0; i < 10; ++i) table.items.push_back("t" + std::to_string(i));
    table.proxies = {{"nmse", "NMSE", {1, 2, 3, 4, 100, 5, 6, 7, 8, 9}}};
    table.measured = {{"kld", "KL", {1, 2, 3, 4, 0, 5, 6, 7, 8, 9}}, {"flat", "Flat", std::vector<double>(10, 1)}};
    const auto rows = trustRows(table);
    QCOMPARE(rows.size(), std::size_t(2));
    QVERIFY(rows[0].agreement);
    QCOMPARE(rows[0].agreement->tau, 36.0 / 45 - 9.0 / 45); // nine pairs of 45 are wrong
    QCOMPARE(rows[0].misjudged.size(), std::size_t(1));
    QCOMPARE(rows[0].misjudged[0].item, std::size_t(4));
    QCOMPARE(rows[0].misjudged[0].share, 1.0);
    QCOMPARE(QString::fromStdString(rows[0].misjudgedNames), QStringLiteral("t4 (too high)"));
    QVERIFY(!rows[1].agreement && rows[1].misjudged.empty());
}

void TrustTest::tablesOfTensorsAndSpecs() {
    std::vector<SensitivityRow> rows;
    for (int i = 0; i < 6; ++i) {
        SensitivityRow alone;
        alone.unit = "t" + std::to_string(i), alone.spec = "nf4", alone.nmse = 0.01 * i;
        SensitivityRow spared = alone, other = alone;
        alone.divergence = Estimate{0.1 * i, {}, {}};
        spared.divergence = Estimate{9, {}, {}}, spared.gain = Estimate{-0.1 * i, {}, {}};
        other.spec = "int4";
        rows.insert(rows.end(), {alone, spared, other});
    }
    const auto table = tensorTrust(rows, "nf4");
    QCOMPARE(table.items.size(), std::size_t(6));
    QCOMPARE(table.proxies.size(), std::size_t(1)); // NMSE: nothing else is known
    QCOMPARE(table.measured.size(), std::size_t(2));
    QCOMPARE(table.measured[0].values[5], 0.5); // alone, not what is left without it
    const auto judged = trustRows(table);
    QVERIFY(judged[0].agreement && judged[0].agreement->tau == 1);
    QVERIFY(judged[1].agreement && judged[1].agreement->tau == -1);

    std::vector<EvaluationRow> specs;
    std::vector<SpecProxies> proxies;
    for (int i = 0; i < 5; ++i) {
        ScoreSummary summary;
        summary.divergence.mean = 0.1 * i, summary.sameTop.mean = 1 - 0.01 * i, summary.nllChange.mean = -0.1 * i;
        specs.push_back({"s" + std::to_string(i), summary, ""});
        proxies.push_back({specs.back().spec, 8.0 - i, 0.02 * i, {}, {}});
    }
    specs.push_back({"refused", {}, "why"});
    const auto over = specTrust(proxies, specs);
    QCOMPARE(over.items.size(), std::size_t(5));
    QCOMPARE(over.proxies.size(), std::size_t(2)); // NMSE and fewer bits
    const auto meter = trustRows(over);
    QCOMPARE(meter.size(), std::size_t(6));
    for (const auto& row : meter) QCOMPARE(row.agreement->tau, row.measuredTitle == "ln PPL ratio" ? -1.0 : 1.0);
}

QS_TEST(TrustTest)
#include "trust_test.moc"
