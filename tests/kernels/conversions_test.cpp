// SPDX-License-Identifier: GPL-3.0-or-later
// Checks f16 and bf16 conversion with arithmetic in double. It shares no code with small_float.h.

#include "kernels/kernel_set.h"
#include "kernels/small_float.h"
#include "tests/kernels/each_set.h"
#include "tests/support/test_program.h"

#include <QtTest>

#include <bit>
#include <cmath>
#include <random>
#include <vector>

using namespace qs;

namespace {

struct Shape {
    int exponentBits, mantissaBits;
};
constexpr Shape kHalf{5, 10}, kBf16{8, 7};

/// The value of a code, or NaN.
double valueOf(Shape s, unsigned code) {
    const int bias = (1 << (s.exponentBits - 1)) - 1, top = (1 << s.exponentBits) - 1;
    const int exponent = int(code >> s.mantissaBits) & top;
    const unsigned mantissa = code & ((1u << s.mantissaBits) - 1);
    const double sign = code >> (s.exponentBits + s.mantissaBits) & 1 ? -1.0 : 1.0;
    if (exponent == top) return mantissa ? std::nan("") : sign * INFINITY;
    const double fraction = double(mantissa) / double(1u << s.mantissaBits);
    return sign * (exponent ? std::ldexp(1 + fraction, exponent - bias) : std::ldexp(fraction, 1 - bias));
}

/// The nearest code, found by bisection. Ties go to the even code.
unsigned nearestCode(Shape s, float x) {
    const unsigned sign = std::signbit(x) ? 1u << (s.exponentBits + s.mantissaBits) : 0u;
    const unsigned infinity = ((1u << s.exponentBits) - 1) << s.mantissaBits;
    const double a = std::fabs(double(x));
    unsigned low = 0, high = infinity; // invariant: valueOf(low) <= a
    if (a == INFINITY) return sign | infinity;
    while (high - low > 1) (valueOf(s, (low + high) / 2) <= a ? low : high) = (low + high) / 2;
    // Above the largest finite value, the next value would be one step higher; from there on x rounds to infinity.
    const double below = valueOf(s, low), step = valueOf(s, low) - valueOf(s, low - (low ? 1 : 0));
    const double above = high == infinity ? below + step : valueOf(s, high);
    const double toLow = a - below, toHigh = above - a;
    return sign | (toLow < toHigh || (toLow == toHigh && low % 2 == 0) ? low : high);
}

std::vector<float> inputs(Shape s) {
    std::vector<float> x;
    std::mt19937 engine(3);
    for (int i = 0; i < 60000; ++i) x.push_back(std::bit_cast<float>(std::uint32_t(engine())));
    // Every finite value, every midpoint between two values, and the neighbours of both.
    const unsigned infinity = ((1u << s.exponentBits) - 1) << s.mantissaBits;
    for (unsigned code = 0; code < infinity; ++code) {
        const double value = valueOf(s, code), next = code + 1 < infinity ? valueOf(s, code + 1) : value * 1.01;
        for (const double v : {value, (value + next) / 2})
            for (const float f : {std::nextafter(float(v), -INFINITY), float(v), std::nextafter(float(v), INFINITY)})
                x.push_back(f), x.push_back(-f);
    }
    return x;
}

} // namespace

class Conversions : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void everyCode_data() { sets(); }
    void everyCode();
    void rounding_data() { sets(); }
    void rounding();
    void nanBits();

private:
    static void sets() {
        QTest::addColumn<const KernelSet*>("kernels");
        for (const KernelSet* set : kernelSets())
            if (set->supported()) QTest::newRow(set->id) << set;
    }
};

void Conversions::everyCode() {
    QFETCH(const KernelSet*, kernels);
    std::vector<std::uint16_t> codes(65536), back(65536);
    for (unsigned i = 0; i < 65536; ++i) codes[i] = std::uint16_t(i);
    std::vector<float> wide(65536);
    for (const bool half : {true, false}) {
        const Shape shape = half ? kHalf : kBf16;
        (half ? kernels->f16ToF32 : kernels->bf16ToF32)(codes.data(), codes.size(), wide.data());
        (half ? kernels->f32ToF16 : kernels->f32ToBf16)(wide.data(), wide.size(), back.data());
        for (unsigned i = 0; i < 65536; ++i) {
            const double value = valueOf(shape, i);
            if (std::isnan(value)) {
                QVERIFY(std::isnan(wide[i]));
                QCOMPARE(unsigned(back[i]), i | (1u << (shape.mantissaBits - 1))); // a NaN becomes quiet and keeps its
                                                                                   // payload
            } else {
                QVERIFY(double(wide[i]) == value && std::signbit(wide[i]) == std::signbit(value));
                QCOMPARE(unsigned(back[i]), i);
            }
            QCOMPARE(std::bit_cast<std::uint32_t>(wide[i]),
                     std::bit_cast<std::uint32_t>(half ? f16ToF32(std::uint16_t(i)) : bf16ToF32(std::uint16_t(i))));
        }
    }
}

void Conversions::rounding() {
    QFETCH(const KernelSet*, kernels);
    for (const bool half : {true, false}) {
        const Shape shape = half ? kHalf : kBf16;
        const auto x = inputs(shape);
        std::vector<std::uint16_t> codes(x.size());
        (half ? kernels->f32ToF16 : kernels->f32ToBf16)(x.data(), x.size(), codes.data());
        const unsigned infinity = ((1u << shape.exponentBits) - 1) << shape.mantissaBits;
        for (std::size_t i = 0; i < x.size(); ++i) {
            if (std::isnan(x[i])) {
                QVERIFY((codes[i] & 0x7fff) > infinity);
                QCOMPARE(codes[i], half ? f32ToF16(x[i]) : f32ToBf16(x[i]));
            } else {
                QCOMPARE(unsigned(codes[i]), nearestCode(shape, x[i]));
            }
        }
    }
}

void Conversions::nanBits() {
    QCOMPARE(unsigned(f32ToF16(std::bit_cast<float>(0x7f800001u))), 0x7e00u);
    QCOMPARE(unsigned(f32ToBf16(std::bit_cast<float>(0xff800001u))), 0xffc0u);
    QCOMPARE(std::bit_cast<std::uint32_t>(f16ToF32(0x7c01)), 0x7fc02000u);
}

QS_TEST(Conversions)
#include "conversions_test.moc"
