// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/analysis/histogram.h"
#include "core/base/symlog.h"
#include "tests/support/test_program.h"

#include <QtTest>
#include <algorithm>
#include <numeric>
#include <random>

using namespace qs;

class HistogramTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void percentilesAgainstSorting();
    void linearLosesNothing();
    void binnedAgreesWithLinear();
    void symlogPlacesAndComesBack();
};

namespace {

FloatHistogram histogramOf(const std::vector<float>& values) {
    std::vector<std::uint32_t> bins(kFloatBins);
    scalarKernels().floatBins(values.data(), values.size(), bins.data());
    FloatHistogram histogram;
    histogram.add(bins);
    return histogram;
}

} // namespace

void HistogramTest::percentilesAgainstSorting() {
    std::mt19937 random(3);
    std::normal_distribution<float> normal(0, 0.1f);
    std::vector<float> values(20000);
    for (float& value : values) value = normal(random);
    const FloatHistogram histogram = histogramOf(values);
    QCOMPARE(histogram.total(), std::uint64_t(values.size()));
    for (float& value : values) value = std::fabs(value);
    std::sort(values.begin(), values.end());
    for (const double percent : {1.0, 50.0, 95.0, 99.0, 100.0}) {
        const double exact =
            double(values[std::min(values.size() - 1, std::size_t(percent / 100 * double(values.size())))]);
        QVERIFY(std::fabs(histogram.absPercentile(percent) - exact) <= exact / 32);
    }
    QCOMPARE(histogramOf({0, 0, -0.0f}).absPercentile(50), 0.0);
}

void HistogramTest::linearLosesNothing() {
    const FloatHistogram histogram = histogramOf({-8, -1, -0.5f, 0, 0.25f, 1.5f, 100});
    const auto linear = histogram.linear(-2, 2, 64);
    const double inside = std::accumulate(linear.counts.begin(), linear.counts.end(), 0.0);
    QVERIFY(std::fabs(inside - 5) < 1e-9);
    QCOMPARE(linear.below, 1.0);
    QCOMPARE(linear.above, 1.0);
    QVERIFY(histogram.minimum() <= -8 && histogram.minimum() > -8.3);
    QVERIFY(histogram.maximum() >= 100 && histogram.maximum() < 104);
}

void HistogramTest::binnedAgreesWithLinear() {
    const FloatHistogram histogram = histogramOf({-8, -1, -0.5f, 0, 0.25f, 1.5f, 100});
    const auto linear = histogram.linear(-2, 2, 16);
    std::vector<double> edges;
    for (int i = 0; i <= 16; ++i) edges.push_back(-2 + i * 0.25);
    const auto binned = histogram.binned(edges);
    QCOMPARE(binned.counts.size(), linear.counts.size());
    for (std::size_t i = 0; i < binned.counts.size(); ++i)
        QVERIFY(std::fabs(binned.counts[i] - linear.counts[i]) < 1e-9);
    QCOMPARE(binned.below, 1.0);
    QCOMPARE(binned.above, 1.0);
}

void HistogramTest::symlogPlacesAndComesBack() {
    const auto axis = SymlogAxis::ofErrors(1.7e-4, 0.02);
    QCOMPARE(axis.linear, 1e-4);
    for (const double value : {0.0, 1e-7, -3e-5, 1e-4, -0.01, 0.02})
        QVERIFY(std::fabs(axis.value(axis.place(value)) - value) <= 1e-12 * std::max(1e-4, std::fabs(value)) + 1e-18);
    QCOMPARE(axis.place(-9e-4), -1.0); // a decade beyond the linear part
    const auto edges = axis.edges(0.02, 128);
    QCOMPARE(edges.size(), std::size_t(129));
    QCOMPARE(edges.front(), -0.02);
    QCOMPARE(edges.back(), 0.02);
    QVERIFY(std::is_sorted(edges.begin(), edges.end()));
    const auto ticks = axis.ticks(axis.place(-0.02), axis.place(0.02), 6);
    QVERIFY(ticks.size() >= 3 && ticks.size() <= 7);
    QCOMPARE(ticks[ticks.size() / 2], 0.0);
    QVERIFY(!SymlogAxis::ofErrors(0, 0).on()); // without errors the axis is off
}

QS_TEST(HistogramTest)
#include "histogram_test.moc"
