// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/analysis/histogram.h"

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

QTEST_GUILESS_MAIN(HistogramTest)
#include "histogram_test.moc"
