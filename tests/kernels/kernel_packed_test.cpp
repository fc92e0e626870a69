// SPDX-License-Identifier: GPL-3.0-or-later
// Packed outputs of the kernel sets: nf4 nibbles, int8 and ternary codes. They must have the same bits as the scalar
// set, at and around every decision boundary.

#include "kernels/matmul_operands.h"
#include "tests/kernels/each_set.h"
#include "tests/support/test_program.h"

using namespace qs;
using namespace qs::test;

class PackedKernels : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void packedAndStored_data() { supportedSets(); }
    void packedAndStored();
    void nf4Decisions_data() { supportedSets(); }
    void nf4Decisions();
    void int8Decisions_data() { supportedSets(); }
    void int8Decisions();
    void nf4ThresholdsAreTheRule();
};

void PackedKernels::packedAndStored() {
    QFETCH(const KernelSet*, kernels);
    const KernelSet& scalar = scalarKernels();
    for (const Input& input : inputs()) {
        if (!input.finite) continue;
        for (std::size_t n : kLengths) {
            const auto x = input.make(n);
            for (const std::size_t group : groupsFor(n)) {
                const std::size_t groups = (n + group - 1) / group;
                const std::string at = input.name + ", n " + std::to_string(n) + ", group " + std::to_string(group);
                std::vector<float> s1(groups), s2(groups), d1(n), d2(n);
                std::vector<std::int8_t> q1(n), q2(n);
                scalar.quantizeInt8Stored(x.data(), n, group, q1.data(), s1.data());
                kernels->quantizeInt8Stored(x.data(), n, group, q2.data(), s2.data());
                QVERIFY2(sameBits(q1, q2) && sameBits(s1, s2), at.c_str());
                std::vector<std::uint8_t> t1(groups * ((group + 3) / 4)), t2(t1);
                scalar.quantizeTernaryPacked(x.data(), n, group, t1.data(), s1.data());
                kernels->quantizeTernaryPacked(x.data(), n, group, t2.data(), s2.data());
                QVERIFY2(sameBits(t1, t2) && sameBits(s1, s2), at.c_str());
                if (n % 2 || group % 2) continue;
                std::vector<std::uint8_t> p1(n / 2), p2(p1);
                ErrorSums e1, e2;
                scalar.quantizeNf4Packed(x.data(), n, group, p1.data(), s1.data(), &e1);
                kernels->quantizeNf4Packed(x.data(), n, group, p2.data(), s2.data(), &e2);
                QVERIFY2(sameBits(p1, p2) && sameBits(s1, s2), at.c_str());
                QVERIFY2(e1.n == e2.n && e1.maxAbs == e2.maxAbs, at.c_str());
                QVERIFY2(std::fabs(e1.se2 - e2.se2) <= 1e-6 * e1.se2 + 1e-20 * e1.sw2, at.c_str());
                QVERIFY2(std::fabs(e1.sw2 - e2.sw2) <= 1e-6 * e1.sw2, at.c_str());
                p2.assign(n / 2, 0);
                kernels->quantizeNf4Packed(x.data(), n, group, p2.data(), s2.data(), nullptr);
                QVERIFY2(sameBits(p1, p2) && sameBits(s1, s2), at.c_str());
                scalar.dequantizeNf4Packed(p1.data(), n, group, s1.data(), nf4PolyLevels().data(), d1.data());
                kernels->dequantizeNf4Packed(p1.data(), n, group, s1.data(), nf4PolyLevels().data(), d2.data());
                QVERIFY2(sameBits(d1, d2), at.c_str());
            }
        }
    }
    // Outputs larger than the caches may use streaming stores.
    const std::size_t large = (std::size_t(4) << 20) + 64;
    auto x = normalValues(large);
    x[12345] = 1e38f; // this block takes another code path
    Aligned<std::uint8_t> streamed(large / 2 + 1);
    std::vector<std::uint8_t> packed(large / 2);
    std::vector<float> scales(large / 64), same(scales), d1(large), d2(large);
    ErrorSums e1, e2;
    scalar.quantizeNf4Packed(x.data(), large, 64, packed.data(), scales.data(), &e1);
    for (const std::size_t offset : {0, 1}) // streaming stores need an aligned address
        for (ErrorSums* sums : {&e2, static_cast<ErrorSums*>(nullptr)}) {
            std::memset(streamed.data(), 0, streamed.size());
            e2 = {};
            kernels->quantizeNf4Packed(x.data(), large, 64, streamed.data() + offset, same.data(), sums);
            QVERIFY(!std::memcmp(streamed.data() + offset, packed.data(), packed.size()) && sameBits(scales, same));
            QVERIFY(!sums || (e1.n == e2.n && e1.maxAbs == e2.maxAbs));
        }
    x[12345] = 1;
    scalar.quantizeNf4Packed(x.data(), large, 64, packed.data(), scales.data(), nullptr);
    scalar.dequantizeNf4Packed(packed.data(), large, 64, scales.data(), nf4Levels().data(), d1.data());
    kernels->dequantizeNf4Packed(packed.data(), large, 64, scales.data(), nf4Levels().data(), d2.data());
    QVERIFY(sameBits(d1, d2));
    // More levels than fit into a register, not integers. A code beyond the last level decodes to the last level.
    std::vector<float> levels(201);
    for (std::size_t i = 0; i < levels.size(); ++i) levels[i] = float(i) / 127.0f - 0.7f;
    std::vector<std::uint8_t> many(1000);
    for (std::size_t i = 0; i < many.size(); ++i) many[i] = std::uint8_t(i * 37);
    for (const std::size_t group : {std::size_t(7), std::size_t(16), std::size_t(100), std::size_t(1000)}) {
        std::vector<float> v1(many.size()), v2(many.size());
        scalar.dequantize(many.data(), many.size(), group, scales.data(), levels.data(), 201, v1.data());
        kernels->dequantize(many.data(), many.size(), group, scales.data(), levels.data(), 201, v2.data());
        QVERIFY(sameBits(v1, v2));
    }
    std::vector<std::int8_t> q1(large), q2(large);
    std::vector<float> otherScales(scales);
    scalar.quantizeInt8Stored(x.data(), large, 64, q1.data(), scales.data());
    kernels->quantizeInt8Stored(x.data(), large, 64, q2.data(), otherScales.data());
    QVERIFY(sameBits(q1, q2) && sameBits(scales, otherScales));
}

// Tests values around every decision boundary, for many scales. The thresholds in units of x must be exact.
void PackedKernels::nf4Decisions() {
    QFETCH(const KernelSet*, kernels);
    std::mt19937 engine(5);
    for (int round = 0; round < 3000; ++round) {
        const auto exponent = int(engine() % 250) - 140;
        const float bound = std::ldexp(1.0f + float(engine() % 0x800000) / 8388608.0f, exponent);
        std::vector<float> x(64);
        x[0] = bound;
        const float divisor = bound + FLT_MIN;
        for (std::size_t i = 1; i < 64; ++i) {
            const std::size_t k = (i - 1) / 4 % 15;
            float v = nf4Thresholds().threshold[k] * divisor;
            for (std::size_t step = (i - 1) % 4; step > 0; --step) v = std::nextafter(v, step % 2 ? -FLT_MAX : FLT_MAX);
            if ((i - 1) % 4 == 3) v = std::nextafter(std::nextafter(v, FLT_MAX), FLT_MAX);
            x[i] = v;
        }
        std::vector<std::uint8_t> p1(32), p2(32);
        float a1 = 0, a2 = 0;
        scalarKernels().quantizeNf4Packed(x.data(), 64, 64, p1.data(), &a1, nullptr);
        kernels->quantizeNf4Packed(x.data(), 64, 64, p2.data(), &a2, nullptr);
        QVERIFY2(sameBits(p1, p2) && a1 == a2, qPrintable(QString::number(double(bound))));
    }
}

void PackedKernels::int8Decisions() {
    QFETCH(const KernelSet*, kernels);
    std::mt19937 engine(6);
    for (int round = 0; round < 3000; ++round) {
        const float bound = std::ldexp(1.0f + float(engine() % 0x800000) / 8388608.0f, int(engine() % 250) - 140);
        const float scale = bound / 127.0f + FLT_MIN;
        std::vector<float> x(80);
        x[0] = bound;
        for (std::size_t i = 1; i < x.size(); ++i) {
            float v = (float(int(engine() % 253) - 126) + 0.5f) * scale;
            for (unsigned step = engine() % 3; step > 0; --step) v = std::nextafter(v, i % 2 ? FLT_MAX : -FLT_MAX);
            x[i] = std::fabs(v) <= bound ? v : bound;
        }
        std::vector<std::int8_t> q1(80), q2(80);
        float s1 = 0, s2 = 0;
        scalarKernels().quantizeInt8Stored(x.data(), 80, 80, q1.data(), &s1);
        kernels->quantizeInt8Stored(x.data(), 80, 80, q2.data(), &s2);
        QVERIFY2(sameBits(q1, q2) && s1 == s2, qPrintable(QString::number(double(bound))));
    }
}

// Compares the threshold table with the rule: argmin of the distance over the levels, first of equals.
void PackedKernels::nf4ThresholdsAreTheRule() {
    const auto rule = [](float v) {
        int best = 0;
        for (int code = 1; code < 16; ++code)
            if (std::fabs(v - nf4Levels()[std::size_t(code)]) < std::fabs(v - nf4Levels()[std::size_t(best)]))
                best = code;
        return best;
    };
    const Nf4Thresholds& t = nf4Thresholds();
    for (int k = 0; k < 15; ++k) {
        QCOMPARE(rule(t.threshold[k]), k + 1);
        QCOMPARE(rule(std::nextafter(t.threshold[k], -2.0f)), k);
        // An estimate with an error of 1e-6 must still find the right bucket.
        const float place = t.threshold[k] * Nf4Thresholds::kBucketScale;
        QVERIFY(std::fabs(place - std::floor(place) - 0.5f) > 1e-3f);
    }
    std::mt19937 engine(1);
    std::uniform_real_distribution<float> any(-1, 1);
    for (int i = 0; i < 100000; ++i) {
        const float v = any(engine);
        int code = 0;
        while (code < 15 && v >= t.threshold[code]) ++code;
        QCOMPARE(code, rule(v));
    }
}

QS_TEST(PackedKernels)
#include "kernel_packed_test.moc"
