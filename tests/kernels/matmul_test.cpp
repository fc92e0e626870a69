// SPDX-License-Identifier: GPL-3.0-or-later
// Compares every variant with an f64 product of the dense weight: formats, packings, orientations, activation types and
// odd sizes.

#include "kernels/kernel_set.h"
#include "kernels/matmul_operands.h"
#include "tests/kernels/matmul_acts.h"
#include "tests/support/test_program.h"
#include "tests/support/thinned.h"

#include <QtTest>
#include <map>
#include <tuple>

using namespace qs;
using namespace qs::test;

namespace {

constexpr std::size_t kGuard = 16;

/// Empty if correct; otherwise the problem.
QByteArray check(const MatmulVariant& variant, const Weight& w, const Acts& a, const std::vector<double>& want,
                 double spread, ThreadTeam& team) {
    const MatmulProblem& p = w.problem;
    const auto prepared = variant.prepare(p, w.operand(), team);
    const std::size_t size = p.out == NumberType::F32 ? 4 : 2;
    for (const bool copy : {false, true}) {
        const auto cloned = copy ? prepared->clone() : nullptr;
        PreparedMatmul& runs = copy ? *cloned : *prepared;
        std::vector<std::uint8_t> out(want.size() * size + 2 * kGuard, 0xff); // filled with NaN, with guard bytes at
                                                                              // both ends
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
        // The limit holds for the mean of many results. With few results one error may be many times larger.
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

private:
    void run(const MatmulVariant& variant, const FormatCase& format, std::size_t m, std::size_t n, std::size_t k,
             bool kn, NumberType act, bool dynamic, bool bias, NumberType out);
    /// Activations and f64 result; the same for all variants, so made once for all rows of a test.
    struct Product {
        Acts acts;
        std::vector<double> want;
        double spread = 0;
    };
    const Product& product(Weight& w, const FormatCase& format, NumberType act, bool dynamic);

    ThreadTeam one_{1}, two_{2};
    const std::vector<FormatCase> formats_ = formatCases();
    using Shape = std::tuple<const FormatCase*, std::size_t, std::size_t, bool>;
    std::map<Shape, Weight> weights_;
    std::map<std::tuple<Shape, std::size_t, NumberType, bool, bool>, Product> products_;
    std::size_t turn_ = 0;
    std::size_t done_ = 0; ///< number of products that the variant accepted
};

void Matmul::run(const MatmulVariant& variant, const FormatCase& format, std::size_t m, std::size_t n, std::size_t k,
                 bool kn, NumberType act, bool dynamic, bool bias, NumberType out) {
    if (!taken(turn_++)) return;
    MatmulProblem problem;
    if (!makeProblem(format, n, k, kn, problem)) return;
    problem.m = m, problem.bias = bias, problem.out = out, problem.act = act, problem.dynamicAct = dynamic;
    if (variant.declines(problem)) return; // checked first, because making the weight takes longer than the product
    ++done_;
    const auto [at, fresh] = weights_.try_emplace({&format, n, k, kn});
    Weight& w = at->second;
    if (fresh) QVERIFY(makeWeight(format, n, k, kn, unsigned(n * 7 + k), w));
    w.problem = problem;
    const Product& p = product(w, format, act, dynamic);
    for (ThreadTeam* team : {&one_, &two_}) {
        const QByteArray wrong = check(variant, w, p.acts, p.want, p.spread, *team);
        const QByteArray what =
            QByteArray(variant.id) + ", " + format.name + (kn ? ", KN " : ", NK ") + QByteArray::number(qulonglong(m)) +
            "x" + QByteArray::number(qulonglong(n)) + "x" + QByteArray::number(qulonglong(k)) + " act " +
            QByteArray::number(int(act)) + (dynamic ? " dynamic" : "") + (bias ? " bias" : "") + " out " +
            QByteArray::number(int(out)) + ", threads " + QByteArray::number(team->size()) + ": " + wrong;
        QVERIFY2(wrong.isEmpty(), what.constData());
    }
}

const Matmul::Product& Matmul::product(Weight& w, const FormatCase& format, NumberType act, bool dynamic) {
    const MatmulProblem& p = w.problem;
    const auto [at, fresh] = products_.try_emplace({{&format, p.n, p.k, p.weightIsKn}, p.m, act, dynamic, p.bias});
    if (fresh) {
        at->second.acts = makeActs(w.problem, act, dynamic, unsigned(p.m + p.k));
        at->second.want = expected(w, at->second.acts, &at->second.spread);
    }
    return at->second;
}

void Matmul::everyFormat_data() {
    weights_.clear(), products_.clear();
    QTest::addColumn<int>("variant");
    int i = 0;
    for (const MatmulVariant* v : matmulVariants()) QTest::newRow(v->id) << i++;
}
void Matmul::everyFormat() {
    QFETCH(int, variant);
    const MatmulVariant& v = *matmulVariants()[std::size_t(variant)];
    if (!v.supported()) QSKIP("not on this processor");
    if (QByteArray(v.id).startsWith("coders")) QSKIP("no products");
    turn_ = done_ = 0;
    for (const FormatCase& format : formats_) {
        ++turn_; // sanitized builds run only some combinations; this changes which ones for each format
        for (const bool kn : {false, true})
            for (const std::size_t m : {1, 4, 13}) {
                run(v, format, m, 80, 136, kn, NumberType::F32, false, false, NumberType::F32);
                run(v, format, m, 72, 200, kn, NumberType::Bf16, false, true, NumberType::Bf16);
                run(v, format, m, 80, 136, kn, NumberType::I8, false, true, NumberType::F32);
                run(v, format, m, 80, 136, kn, NumberType::I8, true, false, NumberType::F32);
                if (m == 4) run(v, format, m, 72, 137, kn, NumberType::Fp8E4m3, true, true, NumberType::F32);
                if (QTest::currentTestFailed()) return;
            }
    }
    QVERIFY2(done_ * kThinning > 20, "the variant declined nearly everything");
}

void Matmul::awkwardSizes_data() { everyFormat_data(); }
void Matmul::awkwardSizes() {
    QFETCH(int, variant);
    const MatmulVariant& v = *matmulVariants()[std::size_t(variant)];
    if (!v.supported()) QSKIP("not on this processor");
    if (QByteArray(v.id).startsWith("coders")) QSKIP("no products");
    constexpr std::size_t sizes[] = {1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 127, 129, 255, 1023};
    const auto& cases = formats_;
    std::size_t turn = 0;
    for (const std::size_t n : sizes)
        for (const std::size_t k : sizes) {
            if (n * k > 20000) continue;          // a long side is only combined with a short one
            for (const bool kn : {false, true}) { // each shape tests a part of the formats, in turn
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
    for (const FormatCase& format : formats_) {
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

QS_TEST(Matmul)
#include "matmul_test.moc"
