// SPDX-License-Identifier: GPL-3.0-or-later
// Compares figures of `analyze` with the formulas in plain double arithmetic, for every input dtype. The expected
// values use no code of the workbench.
#include "cli_run.h"
#include "tests/support/test_program.h"

#include <QTemporaryDir>
#include <algorithm>
#include <array>
#include <cfloat>
#include <cmath>
#include <limits>
#include <map>
#include <set>

using namespace clitest;

namespace {

constexpr int kRows = 8, kColumns = 32, kBlock = 16;
constexpr double kInf = std::numeric_limits<double>::infinity();

/// A random sequence without a library: x_n+1 = a x_n + c modulo 2^64.
struct Sequence {
    quint64 state = 12345;
    quint64 next() {
        state = state * 6364136223846793005u + 1442695040888963407u;
        return state >> 33;
    }
};

struct Input {
    QByteArray bytes;
    std::vector<double> values; ///< as stored in the file; for F64, cast to float gives the f32 value
};

/// Random values of a 16-bit float type, made from sign, exponent and mantissa bits.
Input halves(int mantissaBits, int bias) {
    Input input;
    Sequence sequence;
    for (int i = 0; i < kRows * kColumns; ++i) {
        const int sign = int(sequence.next() & 1), mantissa = int(sequence.next()) & ((1 << mantissaBits) - 1);
        const int exponent = bias - 6 + int(sequence.next() % 6);
        const auto bits = quint16(sign << 15 | exponent << mantissaBits | mantissa);
        input.bytes.append(reinterpret_cast<const char*>(&bits), 2);
        const double size = std::ldexp(1 + mantissa / double(1 << mantissaBits), exponent - bias);
        input.values.push_back(sign ? -size : size);
    }
    return input;
}

Input doubles() {
    Input input;
    Sequence sequence;
    for (int i = 0; i < kRows * kColumns; ++i) {
        const double value = (double(sequence.next()) - 0x1p30) / 1.1e9 + 1e-9 / 3; // not exactly representable in f32
        input.bytes.append(reinterpret_cast<const char*>(&value), 8);
        input.values.push_back(value);
    }
    return input;
}

Input singles(bool withNonFinite) {
    Input input;
    for (double value : doubles().values) {
        const std::size_t i = input.values.size();
        if (withNonFinite && i == 3) value = std::nan("");
        if (withNonFinite && i == 40) value = kInf;
        if (withNonFinite && (i == 41 || i == 200)) value = -kInf;
        const float single = float(value);
        input.bytes.append(reinterpret_cast<const char*>(&single), 4);
        input.values.push_back(double(single));
    }
    return input;
}

constexpr std::array<double, 16> kNf4 = {-1.0,         -0.6961928, -0.52507305, -0.3949175, -0.28444138, -0.18477343,
                                         -0.091050036, 0.0,        0.0795803,   0.1609302,  0.2461123,   0.33791524,
                                         0.44070983,   0.562617,   0.72295684,  1.0};

/// Decoded value and code of each element of a group.
struct Coded {
    std::vector<double> decoded;
    std::vector<int> codes;
};

double meanAbs(const std::vector<double>& x) {
    double sum = 0, n = 0;
    for (const double v : x)
        if (std::isfinite(v)) sum += std::fabs(v), ++n;
    return sum / n;
}

Coded codedGroup(const QString& format, const std::vector<double>& x) {
    double largest = 0;
    for (const double v : x)
        if (std::isfinite(v)) largest = std::max(largest, std::fabs(v));
    Coded out;
    for (double v : x) {
        if (std::isnan(v)) v = 0;
        int code = 0;
        double decoded = 0;
        if (format == s("nf4")) {
            const double n = std::clamp(v / (largest + double(FLT_MIN)), -1.0, 1.0);
            for (int c = 1; c < 16; ++c)
                if (std::fabs(n - kNf4[std::size_t(c)]) < std::fabs(n - kNf4[std::size_t(code)])) code = c;
            decoded = kNf4[std::size_t(code)] * largest;
        } else if (format == s("int8")) {
            const double scale = largest / 127 + double(FLT_MIN);
            code = int(std::nearbyint(std::clamp(v / scale, -127.0, 127.0)));
            decoded = code * scale;
        } else if (format == s("binary")) {
            code = v < 0 ? -1 : 1;
            decoded = code * meanAbs(x);
        } else {
            const double delta = 0.7 * meanAbs(x);
            double sum = 0, n = 0;
            for (const double w : x)
                if (std::isfinite(w) && std::fabs(w) > delta) sum += std::fabs(w), ++n;
            code = v > delta ? 1 : v < -delta ? -1 : 0;
            decoded = code * (sum / n);
        }
        out.codes.push_back(code);
        out.decoded.push_back(decoded);
    }
    return out;
}

struct Spec {
    const char* text;
    const char* format;
    int group, levels;
    double bpw;
};
constexpr std::array<Spec, 5> kSpecs = {{{"nf4:block=16", "nf4", kBlock, 16, 4 + 32.0 / kBlock},
                                         {"int8", "int8", kColumns, 255, 8 + 32.0 / kColumns},
                                         {"int8:block=16", "int8", kBlock, 255, 8 + 32.0 / kBlock},
                                         {"binary:scale=channel", "binary", kColumns, 2, 2 + 32.0 / kColumns},
                                         {"ternary:scale=channel", "ternary", kColumns, 3, 2 + 32.0 / kColumns}}};

Coded coded(const Spec& spec, const std::vector<double>& x) {
    Coded all;
    for (std::size_t at = 0; at < x.size(); at += std::size_t(spec.group)) {
        const auto begin = x.begin() + std::ptrdiff_t(at);
        const Coded part = codedGroup(s(spec.format), {begin, begin + spec.group});
        all.codes.insert(all.codes.end(), part.codes.begin(), part.codes.end());
        all.decoded.insert(all.decoded.end(), part.decoded.begin(), part.decoded.end());
    }
    return all;
}

std::map<QString, double> expectedFigures(const Spec& spec, const std::vector<double>& x, bool everyCodeCounts) {
    const Coded all = coded(spec, x);
    double n = 0, se = 0, se2 = 0, sae = 0, most = 0, sw2 = 0, sv2 = 0, swv = 0, zeros = 0, flips = 0, s1 = 0;
    double largest = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const double w = x[i], v = all.decoded[i], e = v - w;
        if (!std::isfinite(w)) continue;
        ++n, se += e, se2 += e * e, sae += std::fabs(e), most = std::max(most, std::fabs(e));
        sw2 += w * w, sv2 += v * v, swv += w * v, s1 += w;
        zeros += v == 0, flips += w * v < 0, largest = std::max(largest, std::fabs(w));
    }
    double m2 = 0, m4 = 0;
    for (const double w : x)
        if (std::isfinite(w)) m2 += std::pow(w - s1 / n, 2) / n, m4 += std::pow(w - s1 / n, 4) / n;
    std::map<QString, double> out = {{s("mse"), se2 / n},
                                     {s("rmse"), std::sqrt(se2 / n)},
                                     {s("mae"), sae / n},
                                     {s("max_abs"), most},
                                     {s("nmse"), se2 / sw2},
                                     {s("sqnr_db"), -10 * std::log10(se2 / sw2)},
                                     {s("cosine"), swv / std::sqrt(sw2 * sv2)},
                                     {s("bias"), se / n},
                                     {s("zero_share"), zeros / n},
                                     {s("sign_flips"), flips},
                                     {s("kurtosis"), m4 / (m2 * m2) - 3},
                                     {s("crest"), largest / std::sqrt(sw2 / n)},
                                     {s("bpw"), spec.bpw}};
    if (!everyCodeCounts) return out;
    std::map<int, double> counts;
    for (const int code : all.codes) counts[code] += 1 / n;
    double entropy = 0;
    for (const auto& [code, share] : counts) entropy -= share * std::log2(share);
    out[s("code_entropy")] = entropy;
    out[s("dead_codes")] = double(spec.levels) - double(counts.size());
    return out;
}

} // namespace

class TestKnownAnswers : public QObject {
    Q_OBJECT
    QTemporaryDir dir_;

    QString file(const char* dtype, const Input& input) {
        return put(dir_.filePath(s("in.safetensors")), safetensors({{"w", dtype, "[8,32]", input.bytes}}));
    }

    void compare(const char* dtype, const Input& input, const char* suffix) {
        std::vector<double> single; // all formats quantize the f32 values
        for (const double value : input.values) single.push_back(double(float(value)));
        QStringList arguments = {s("analyze"), file(dtype, input), s("--json"), s("-")};
        for (const Spec& spec : kSpecs) arguments << s("--spec") << s(spec.text) + s(suffix);
        const auto ran = run(arguments);
        QVERIFY2(ran.code == 0, ran.err.constData());
        const auto listed = rows(ran.out);
        QCOMPARE(std::size_t(listed.size()), kSpecs.size());
        for (std::size_t i = 0; i < kSpecs.size(); ++i) {
            const auto row = listed[int(i)].toObject();
            QCOMPARE(row[s("spec")].toString(), s(kSpecs[i].text) + s(suffix));
            const auto isFinite = [](double v) { return std::isfinite(v); };
            const bool finite = std::all_of(single.begin(), single.end(), isFinite);
            for (const auto& [id, want] : expectedFigures(kSpecs[i], single, finite)) {
                QVERIFY2(row[id].isDouble(), qPrintable(id));
                const double got = row[id].toDouble();
                // The codes agree, so only the rounding to f32 remains: 2^-24 of the largest value in each sum.
                const double room =
                    id == s("bias") || id == s("max_abs") ? 3e-7 : std::max(2e-6 * std::fabs(want), 1e-12);
                QVERIFY2(std::fabs(got - want) <= room, qPrintable(QStringLiteral("%1 of %2 as %3: %4, not %5")
                                                                       .arg(id, s(kSpecs[i].text), s(dtype))
                                                                       .arg(got, 0, 'g', 12)
                                                                       .arg(want, 0, 'g', 12)));
            }
        }
    }

private Q_SLOTS:
    void f64() { compare("F64", doubles(), ""); }
    void f32() { compare("F32", singles(false), ""); }
    void f16() { compare("F16", halves(10, 15), ""); }
    void bf16() { compare("BF16", halves(7, 127), ""); }

    void nanAreSkipped() {
        const Input input = singles(true);
        compare("F32", input, ":nan=skip");
        const auto ran = run({s("analyze"), file("F32", input), s("--spec"), s("nf4:block=16:nan=skip"), s("--spec"),
                              s("nf4:block=16"), s("--json"), s("-")});
        QVERIFY2(ran.code == 0, ran.err.constData());
        for (const auto& value : rows(ran.out)) {
            const auto row = value.toObject();
            QCOMPARE(row[s("nan")].toInt(), 1);
            QCOMPARE(row[s("inf")].toInt(), 3);
            const bool skips = row[s("spec")].toString().endsWith(s("skip"));
            QCOMPARE(row[s("status")].toString(), skips ? s("ok") : s("refused"));
            QCOMPARE(row[s("mse")].isNull(), !skips);
        }
    }

    /// NaN gets the code of 0, an infinity gets the largest code of its sign.
    void skippedValuesAreStored_data() {
        QTest::addColumn<int>("index");
        for (std::size_t i = 0; i < kSpecs.size(); ++i) QTest::newRow(kSpecs[i].text) << int(i);
    }
    void skippedValuesAreStored() {
        QFETCH(int, index);
        const Spec& spec = kSpecs[std::size_t(index)];
        const Input input = singles(true);
        const QString stored = dir_.filePath(s("q.safetensors")), back = dir_.filePath(s("d.safetensors"));
        auto ran =
            run({s("quantize"), file("F32", input), s("--spec"), s(spec.text) + s(":nan=skip"), s("-o"), stored});
        QVERIFY2(ran.code == 0, ran.err.constData());
        ran = run({s("dequantize"), stored, s("-o"), back});
        QVERIFY2(ran.code == 0, ran.err.constData());
        const auto bytes = bytesOf(back);
        const qsizetype data = bytes.size() - kRows * kColumns * 4;
        const auto expected = coded(spec, input.values).decoded;
        for (int i = 0; i < kRows * kColumns; ++i) {
            float got = 0;
            std::memcpy(&got, bytes.constData() + data + 4 * i, 4);
            const double want = expected[std::size_t(i)];
            QVERIFY2(std::fabs(double(got) - want) <= 3e-7, qPrintable(QString::number(i)));
        }
    }

    /// F64 is converted to F32 once, and the largest difference is reported.
    void conversionErrorOfF64() {
        const Input input = doubles();
        double largest = 0;
        for (const double value : input.values) largest = std::max(largest, std::fabs(value - double(float(value))));
        QVERIFY(largest > 0);
        const auto ran = run({s("inspect"), file("F64", input), s("--stats"), s("--json"), s("-")});
        QVERIFY2(ran.code == 0, ran.err.constData());
        const auto row = rows(ran.out, "tensors")[0].toObject();
        QCOMPARE(row[s("conversion_error")].toDouble(), largest);
        const auto analysed = run({s("analyze"), dir_.filePath(s("in.safetensors")), s("--spec"), s("nf4"), s("--spec"),
                                   s("int8"), s("--json"), s("-")});
        QVERIFY2(analysed.code == 0, analysed.err.constData());
        for (const auto& value : rows(analysed.out)) {
            const auto reason = value.toObject()[s("reason")].toString();
            QVERIFY2(reason.contains(s("rounded to f32 first, by at most %1").arg(largest, 0, 'g', 3)),
                     qPrintable(reason));
        }
    }
};

QS_TEST(TestKnownAnswers)
#include "known_answers_test.moc"
