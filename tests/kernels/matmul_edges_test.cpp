// SPDX-License-Identifier: GPL-3.0-or-later
// Properties of a variant beyond small errors: exact integers, correct NaN, the codes of the reference, and a stop on
// request.

#include "kernels/fixed_levels.h"
#include "kernels/matmul_operands.h"
#include "tests/kernels/matmul_acts.h"
#include "tests/support/test_program.h"
#include "tests/support/thinned.h"

#include <QtTest>
#include <sys/resource.h>
#ifdef __SSE2__
#include <xmmintrin.h>
#endif

using namespace qs;
using namespace qs::test;

class MatmulEdges : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void integersAreExact();
    void smallFloatsAreVectors();
    void smallFloatsWithoutSubnormals();
    void nanAndInfinity();
    void dequantized();
    void coded();
    void fixedPoint();
    void extremeRows();
    void stops();
    void copiesShareTheirRoom();

private:
    ThreadTeam two_{2};
};

// With whole numbers below 2^24 and scales of 1, every i8 variant must give the exact integer.
void MatmulEdges::integersAreExact() {
    std::size_t checked = 0;
    for (const FormatCase& format : formatCases()) {
        if (!format.format.isInteger() || format.format.scale != NumberType::None) {
            if (QByteArray(format.name) != "int8 rows") continue;
        }
        for (const std::size_t k : {1, 5, 64, 129, 1000}) {
            Weight w;
            if (!makeWeight(format, 72, k, false, 3, w)) continue;
            if (!w.scales.empty())
                for (std::size_t i = 0; i < w.problem.n; ++i) {
                    const float one = 1, was = scaleToF32(NumberType::F32, w.scales.data(), i);
                    std::memcpy(&w.scales[4 * i], &one, 4);
                    for (std::size_t j = 0; j < k; ++j) w.dense[i * k + j] = std::nearbyint(w.dense[i * k + j] / was);
                }
            w.problem.m = 3;
            Acts a = makeActs(w.problem, NumberType::I8, false, 9);
            a.scale.assign(3, 1.0), a.rawScale.assign(3, 1.0f);
            const auto want = expected(w, a);
            for (const MatmulVariant* v : matmulVariants()) {
                if (!v->supported() || v->compute != NumberType::I8 || v->declines(w.problem)) continue;
                std::vector<float> out(want.size());
                const auto prepared = v->prepare(w.problem, w.operand(), two_);
                QVERIFY(prepared->run({a.raw.data(), a.rawScale.data()}, {out.data(), nullptr}, two_, {}));
                for (std::size_t i = 0; i < out.size(); ++i)
                    QVERIFY2(double(out[i]) == want[i],
                             (QByteArray(v->id) + " " + format.name + ": " + QByteArray::number(double(out[i])) +
                              " for " + QByteArray::number(want[i]))
                                 .constData());
                ++checked;
            }
        }
    }
    if (!checked) QSKIP("no variant with integer sums on this processor");
}

// For each 8-bit float format there is a variant other than the reference, for few rows and for many. For other
// 256-entry codebooks there is none.
void MatmulEdges::smallFloatsAreVectors() {
    std::size_t floats = 0;
    for (const FormatCase& format : formatCases()) {
        if (format.format.bits != 8 || (format.format.isInteger() && format.format.levels.empty())) continue;
        MatmulProblem p;
        p.m = 8, p.n = 64, p.k = 128, p.weight = format.format;
        for (const MatmulVariant* v : matmulVariants()) {
            if (!v->supported() || v->compute == NumberType::I8 || v->compute == NumberType::None) continue;
            const QByteArray id = v->id;
            if (!id.startsWith("gemm") && !(id.startsWith("gemv") && v->compute == NumberType::F32)) continue;
            const bool table = QByteArray(format.name) == "codebook of 256";
            QVERIFY2((v->declines(p) != nullptr) == table, (id + ", " + format.name).constData());
            floats += !table;
            // Scaled by another number than a power of two, the levels are no float whose bits can be moved.
            MatmulProblem scaled = p;
            for (float& level : scaled.weight.levels) level *= 0.75f;
            if (!scaled.weight.levels.empty()) QVERIFY2(v->declines(scaled), (id + ", " + format.name).constData());
        }
    }
    if (!floats) QSKIP("no vector kernels on this processor");
}

// Subnormal codes of 8-bit floats are decoded without subnormal f32 numbers, which cost some processors a hundred cycles each. The
// processor notes in a flag of the thread that an operand was subnormal.
void MatmulEdges::smallFloatsWithoutSubnormals() {
#ifdef __SSE2__
    constexpr unsigned kSubnormalOperand = 1u << 1; // flag DE of MXCSR
    ThreadTeam one{1};
    std::size_t checked = 0;
    for (const FormatCase& format : formatCases()) {
        if (!QByteArray(format.name).startsWith("fp8")) continue;
        for (const std::size_t m : {1, 40}) {
            Weight w;
            QVERIFY(makeWeight(format, 64, 256, false, 5, w));
            for (std::size_t i = 0; i < w.codes.size(); ++i) // zero and the subnormal codes, of both signs
                w.codes[i] = std::uint8_t((i % 8) | (i & 8 ? 0x80 : 0));
            w.problem.m = m;
            const Acts a = makeActs(w.problem, NumberType::F32, false, 1);
            for (const MatmulVariant* v : matmulVariants()) {
                const QByteArray id = v->id;
                if (!v->supported() || v->declines(w.problem) || !id.contains("avx")) continue;
                const auto prepared = v->prepare(w.problem, w.operand(), one);
                std::vector<float> out(m * 64);
                _mm_setcsr(_mm_getcsr() & ~kSubnormalOperand);
                QVERIFY(prepared->run({a.raw.data(), nullptr}, {out.data(), nullptr}, one, {}));
                QVERIFY2(!(_mm_getcsr() & kSubnormalOperand), (id + ", " + format.name).constData());
                ++checked;
            }
        }
    }
    if (!checked) QSKIP("no vector kernels on this processor");
#else
    QSKIP("only x86 processors are slow with subnormal numbers");
#endif
}

// A NaN or infinity in a weight or in a row of x must appear in the results that use it, and in no others.
void MatmulEdges::nanAndInfinity() {
    for (const FormatCase& format : formatCases()) {
        const QByteArray name = format.name;
        if (!name.startsWith("fp8") && name != "f32" && name != "bf16" && name != "f16" && name != "nf4:64" &&
            name != "int8 rows")
            continue;
        Weight w;
        QVERIFY(makeWeight(format, 70, 100, false, 5, w));
        const bool spoil = name != "nf4:64" && name != "int8 rows";
        if (spoil) // sets NaN codes
            std::memset(&w.codes[33 * w.rowBytes + 8], name.endsWith("fnuz") ? 0x80 : 0xff, 4);
        w.problem.m = 3;
        for (const bool dynamic : {false, true}) {
            Acts a = makeActs(w.problem, dynamic ? NumberType::I8 : NumberType::F32, dynamic, 1);
            const float nan = std::nanf("");
            std::memcpy(&a.raw[(1 * 100 + 7) * 4], &nan, 4);
            for (const MatmulVariant* v : matmulVariants()) {
                if (!v->supported() || v->declines(w.problem)) continue;
                std::vector<float> out(3 * 70);
                QVERIFY(v->prepare(w.problem, w.operand(), two_)
                            ->run({a.raw.data(), nullptr}, {out.data(), nullptr}, two_, {}));
                for (std::size_t i = 0; i < out.size(); ++i) {
                    const bool touched = i / 70 == 1 || (spoil && i % 70 == 33);
                    QVERIFY2(std::isnan(out[i]) == touched,
                             (QByteArray(v->id) + " " + name + " at " + QByteArray::number(qulonglong(i))).constData());
                }
            }
        }
    }
}

void MatmulEdges::dequantized() {
    for (const FormatCase& format : formatCases()) {
        for (const NumberType out : {NumberType::F32, NumberType::Bf16}) {
            Weight w;
            if (!makeWeight(format, 36, 101, false, 5, w) && !makeWeight(format, 36, 104, false, 5, w)) continue;
            w.problem.op = MatmulOp::Dequantize, w.problem.out = out;
            for (const MatmulVariant* v : matmulVariants()) {
                if (!v->supported() || v->declines(w.problem)) continue;
                std::vector<std::uint8_t> got(w.dense.size() * 4);
                QVERIFY(v->prepare(w.problem, w.operand(), two_)->run({}, {got.data(), nullptr}, two_, {}));
                for (std::size_t i = 0; i < w.dense.size(); ++i) {
                    const float want = out == NumberType::F32 ? w.dense[i] : bf16ToF32(f32ToBf16(w.dense[i]));
                    QVERIFY2(scaleToF32(out, got.data(), i) == want,
                             (QByteArray(v->id) + " " + format.name).constData());
                }
            }
        }
    }
}

// The coders of every kernel set must write the same as the reference.
void MatmulEdges::coded() {
    std::mt19937 random(4);
    std::normal_distribution<float> normal;
    std::vector<float> source(37 * 100);
    for (float& v : source) v = normal(random);
    std::size_t written = 0;
    for (const FormatCase& format : formatCases()) {
        MatmulProblem p;
        p.op = MatmulOp::Quantize, p.n = 37, p.k = 100, p.weight = format.format;
        std::vector<std::uint8_t> first;
        for (const MatmulVariant* v : matmulVariants()) {
            if (!v->supported() || v->declines(p)) continue;
            std::vector<std::uint8_t> codes(37 * 8192, 0), scales(37 * 100 * 4, 0);
            QVERIFY(v->prepare(p, {source.data(), 400, nullptr, 0, nullptr}, two_)
                        ->run({}, {codes.data(), scales.data()}, two_, {}));
            codes.insert(codes.end(), scales.begin(), scales.end());
            if (first.empty()) first = codes;
            QVERIFY2(codes == first, (QByteArray(v->id) + " " + format.name).constData());
            ++written;
        }
    }
    QVERIFY(written >= 5);
}

// 16-bit fixed-point levels: whole numbers and halves are exact, nf4 has an error below 0.5/4095, and levels that would
// lose more are refused.
void MatmulEdges::fixedPoint() {
    const auto value = [](const FixedLevels& fixed, std::size_t i) {
        return float(std::int16_t(std::uint16_t(fixed.low[i] | fixed.high[i] << 8))) * fixed.factor;
    };
    std::vector<float> int4(16), halves = {0, .5f, 1, 1.5f, 2, 3, 4, 6, 0, -.5f, -1, -1.5f, -2, -3, -4, -6};
    for (std::size_t i = 0; i < 16; ++i) int4[i] = float(i) - 8;
    for (const auto& levels : {int4, halves, std::vector<float>{-1, 0, 1, 0}}) {
        const auto fixed = fixedLevels(levels);
        QVERIFY(fixed && fixed->highOnly);
        for (std::size_t i = 0; i < 16; ++i) QCOMPARE(value(*fixed, i), levels[i % levels.size()]);
    }
    const auto nf4 = fixedLevels(nf4Levels());
    QVERIFY(nf4 && !nf4->highOnly);
    for (std::size_t i = 0; i < 16; ++i) QVERIFY(std::fabs(value(*nf4, i) - nf4Levels()[i]) < 0.501f / 4095);
    // A sum of 64 products of the largest level and x must stay below 2^31.
    QVERIFY(double(nf4->mostX) * 4095 * 64 < 2147483648.0 && nf4->mostX > 8190);

    std::vector<float> wide(16, 0.001f);
    wide[0] = 0.1f, wide[15] = -0.2f;
    QVERIFY(!fixedLevels(std::vector<float>(wide.begin(), wide.begin() + 3)));
    for (std::size_t i = 0; i < 15; ++i) wide[i] = 0.0123456f; // a step of 0.2 / 4095 is too coarse for this value
    QVERIFY(!fixedLevels(wide));
    wide[7] = std::nanf("");
    QVERIFY(!fixedLevels(wide));
}

// Rows of x near both limits of float, a row with one very large value, and zeros.
void MatmulEdges::extremeRows() {
    Weight w;
    QVERIFY(makeWeight(formatCases().front(), 72, 200, false, 5, w));
    w.problem.m = 4;
    Acts a = makeActs(w.problem, NumberType::F32, false, 1);
    for (std::size_t i = 0; i < 200; ++i)
        a.f32[i] *= 1e-33f, a.f32[200 + i] *= 1e33f, a.f32[400 + i] *= i == 70 ? 1e4f : 1.0f, a.f32[600 + i] = 0;
    std::memcpy(a.raw.data(), a.f32.data(), a.raw.size());
    const auto want = expected(w, a);
    for (const MatmulVariant* v : matmulVariants()) {
        if (!v->supported() || v->declines(w.problem)) continue;
        std::vector<float> out(want.size());
        QVERIFY(
            v->prepare(w.problem, w.operand(), two_)->run({a.raw.data(), nullptr}, {out.data(), nullptr}, two_, {}));
        for (std::size_t row = 0; row < 4; ++row) {
            double error = 0, power = 0;
            for (std::size_t i = row * 72; i < (row + 1) * 72; ++i)
                error += std::pow(double(out[i]) - want[i], 2), power += want[i] * want[i];
            QVERIFY2(row == 3 ? error == 0 : error < 2 * std::max(v->nmseLimit, 1e-9) * power,
                     (QByteArray(v->id) + " row " + QByteArray::number(int(row))).constData());
        }
    }
}

void MatmulEdges::stops() {
    Weight w;
    QVERIFY(makeWeight(formatCases().front(), 128, 256, false, 5, w));
    w.problem.m = 2;
    const Acts a = makeActs(w.problem, NumberType::F32, false, 1);
    std::vector<float> out(256);
    for (const MatmulVariant* v : matmulVariants()) {
        if (!v->supported() || v->declines(w.problem)) continue;
        const StopRequest now{[](const void*) { return true; }, nullptr};
        QVERIFY2(
            !v->prepare(w.problem, w.operand(), two_)->run({a.raw.data(), nullptr}, {out.data(), nullptr}, two_, now),
            v->id);
    }
}

/// The clone of a prepared product shares its working memory. Otherwise the first run would touch new pages, and their
/// cost would be in the timing.
void MatmulEdges::copiesShareTheirRoom() {
    Weight w;
    QVERIFY(makeWeight(formatCases().front(), 128, 2048, false, 5, w));
    w.problem.m = 1;
    const Acts a = makeActs(w.problem, NumberType::F32, false, 1);
    const auto pagesTouched = [] {
        rusage usage{};
        getrusage(RUSAGE_SELF, &usage);
        return usage.ru_minflt;
    };
    ThreadTeam one(1); // with two threads the second may get its first panel, and its memory, in the second run
    std::size_t asked = 0;
    for (const MatmulVariant* v : matmulVariants()) {
        if (!v->supported() || v->declines(w.problem) || !QByteArray(v->id).startsWith("gem")) continue;
        std::vector<float> first(128), second(128);
        const auto prepared = v->prepare(w.problem, w.operand(), one);
        QVERIFY(prepared->run({a.raw.data(), nullptr}, {first.data(), nullptr}, one, {}));
        const auto copy = prepared->clone();
        const long before = pagesTouched();
        QVERIFY(copy->run({a.raw.data(), nullptr}, {second.data(), nullptr}, one, {}));
        const long touched = pagesTouched() - before;
        if (kThinning == 1) // sanitizers touch additional pages
            QVERIFY2(touched < 40, (QByteArray(v->id) + " " + QByteArray::number(qlonglong(touched))).constData());
        QCOMPARE(second, first);
        ++asked;
    }
    if (!asked) QSKIP("no vector kernels on this processor");
}

QS_TEST(MatmulEdges)
#include "matmul_edges_test.moc"
