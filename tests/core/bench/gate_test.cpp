// SPDX-License-Identifier: GPL-3.0-or-later
// The correctness check before timing must detect every kind of wrong result.
#include "core/bench/run/gate.h"
#include "fake_backend.h"
#include "tests/support/test_program.h"

#include <QTest>

using namespace qs;
using namespace benchtest;

namespace {

struct Case {
    Operands operands;
    Reference reference;
    Check check;
    double limit = 0;
};

/// Checks a product of 3 x 40 x 130 by a backend with this fault, with the limit of the variant.
Case checked(const char* spec, const char* act, const char* op, Fault fault, double nmseLimit) {
    const auto* o = findBenchOp(op);
    const std::int64_t n = 40, k = 130;
    auto weights = *makeWeights(*parseSpec(spec), o->wIsKn ? k : n, o->wIsKn ? n : k,
                                *weightValues(o->wIsKn ? k : n, o->wIsKn ? n : k, 5, nullptr), {});
    Case out{*makeOperands({o, findBenchAct(act), 3, n, k, false, 5}, weights), {}, {}, 0};
    out.reference = *evaluateReference(out.operands, 5, {});
    Seen seen;
    FakeBackend fake;
    fake.seen = &seen;
    Variant variant;
    variant.id = "v";
    variant.nmseLimit = nmseLimit;
    fake.variants = {{variant, fault}};
    const auto kernel = fake.prepare(0, out.operands.problem, "v", out.operands.inputs);
    auto output = *GuardedOutput::create(out.operands.outs);
    (void)fake.execute(kernel->handle, out.operands.act, output.tensors());
    out.limit = nmseLimitFor(variant, out.operands.problem);
    out.check = checkOutput(out.operands, out.reference, output, out.limit);
    return out;
}

} // namespace

class GateTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void limits() {
        Problem problem;
        problem.act = OperandFormat{};
        Variant variant;
        QCOMPARE(nmseLimitFor(variant, problem), 1e-9);
        problem.act->format = "bf16";
        QCOMPARE(nmseLimitFor(variant, problem), 1e-5);
        problem.compute = "i8";
        QCOMPARE(nmseLimitFor(variant, problem), 1e-12);
        variant.nmseLimit = 0.5; // a variant cannot raise the limit above that
        QCOMPARE(nmseLimitFor(variant, problem), 1e-3);
        variant.nmseLimit = -1;
        QCOMPARE(nmseLimitFor(variant, problem), 0.0);
        variant.nmseLimit = 1e-4;
        problem.op = "quantize";
        QCOMPARE(nmseLimitFor(variant, problem), 0.0);
    }
    /// Terms 1 and -0.5 with sum 0.5. The rounding error of the terms is (1 + 0.25) / 0.25 of the error without
    /// cancellation.
    void sumsThatCancel() {
        const auto of = [](float second) {
            const auto values = std::make_shared<const std::vector<float>>(std::vector<float>{1, second});
            auto operands = *makeOperands({findBenchOp("matmul_t"), findBenchAct("f32"), 1, 1, 2, false, 5},
                                          *makeWeights(*parseSpec("f32"), 1, 2, values, {}));
            operands.x = {1, 1};
            return *evaluateReference(operands, 5, {});
        };
        QCOMPARE(of(-0.5f).cancellation, 5.0);
        QCOMPARE(of(1).cancellation, 1.0);        // without cancellation the limit is not stricter
        QCOMPARE(of(-0.99f).cancellation, 100.0); // the factor has a maximum
        QCOMPARE(nmseLimitHere(1e-5, of(-0.5f)), 5e-5);
        QCOMPARE(nmseLimitHere(1e-4, of(-0.99f)), 1e-3);
        QCOMPARE(nmseLimitHere(0, of(-0.5f)), 0.0);
    }
    void faults_data() {
        QTest::addColumn<QString>("act");
        QTest::addColumn<int>("fault");
        QTest::addColumn<double>("limit");
        QTest::addColumn<QString>("says");
        const auto add = [](const char* name, const char* act, Fault fault, double limit, const char* says) {
            QTest::newRow(name) << QString::fromLatin1(act) << int(fault) << limit << QString::fromLatin1(says);
        };
        add("right", "f32", Fault::None, 0, "");
        add("right, exact", "int8", Fault::None, -1, "");
        add("one ulp of an exact variant", "int8", Fault::OneUlp, -1, "claims to be exact");
        add("one ulp of a float variant", "f32", Fault::OneUlp, 0, "");
        add("one element", "f32", Fault::OneElement, 0, "the output [");
        add("one element, lax limit", "f32", Fault::OneElement, 1e-3, "the output [1, 20]");
        add("NaN", "f32", Fault::NotANumber, 1e-3, "the output [1, 20] is NaN");
        add("short write", "f32", Fault::ShortWrite, 1e-3, "the output [2, 39] was not written");
        add("beyond the end", "f32", Fault::Overrun, 1e-3, "after the tensor 'out' was overwritten");
    }
    void faults() {
        QFETCH(QString, act);
        QFETCH(int, fault);
        QFETCH(double, limit);
        QFETCH(QString, says);
        const auto c = checked("int8", act.toUtf8(), "matmul_t", Fault(fault), limit);
        QVERIFY2(c.check.passed == says.isEmpty(), c.check.reason.c_str());
        QVERIFY2(QString::fromStdString(c.check.reason).contains(says), c.check.reason.c_str());
    }
    void everyFormatRight_data() {
        QTest::addColumn<QString>("spec");
        QTest::addColumn<QString>("op");
        for (const auto& format : formats())
            for (const auto& op : benchOps())
                if (!std::string_view(op.abiOp).starts_with("quantize") && std::string_view(format.id) != "f16")
                    QTest::newRow(
                        qPrintable(QStringLiteral("%1 %2").arg(QLatin1String(format.id), QLatin1String(op.id))))
                        << QString::fromLatin1(format.id) << QString::fromLatin1(op.id);
    }
    void everyFormatRight() {
        QFETCH(QString, spec);
        QFETCH(QString, op);
        const auto parsed = *parseSpec(spec.toStdString());
        if (auto grid = scaleGrid(parsed, std::vector<std::int64_t>{4, 4});
            !grid || !weightFormat(EncodePlan(parsed), *grid))
            QSKIP("the interface has no packing for it");
        for (const char* act : {"f32", "bf16", "int8"}) {
            const auto c = checked(spec.toUtf8(), act, op.toUtf8(), Fault::None, 0);
            QVERIFY2(c.check.passed, c.check.reason.c_str());
            QVERIFY(c.check.nmse < 1e-13);
        }
    }
    /// One wrong output among a million changes the mean by less than the limit of a bf16 variant.
    void oneAmongMany() {
        auto weights = *makeWeights(*parseSpec("f32"), 1024, 2, *weightValues(1024, 2, 5, nullptr), {});
        const auto o = *makeOperands({findBenchOp("matmul_t"), findBenchAct("bf16"), 512, 1024, 2, false, 5}, weights);
        const auto r = *evaluateReference(o, 5, {});
        auto output = *GuardedOutput::create(o.outs);
        auto* y = reinterpret_cast<float*>(output.tensors()[0].data());
        for (std::size_t i = 0; i < r.y.size(); ++i) y[i] = float(r.y[i]);
        QVERIFY(checkOutput(o, r, output, 1e-5).passed);
        std::size_t big = 0;
        for (std::size_t i = 0; i < r.y.size(); ++i)
            if (std::fabs(r.y[i]) > std::fabs(r.y[big]) / 4) big = i;
        y[big] = 0;
        const auto check = checkOutput(o, r, output, 1e-5);
        QVERIFY(check.nmse < 1e-4);
        QVERIFY2(!check.passed, "a hole was not seen");
    }
    void zerosMustBeZeros() {
        auto zeros = std::make_shared<std::vector<float>>(64 * 2, 0.0f);
        auto weights = *makeWeights(*parseSpec("nf4"), 2, 64, zeros, {});
        const auto o = *makeOperands({findBenchOp("matmul_t"), findBenchAct("f32"), 1, 2, 64, false, 5}, weights);
        const auto r = *evaluateReference(o, 5, {});
        auto output = *GuardedOutput::create(o.outs);
        auto* y = reinterpret_cast<float*>(output.tensors()[0].data());
        y[0] = y[1] = 0;
        QVERIFY(checkOutput(o, r, output, 1e-9).passed);
        y[1] = 1e-30f;
        QVERIFY(!checkOutput(o, r, output, 1e-9).passed);
    }
    void quantizedCodes() {
        auto weights = *makeWeights(*parseSpec("nf4"), 3, 100, *weightValues(3, 100, 5, nullptr), {});
        const auto o = *makeOperands({findBenchOp("quantize"), findBenchAct("f32"), 1, 3, 100, false, 5}, weights);
        const auto r = *evaluateReference(o, 5, {});
        QVERIFY(r.formatNmse && *r.formatNmse > 1e-3 && *r.formatNmse < 0.02);
        auto output = *GuardedOutput::create(o.outs);
        QVERIFY(!checkOutput(o, r, output, 0).passed);
        for (std::size_t t = 0; t < 2; ++t)
            std::memcpy(output.tensors()[t].data(), weights->inputs[t].data(), weights->inputs[t].bytes);
        QVERIFY(checkOutput(o, r, output, 0).passed);
        output.tensors()[0].data()[7] ^= std::byte{1};
        QVERIFY(checkOutput(o, r, output, 0).reason.find("byte 7 of") != std::string::npos);
    }
    void tailsAreAwkward() {
        const auto shapes = tailShapes(*parseSpec("nf4:block=64"), *findBenchOp("matmul_t"));
        std::vector<std::int64_t> ms;
        bool shortBlock = false, oneBlock = false, below = false, above = false;
        for (const auto& s : shapes) {
            ms.push_back(s.m);
            shortBlock |= s.k > 64 && s.k % 64 != 0;
            oneBlock |= s.k == 64;
            below |= s.n % 16 == 15;
            above |= s.n % 16 == 1 && s.n > 1;
        }
        for (const std::int64_t m : {1, 2, 3, 5, 17}) QVERIFY(std::count(ms.begin(), ms.end(), m));
        QVERIFY(shortBlock && oneBlock && below && above);
    }
    /// In some dialects blocks cross rows. Then rows are chosen that blocks divide, so that the variant is not blamed.
    void tailsCanBeMade() {
        for (const char* text : {"nf4:dialect=bnb", "nf4:block=4096:dialect=bnb", "fp4:dialect=bnb", "nf4", "int8"})
            for (const auto& op : benchOps()) {
                const auto spec = parseSpec(text);
                QVERIFY2(spec, text);
                bool ragged = false;
                for (const auto& s : tailShapes(*spec, op)) {
                    const std::int64_t rows = op.wIsKn ? s.k : s.n, columns = op.wIsKn ? s.n : s.k;
                    const auto made = makeWeights(*spec, rows, columns, *weightValues(rows, columns, 5, nullptr), {});
                    QVERIFY2(made, made ? "" : made.error().message.c_str());
                    ragged |= rows % 16 == 15;
                }
                QVERIFY(ragged);
            }
    }
    void onceForEachVariant() {
        Seen seen;
        FakeBackend fake;
        fake.seen = &seen;
        Variant good, bad, picky;
        good.id = "good", bad.id = "bad", picky.id = "picky";
        fake.variants = {{good}, {bad, Fault::TailsWrong}, {picky, Fault::DeclineTails}};
        Gate gate;
        const OperandRequest request{findBenchOp("matmul_t"), findBenchAct("f32"), 1, 300, 300, false, 1};
        const auto spec = *parseSpec("nf4");
        const auto first = gate.tails(fake, "fake", 0, request, spec, good, {});
        QVERIFY(first.status == RowState::Ok && first.shapes >= 10 && first.worstNmse < 1e-12);
        const int executed = seen.executed;
        QVERIFY(gate.tails(fake, "fake", 0, request, spec, good, {}).shapes == first.shapes &&
                seen.executed == executed);
        const auto wrong = gate.tails(fake, "fake", 0, request, spec, bad, {});
        QVERIFY(wrong.status == RowState::Wrong && wrong.reason.find("small shape") != std::string::npos);
        const auto declined = gate.tails(fake, "fake", 0, request, spec, picky, {});
        QVERIFY(declined.status == RowState::Ok && declined.shapes == 0 && declined.declined >= 10);
        QCOMPARE(seen.prepared, seen.destroyed);
        QCOMPARE(seen.benchCalls, 0);
    }
};

QS_TEST(GateTest)
#include "gate_test.moc"
