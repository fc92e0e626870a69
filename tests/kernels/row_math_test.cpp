// SPDX-License-Identifier: GPL-3.0-or-later
// Functions of rows: their errors against f64 over the whole range, and the same bits on every instruction set.
#include "kernels/network/row_math.h"
#include "tests/kernels/each_set.h"
#include "tests/support/test_program.h"

#include <QtTest>

#include <cmath>
#include <limits>
#include <random>

using namespace qs;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Values from `low` to `high`: evenly spaced, and close to 0.
std::vector<float> valuesFrom(float low, float high) {
    std::vector<float> out;
    for (int i = 0; i <= 200000; ++i) out.push_back(low + (high - low) * float(i) / 200000.0f);
    for (float v = 1e-30f; v < 1; v *= 1.7f)
        for (const float signedV : {v, -v})
            if (signedV >= low && signedV <= high) out.push_back(signedV);
    return out;
}

/// The largest |y - exact| / |exact| over the values.
double worst(const std::vector<float>& x, const std::vector<float>& y, double (*exact)(double)) {
    double most = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const double value = exact(double(x[i]));
        if (value != 0) most = std::max(most, std::fabs(double(y[i]) - value) / std::fabs(value));
    }
    return most;
}

std::vector<float> randomValues(std::size_t n, float spread, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal(0, spread);
    std::vector<float> out(n);
    for (float& v : out) v = normal(random);
    return out;
}

} // namespace

class RowMathTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void errorsAreAsStated_data() { test::supportedSets(); }
    void errorsAreAsStated();
    void specialValues_data() { test::supportedSets(); }
    void specialValues();
    void sums_data() { test::supportedSets(); }
    void sums();
    void everySetHasTheSameBits_data() { test::supportedSets(); }
    void everySetHasTheSameBits();
};

void RowMathTest::errorsAreAsStated() {
    QFETCH(const KernelSet*, kernels);
    const RowMath& math = rowMathOf(*kernels);
    auto x = valuesFrom(-87.3f, 88.7f);
    std::vector<float> y(x.size());
    math.exps(x.data(), x.size(), y.data());
    QVERIFY2(worst(x, y, [](double v) { return std::exp(v); }) < 2e-7, kernels->id);
    x = valuesFrom(-20, 20), y.resize(x.size());
    math.capped(x.data(), x.size(), 1, y.data());
    QVERIFY2(worst(x, y, [](double v) { return std::tanh(v); }) < 3e-7, kernels->id);
    math.silu(x.data(), nullptr, x.size(), y.data());
    QVERIFY2(worst(x, y, [](double v) { return v / (1 + std::exp(-v)); }) < 4e-7, kernels->id);
    // 1 + tanh loses digits where tanh is near -1, as in every f32 program: the error is relative to the input.
    math.geluTanh(x.data(), nullptr, x.size(), y.data());
    for (std::size_t i = 0; i < x.size(); ++i) {
        const double v = double(x[i]),
                     exact = 0.5 * v * (1 + std::tanh(0.7978845608028654 * (v + 0.044715 * v * v * v)));
        QVERIFY(std::fabs(double(y[i]) - exact) <= 3e-7 * std::fabs(v));
    }
}

void RowMathTest::specialValues() {
    QFETCH(const KernelSet*, kernels);
    const RowMath& math = rowMathOf(*kernels);
    const std::vector<float> x = {0, -0.0f, 100, -100, kInfinity, -kInfinity, std::nanf("")};
    std::vector<float> y(x.size());
    math.exps(x.data(), x.size(), y.data());
    QCOMPARE(y[0], 1.0f);
    QCOMPARE(y[1], 1.0f);
    QCOMPARE(y[2], kInfinity);
    QCOMPARE(y[3], 0.0f);
    QCOMPARE(y[4], kInfinity);
    QCOMPARE(y[5], 0.0f);
    QVERIFY(std::isnan(y[6]));
    math.capped(x.data(), x.size(), 30, y.data());
    QCOMPARE(y[0], 0.0f);
    QCOMPARE(y[4], 30.0f);
    QCOMPARE(y[5], -30.0f);
    QVERIFY(std::isnan(y[6]));
    math.silu(x.data(), nullptr, 4, y.data());
    QCOMPARE(y[2], 100.0f);
    QVERIFY(std::fabs(y[3]) < 1e-30f);
    QCOMPARE(math.largest(x.data(), 4), 100.0f);
    QVERIFY(std::isnan(math.largest(x.data(), 5)));
    QVERIFY(std::isnan(math.largest(x.data() + 5, 2)));
    QCOMPARE(math.largest(x.data() + 5, 1), -kInfinity);
}

void RowMathTest::sums() {
    QFETCH(const KernelSet*, kernels);
    const RowMath& math = rowMathOf(*kernels);
    for (const std::size_t n : {1u, 3u, 15u, 16u, 17u, 100u, 32003u}) {
        const auto a = randomValues(n, 3, unsigned(n)), b = randomValues(n, 3, unsigned(n + 1));
        double sum = 0, squares = 0, exps = 0, expsOfB = 0;
        const double shift = double(math.largest(a.data(), n)), shiftOfB = double(math.largest(b.data(), n));
        QCOMPARE(shift, double(*std::max_element(a.begin(), a.end())));
        for (std::size_t i = 0; i < n; ++i) {
            sum += double(a[i]), squares += (double(a[i]) - 0.25) * (double(a[i]) - 0.25);
            exps += std::exp(double(a[i]) - shift), expsOfB += std::exp(double(b[i]) - shiftOfB);
        }
        const double lnA = shift + std::log(exps), lnB = shiftOfB + std::log(expsOfB);
        double divergence = 0;
        for (std::size_t i = 0; i < n; ++i)
            divergence += std::exp(double(a[i]) - lnA) * ((double(a[i]) - lnA) - (double(b[i]) - lnB));
        QVERIFY(std::fabs(math.sum(a.data(), n) - sum) < 1e-12 * double(n));
        QVERIFY(std::fabs(math.squares(a.data(), n, 0.25) - squares) < 1e-13 * squares * 10);
        QVERIFY(std::fabs(math.sumOfExps(a.data(), n, shift) - exps) < 5e-16 * exps * 10);
        QVERIFY(std::fabs(math.divergence(a.data(), lnA, b.data(), lnB, n) - divergence) < 1e-13);
        QCOMPARE(math.divergence(a.data(), lnA, a.data(), lnA, n), 0.0);
    }
}

void RowMathTest::everySetHasTheSameBits() {
    QFETCH(const KernelSet*, kernels);
    const RowMath &math = rowMathOf(*kernels), &scalar = scalarRowMath();
    for (const std::size_t n : {1u, 15u, 16u, 31u, 257u}) {
        const auto x = randomValues(n, 20, unsigned(n)), factor = randomValues(n, 1, unsigned(n + 7));
        std::vector<float> y(n), z(n);
        const auto same = [&](auto run) {
            std::fill(y.begin(), y.end(), 1.0f), std::fill(z.begin(), z.end(), 1.0f);
            run(math, y.data()), run(scalar, z.data());
            return std::memcmp(y.data(), z.data(), n * sizeof(float)) == 0;
        };
        QVERIFY(same([&](const RowMath& m, float* out) { m.exps(x.data(), n, out); }));
        QVERIFY(same([&](const RowMath& m, float* out) { m.capped(x.data(), n, 30, out); }));
        QVERIFY(same([&](const RowMath& m, float* out) { m.silu(x.data(), factor.data(), n, out); }));
        QVERIFY(same([&](const RowMath& m, float* out) { m.geluTanh(x.data(), factor.data(), n, out); }));
        QVERIFY(same([&](const RowMath& m, float* out) { m.plus(x.data(), n, out); }));
        QVERIFY(same([&](const RowMath& m, float* out) {
            m.normed(x.data(), n, 0.5f, 2.0f, factor.data(), 1.0f, factor.data(), out);
        }));
        QCOMPARE(math.sum(x.data(), n), scalar.sum(x.data(), n));
        QCOMPARE(math.squares(x.data(), n, 0.1), scalar.squares(x.data(), n, 0.1));
        QCOMPARE(math.sumOfExps(x.data(), n, 70), scalar.sumOfExps(x.data(), n, 70));
        QCOMPARE(math.divergence(x.data(), 70, factor.data(), 9, n),
                 scalar.divergence(x.data(), 70, factor.data(), 9, n));
    }
}

QS_TEST(RowMathTest)
#include "row_math_test.moc"
