// SPDX-License-Identifier: GPL-3.0-or-later
// Sums, moments, maxima and histograms of every supported kernel set must have the same bits as the scalar set.

#include "tests/kernels/each_set.h"
#include "tests/support/test_program.h"

using namespace qs;
using namespace qs::test;

class KernelStatistics : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void statistics_data() { supportedSets(); }
    void statistics();
};

void KernelStatistics::statistics() {
    QFETCH(const KernelSet*, kernels);
    const KernelSet& scalar = scalarKernels();
    for (const Input& input : inputs())
        for (const std::size_t n : kLengths) {
            const auto x = input.make(n);
            for (const bool finiteOnly : {false, true}) {
                if (!input.finite && !finiteOnly) {
                    QCOMPARE(std::isnan(kernels->absMax(x.data(), n, false)),
                             std::isnan(scalar.absMax(x.data(), n, false)));
                    continue;
                }
                std::uint64_t c1 = 0, c2 = 0;
                QCOMPARE(kernels->absMax(x.data(), n, finiteOnly), scalar.absMax(x.data(), n, finiteOnly));
                QCOMPARE(kernels->sumAbs(x.data(), n, finiteOnly, &c1), scalar.sumAbs(x.data(), n, finiteOnly, &c2));
                QCOMPARE(c1, c2);
                QCOMPARE(kernels->sum(x.data(), n, finiteOnly, &c1), scalar.sum(x.data(), n, finiteOnly, &c2));
                QCOMPARE(c1, c2);
                QCOMPARE(kernels->sumSquaredDeviation(x.data(), n, 0.1f, finiteOnly),
                         scalar.sumSquaredDeviation(x.data(), n, 0.1f, finiteOnly));
            }
            for (const float threshold : {0.0f, 0.5f, -1.0f, INFINITY}) {
                const AboveSum a = kernels->sumAbsAbove(x.data(), n, threshold),
                               b = scalar.sumAbsAbove(x.data(), n, threshold);
                QVERIFY(a.sum == b.sum && a.count == b.count);
            }
            const Moments a = kernels->moments(x.data(), n), b = scalar.moments(x.data(), n);
            QVERIFY(a.n == b.n && a.s1 == b.s1 && a.s2 == b.s2 && a.s3 == b.s3 && a.s4 == b.s4);
            QVERIFY(sameBits(&a.min, &b.min, 1) && sameBits(&a.max, &b.max, 1));
            QVERIFY(a.nan == b.nan && a.inf == b.inf && a.zeros == b.zeros);
            std::vector<std::uint32_t> bins1(kFloatBins), bins2(kFloatBins);
            kernels->floatBins(x.data(), n, bins1.data());
            scalar.floatBins(x.data(), n, bins2.data());
            QVERIFY(bins1 == bins2);
            std::vector<float> m1(n, 0.2f), m2(m1);
            kernels->columnAbsMax(x.data(), n, m1.data());
            scalar.columnAbsMax(x.data(), n, m2.data());
            QVERIFY(sameBits(m1, m2));
        }
}

QS_TEST(KernelStatistics)
#include "kernel_statistics_test.moc"
