// SPDX-License-Identifier: GPL-3.0-or-later
// Every variant against an f64 product of the dense weight: formats, packings, orientations, activations, awkward
// sizes.

#include "kernels/fixed_levels.h"
#include "kernels/kernel_set.h"
#include "kernels/matmul_operands.h"
#include "tests/kernels/matmul_case.h"
#include "tests/support/thinned.h"

#include <QtTest>

#include <cfloat>

using namespace qs;
using namespace qs::test;

namespace {

constexpr std::size_t kGuard = 16;

struct Acts {
    std::vector<float> f32;        ///< as the product sees them, without the row's scale
    std::vector<double> scale;     ///< of each row
    std::vector<std::uint8_t> raw; ///< as they cross
    std::vector<float> rawScale;
};

Acts makeActs(MatmulProblem& p, NumberType act, bool dynamic, unsigned seed) {
    p.act = act, p.dynamicAct = dynamic;
    Acts a;
    const std::size_t count = p.m * p.k;
    a.f32.resize(count), a.scale.assign(p.m, 1.0), a.rawScale.assign(p.m, 1.0f);
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    for (float& v : a.f32) v = normal(random);
    if (act == NumberType::F32 || dynamic) {
        a.raw.resize(count * 4);
        std::memcpy(a.raw.data(), a.f32.data(), count * 4);
    }
    if (act == NumberType::Bf16) {
        a.raw.resize(count * 2);
        for (std::size_t i = 0; i < count; ++i) {
            const std::uint16_t half = f32ToBf16(a.f32[i]);
            std::memcpy(&a.raw[2 * i], &half, 2);
            a.f32[i] = bf16ToF32(half);
        }
    }
    if (act == NumberType::I8) {
        if (!dynamic) a.raw.resize(count);
        for (std::size_t m = 0; m < p.m; ++m) {
            float most = 0;
            for (std::size_t i = 0; i < p.k; ++i) most = std::max(most, std::fabs(a.f32[m * p.k + i]));
            const float s = most / 127.0f + FLT_MIN;
            a.scale[m] = double(s), a.rawScale[m] = s;
            for (std::size_t i = m * p.k; i < (m + 1) * p.k; ++i) {
                a.f32[i] = std::nearbyint(a.f32[i] / s);
                if (!dynamic) a.raw[i] = std::uint8_t(std::int8_t(a.f32[i]));
            }
        }
    }
    return a;
}

/// `spread`: sum of the squares of all products. One result may be small by cancellation alone; no arithmetic is to
/// blame for that, so errors are held against the larger of both.
std::vector<double> expected(const Weight& w, const Acts& a, double* spread = nullptr) {
    const MatmulProblem& p = w.problem;
    double squares = 0;
    std::vector<double> y(p.m * p.n);
    for (std::size_t m = 0; m < p.m; ++m)
        for (std::size_t n = 0; n < p.n; ++n) {
            double sum = 0;
            for (std::size_t k = 0; k < p.k; ++k) {
                const double product = double(a.f32[m * p.k + k]) * double(w.dense[n * p.k + k]);
                sum += product, squares += product * product * a.scale[m] * a.scale[m];
            }
            y[m * p.n + n] = sum * a.scale[m] + (p.bias ? double(w.bias[n]) : 0);
        }
    if (spread) *spread = squares;
    return y;
}

/// Empty when right; else what is wrong.
QByteArray check(const MatmulVariant& variant, const Weight& w, const Acts& a, const std::vector<double>& want,
                 double spread, ThreadTeam& team) {
    const MatmulProblem& p = w.problem;
    const auto prepared = variant.prepare(p, w.operand(), team);
    const std::size_t size = p.out == NumberType::F32 ? 4 : 2;
    for (const bool copy : {false, true}) {
        const auto cloned = copy ? prepared->clone() : nullptr;
        PreparedMatmul& runs = copy ? *cloned : *prepared;
        std::vector<std::uint8_t> out(want.size() * size + 2 * kGuard, 0xff); // NaN, and a guard at both ends
        const MatmulInput in{a.raw.data(), p.act == NumberType::I8 && !p.dynamicAct ? a.rawScale.data() : nullptr};
        if (!runs.run(in, {out.data() + kGuard, nullptr}, team, {})) return "stopped";
        for (std::size_t i = 0; i < kGuard; ++i)
            if (out[i] != 0xff || out[out.size() - 1 - i] != 0xff) return "wrote beyond the result";
        double error = 0, power = 0;
        for (std::size_t i = 0; i < want.size(); ++i) {
            const double y = double(scaleToF32(p.out, out.data() + kGuard, i));
            if (!std::isfinite(y)) return "NaN or infinity at " + QByteArray::number(qulonglong(i));
            error += (y - want[i]) * (y - want[i]), power += want[i] * want[i];
        }
        // The limit is for many results; of few, the error of one may be many times the usual.
        const double usual = std::max(variant.nmseLimit > 0 ? variant.nmseLimit : 1e-9, size == 2 ? 1e-5 : 0.0);
        const double limit = usual * (1 + 24 / double(want.size()));
        power = std::max(power, spread);
        if (error > limit * power)
            return "NMSE " + QByteArray::number(error / power) + " above " + QByteArray::number(limit);
    }
    return {};
}

} // namespace

class Matmul : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void everyFormat_data();
    void everyFormat();
    void awkwardSizes_data();
    void awkwardSizes();
    void rows_data() { awkwardSizes_data(); }
    void rows();
    void integersAreExact();
    void smallFloatsAreVectors();
    void nanAndInfinity();
    void dequantized();
    void coded();
    void fixedPoint();
    void extremeRows();
    void stops();

private:
    void run(const MatmulVariant& variant, const FormatCase& format, std::size_t m, std::size_t n, std::size_t k,
             bool kn, NumberType act, bool dynamic, bool bias, NumberType out);
    ThreadTeam m_one{1}, m_two{2};
    std::size_t m_done = 0; ///< products that the variant takes
};

void Matmul::run(const MatmulVariant& variant, const FormatCase& format, std::size_t m, std::size_t n, std::size_t k,
                 bool kn, NumberType act, bool dynamic, bool bias, NumberType out) {
    Weight w;
    if (!makeWeight(format, n, k, kn, unsigned(n * 7 + k), w)) return;
    w.problem.m = m, w.problem.bias = bias, w.problem.out = out;
    const Acts a = makeActs(w.problem, act, dynamic, unsigned(m + k));
    if (variant.declines(w.problem)) return;
    if (!taken(m_done++)) return;
    double spread = 0;
    const auto want = expected(w, a, &spread);
    for (ThreadTeam* team : {&m_one, &m_two}) {
        const QByteArray wrong = check(variant, w, a, want, spread, *team);
        const QByteArray what =
            QByteArray(variant.id) + ", " + format.name + (kn ? ", KN " : ", NK ") + QByteArray::number(qulonglong(m)) +
            "x" + QByteArray::number(qulonglong(n)) + "x" + QByteArray::number(qulonglong(k)) + " act " +
            QByteArray::number(int(act)) + (dynamic ? " dynamic" : "") + (bias ? " bias" : "") + " out " +
            QByteArray::number(int(out)) + ", threads " + QByteArray::number(team->size()) + ": " + wrong;
        QVERIFY2(wrong.isEmpty(), what.constData());
    }
}

void Matmul::everyFormat_data() {
    QTest::addColumn<int>("variant");
    int i = 0;
    for (const MatmulVariant* v : matmulVariants()) QTest::newRow(v->id) << i++;
}
void Matmul::everyFormat() {
    QFETCH(int, variant);
    const MatmulVariant& v = *matmulVariants()[std::size_t(variant)];
    if (!v.supported()) QSKIP("not on this processor");
    if (QByteArray(v.id).startsWith("coders")) QSKIP("no products");
    m_done = 0;
    for (const FormatCase& format : formatCases())
        for (const bool kn : {false, true})
            for (const std::size_t m : {1, 4, 13}) {
                run(v, format, m, 80, 136, kn, NumberType::F32, false, false, NumberType::F32);
                run(v, format, m, 72, 200, kn, NumberType::Bf16, false, true, NumberType::Bf16);
                run(v, format, m, 80, 136, kn, NumberType::I8, false, true, NumberType::F32);
                run(v, format, m, 80, 136, kn, NumberType::I8, true, false, NumberType::F32);
                if (QTest::currentTestFailed()) return;
            }
    QVERIFY2(m_done > 20, "the variant declined nearly everything");
}

void Matmul::awkwardSizes_data() { everyFormat_data(); }
void Matmul::awkwardSizes() {
    QFETCH(int, variant);
    const MatmulVariant& v = *matmulVariants()[std::size_t(variant)];
    if (!v.supported()) QSKIP("not on this processor");
    if (QByteArray(v.id).startsWith("coders")) QSKIP("no products");
    constexpr std::size_t sizes[] = {1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 127, 129, 255, 1023};
    const auto cases = formatCases();
    std::size_t turn = 0;
    for (const std::size_t n : sizes)
        for (const std::size_t k : sizes) {
            if (n * k > 20000) continue;          // long ones meet short ones
            for (const bool kn : {false, true}) { // formats take turns over the shapes
                const NumberType acts[] = {NumberType::F32, NumberType::I8, NumberType::Bf16};
                const NumberType act = acts[turn % 3];
                for (int step = 0; step < 3; ++step) {
                    const auto& format = cases[turn++ * 5 % cases.size()];
                    run(v, format, 1 + turn % 3, n, k, kn, act, act == NumberType::I8, turn % 2, NumberType::F32);
                    if (QTest::currentTestFailed()) return;
                }
            }
        }
}

void Matmul::rows() {
    QFETCH(int, variant);
    const MatmulVariant& v = *matmulVariants()[std::size_t(variant)];
    if (!v.supported()) QSKIP("not on this processor");
    if (QByteArray(v.id).startsWith("coders")) QSKIP("no products");
    for (const FormatCase& format : formatCases()) {
        if (QByteArray(format.name) != "nf4:64" && QByteArray(format.name) != "int8 rows" &&
            QByteArray(format.name) != "ternary rows")
            continue;
        for (const std::size_t m : {1, 2, 3, 5, 6, 7, 11, 12, 17, 25, 40})
            for (const bool kn : {false, true}) {
                run(v, format, m, 65, 130, kn, NumberType::F32, false, true, NumberType::F32);
                run(v, format, m, 65, 130, kn, NumberType::I8, true, false, NumberType::F32);
                if (QTest::currentTestFailed()) return;
            }
    }
}

// Whole numbers below 2^24 and scales of 1: every i8 variant must give the very integer.
void Matmul::integersAreExact() {
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
                const auto prepared = v->prepare(w.problem, w.operand(), m_two);
                QVERIFY(prepared->run({a.raw.data(), a.rawScale.data()}, {out.data(), nullptr}, m_two, {}));
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

// Every 8-bit float has more than the reference, for few rows and for many; another table of 256 has not.
void Matmul::smallFloatsAreVectors() {
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
        }
    }
    if (!floats) QSKIP("no vector kernels on this processor");
}

// What is not finite in a weight or a row of x must show in the results that it touches, and only there.
void Matmul::nanAndInfinity() {
    for (const FormatCase& format : formatCases()) {
        const QByteArray name = format.name;
        if (!name.startsWith("fp8") && name != "f32" && name != "bf16" && name != "f16" && name != "nf4:64" &&
            name != "int8 rows")
            continue;
        Weight w;
        QVERIFY(makeWeight(format, 70, 100, false, 5, w));
        const bool spoil = name != "nf4:64" && name != "int8 rows";
        if (spoil) // NaN
            std::memset(&w.codes[33 * w.rowBytes + 8], name.endsWith("fnuz") ? 0x80 : 0xff, 4);
        w.problem.m = 3;
        for (const bool dynamic : {false, true}) {
            Acts a = makeActs(w.problem, dynamic ? NumberType::I8 : NumberType::F32, dynamic, 1);
            const float nan = std::nanf("");
            std::memcpy(&a.raw[(1 * 100 + 7) * 4], &nan, 4);
            for (const MatmulVariant* v : matmulVariants()) {
                if (!v->supported() || v->declines(w.problem)) continue;
                std::vector<float> out(3 * 70);
                QVERIFY(v->prepare(w.problem, w.operand(), m_two)
                            ->run({a.raw.data(), nullptr}, {out.data(), nullptr}, m_two, {}));
                for (std::size_t i = 0; i < out.size(); ++i) {
                    const bool touched = i / 70 == 1 || (spoil && i % 70 == 33);
                    QVERIFY2(std::isnan(out[i]) == touched,
                             (QByteArray(v->id) + " " + name + " at " + QByteArray::number(qulonglong(i))).constData());
                }
            }
        }
    }
}

void Matmul::dequantized() {
    for (const FormatCase& format : formatCases()) {
        for (const NumberType out : {NumberType::F32, NumberType::Bf16}) {
            Weight w;
            if (!makeWeight(format, 36, 101, false, 5, w) && !makeWeight(format, 36, 104, false, 5, w)) continue;
            w.problem.op = MatmulOp::Dequantize, w.problem.out = out;
            for (const MatmulVariant* v : matmulVariants()) {
                if (!v->supported() || v->declines(w.problem)) continue;
                std::vector<std::uint8_t> got(w.dense.size() * 4);
                QVERIFY(v->prepare(w.problem, w.operand(), m_two)->run({}, {got.data(), nullptr}, m_two, {}));
                for (std::size_t i = 0; i < w.dense.size(); ++i) {
                    const float want = out == NumberType::F32 ? w.dense[i] : bf16ToF32(f32ToBf16(w.dense[i]));
                    QVERIFY2(scaleToF32(out, got.data(), i) == want,
                             (QByteArray(v->id) + " " + format.name).constData());
                }
            }
        }
    }
}

// The coders of every set write what the reference does.
void Matmul::coded() {
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
            QVERIFY(v->prepare(p, {source.data(), 400, nullptr, 0, nullptr}, m_two)
                        ->run({}, {codes.data(), scales.data()}, m_two, {}));
            codes.insert(codes.end(), scales.begin(), scales.end());
            if (first.empty()) first = codes;
            QVERIFY2(codes == first, (QByteArray(v->id) + " " + format.name).constData());
            ++written;
        }
    }
    QVERIFY(written >= 5);
}

// Whole numbers and halves are kept, nf4 comes within a half of 1/4095, and what would lose too much is declined.
void Matmul::fixedPoint() {
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
    // 64 products of the largest level and x stay below 2^31.
    QVERIFY(double(nf4->mostX) * 4095 * 64 < 2147483648.0 && nf4->mostX > 8190);

    std::vector<float> wide(16, 0.001f);
    wide[0] = 0.1f, wide[15] = -0.2f;
    QVERIFY(!fixedLevels(std::vector<float>(wide.begin(), wide.begin() + 3)));
    for (std::size_t i = 0; i < 15; ++i) wide[i] = 0.0123456f; // 0.2 / 4095 is coarse for that
    QVERIFY(!fixedLevels(wide));
    wide[7] = std::nanf("");
    QVERIFY(!fixedLevels(wide));
}

// Rows of x near both ends of the floats, one value far above the others, and zeros.
void Matmul::extremeRows() {
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
            v->prepare(w.problem, w.operand(), m_two)->run({a.raw.data(), nullptr}, {out.data(), nullptr}, m_two, {}));
        for (std::size_t row = 0; row < 4; ++row) {
            double error = 0, power = 0;
            for (std::size_t i = row * 72; i < (row + 1) * 72; ++i)
                error += std::pow(double(out[i]) - want[i], 2), power += want[i] * want[i];
            QVERIFY2(row == 3 ? error == 0 : error < 2 * std::max(v->nmseLimit, 1e-9) * power,
                     (QByteArray(v->id) + " row " + QByteArray::number(int(row))).constData());
        }
    }
}

void Matmul::stops() {
    Weight w;
    QVERIFY(makeWeight(formatCases().front(), 128, 256, false, 5, w));
    w.problem.m = 2;
    const Acts a = makeActs(w.problem, NumberType::F32, false, 1);
    std::vector<float> out(256);
    for (const MatmulVariant* v : matmulVariants()) {
        if (!v->supported() || v->declines(w.problem)) continue;
        const StopRequest now{[](const void*) { return true; }, nullptr};
        QVERIFY2(
            !v->prepare(w.problem, w.operand(), m_two)->run({a.raw.data(), nullptr}, {out.data(), nullptr}, m_two, now),
            v->id);
    }
}

QTEST_GUILESS_MAIN(Matmul)
#include "tst_matmul.moc"
