// SPDX-License-Identifier: GPL-3.0-or-later
// The tensors passed through the interface, decoded from their description only.
#include "core/bench/run/reference.h"
#include "fake_backend.h"
#include "tests/support/test_program.h"

#include <QTest>

using namespace qs;
using benchtest::FakeBackend;

namespace {

Operands operandsOf(const char* specText, const char* op, const char* act, BenchShape shape, bool bias = false) {
    const auto spec = *parseSpec(specText);
    const auto* o = findBenchOp(op);
    const auto rows = o->wIsKn ? shape.k : shape.n, columns = o->wIsKn ? shape.n : shape.k;
    auto weights = *makeWeights(spec, rows, columns, *weightValues(rows, columns, 7, nullptr), {});
    return *makeOperands({o, findBenchAct(act), shape.m, shape.n, shape.k, bias, 7}, weights);
}

} // namespace

class OperandsTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void theSameEverywhere() {
        // Equal bits, because another machine must time the same numbers.
        QCOMPARE(randomBits(0, 0, 0), randomBits(0, 0, 0));
        double sum = 0, square = 0, cube = 0, largest = 0;
        constexpr int n = 200'000;
        for (int i = 0; i < n; ++i) {
            const double v = double(normalVariate(1, 2, std::uint64_t(i)));
            sum += v, square += v * v, cube += v * v * v;
            largest = std::max(largest, std::fabs(v));
        }
        QVERIFY(std::fabs(sum / n) < 0.01 && std::fabs(square / n - 1) < 0.02 && std::fabs(cube / n) < 0.03);
        QVERIFY(largest > 3.5 && largest <= 6);
        QVERIFY(normalVariate(1, 2, 3) != normalVariate(2, 2, 3) && normalVariate(1, 2, 3) != normalVariate(1, 3, 3));
    }

    /// axis=out follows the operation: rows of [N, K], columns of [K, N]. flat=yes cannot be described and is refused.
    void outputAxis() {
        const auto spec = *parseSpec("int8:axis=out");
        const auto values = *weightValues(6, 40, 3, nullptr);
        const auto rows = *makeWeights(spec, 6, 40, values, {}), columns = *makeWeights(spec, 6, 40, values, {}, true);
        QCOMPARE(rows->format.channelAxis, 0);
        QCOMPARE(columns->format.channelAxis, 1);
        QCOMPARE(rows->quantized.scales.size(), std::size_t(6));
        QCOMPARE(columns->quantized.scales.size(), std::size_t(40));
        const auto flat = makeWeights(*parseSpec("nf4:flat=yes"), 6, 40, values, {});
        QVERIFY(!flat && flat.error().message.find("flat=yes") != std::string::npos);
    }

    /// For every spec and difficult shape, the description in the interface decodes to the values of quantization.
    void packed_data() {
        QTest::addColumn<QString>("spec");
        for (const auto& format : formats()) QTest::newRow(format.id) << QString::fromLatin1(format.id);
        for (const char* spec : {"nf4:block=32", "nf4:decode=poly", "int8:block=16", "int8:axis=0", "int8:scale=tensor",
                                 "ternary:scale=channel", "ternary:scale=block:block=32", "binary:scale=channel",
                                 "binary:scale=tensor", "binary:scale=block"})
            QTest::newRow(spec) << QString::fromLatin1(spec);
    }
    void packed() {
        QFETCH(QString, spec);
        const auto parsed = *parseSpec(spec.toStdString());
        for (const auto& [rows, columns] :
             {std::pair<std::int64_t, std::int64_t>{1, 1}, {3, 65}, {5, 127}, {4, 64}, {7, 33}}) {
            auto made = makeWeights(parsed, rows, columns, *weightValues(rows, columns, 3, nullptr), {});
            if (!made) QSKIP(made.error().message.c_str()); // the interface cannot describe this format
            const auto& w = **made;
            if (w.format.format == "f16") continue; // the fake does not read it
            Problem problem;
            problem.weight = w.format;
            const auto values = materialize(w.quantized);
            for (std::int64_t r = 0; r < rows; ++r)
                for (std::int64_t c = 0; c < columns; ++c) {
                    const auto at = std::size_t(r * columns + c);
                    const double crossed = FakeBackend::weightAt(problem, w.inputs, r, c, columns);
                    const bool same = float(crossed) == values[at];
                    QVERIFY2(same,
                             qPrintable(
                                 QStringLiteral("[%1, %2] %3 %4").arg(r).arg(c).arg(crossed).arg(double(values[at]))));
                }
            std::uint64_t bytes = 0;
            for (const auto& tensor : w.inputs) bytes += tensor.bytes;
            QCOMPARE(w.bytes, bytes);
        }
    }
    void nf4AsTheInterfaceSays() {
        const auto o = operandsOf("nf4:block=64", "matmul_t", "f32", {2, 3, 100, {}});
        QCOMPARE(o.problem.weight->packing, std::string("pair_hi_first"));
        QCOMPARE(o.problem.weight->bits, 4u);
        QCOMPARE(o.problem.weight->block, std::uint64_t(64));
        QCOMPARE(o.problem.weight->blockAxis, 1);
        QCOMPARE(o.problem.weight->codebook.size(), std::size_t(16));
        QCOMPARE(o.inputs[0].dims, (std::vector<std::int64_t>{3, 64})); // padded to 128 codes
        QCOMPARE(o.inputs[1].dims, (std::vector<std::int64_t>{3, 2}));
        QCOMPARE(o.act[0].dims, (std::vector<std::int64_t>{2, 100}));
        QCOMPARE(o.outs[0].dims, (std::vector<std::int64_t>{2, 3}));
        QVERIFY(operandsOf("nf4:decode=poly", "matmul_t", "f32", {1, 2, 64, {}}).problem.weight->codebook[7] != 0);
    }
    void integersAndSigns() {
        const auto int8 = operandsOf("int8", "matmul_t", "int8", {2, 3, 70, {}});
        QCOMPARE(int8.inputs[0].dtype, std::string("i8"));
        QCOMPARE(int8.problem.weight->channelAxis, 0);
        QVERIFY(int8.problem.dynamicAct && int8.act[0].dtype == "f32" && int8.xScale.size() == 2);
        const auto fp8 = operandsOf("fp8_e4m3", "matmul_t", "fp8_e4m3", {2, 3, 70, {}});
        QVERIFY(fp8.problem.dynamicAct && fp8.problem.act->format == "fp8_e4m3" && fp8.act[0].dtype == "f32");
        const auto table = floatTable(*findFormat("fp8_e4m3"));
        const auto* given = reinterpret_cast<const float*>(fp8.act[0].data());
        for (std::size_t i = 0; i < fp8.x.size(); ++i) { // must be the nearest of all values
            const double v = double(given[i] / fp8.xScale[i / 70]);
            double nearest = 1e9;
            for (const float level : table)
                if (std::fabs(double(level) - v) < nearest) nearest = std::fabs(double(level) - v);
            QCOMPARE(std::fabs(fp8.x[i] - v), nearest);
        }
        const auto ternary = operandsOf("ternary", "matmul_t", "bf16", {2, 3, 70, {}});
        QVERIFY(ternary.problem.weight->packing == "quad_lo_first" && ternary.problem.weight->codeBias == -1);
        QVERIFY(ternary.problem.weight->codebook.empty() && ternary.problem.weight->scaleDtype == "none");
        QCOMPARE(ternary.act[0].bytes, std::uint64_t(2 * 2 * 70));
        const auto binary = operandsOf("binary", "matmul", "f32", {2, 3, 70, {}});
        QVERIFY(binary.problem.weight->packing == "octet_lo_first" && binary.problem.wIsKn);
        QCOMPARE(binary.problem.weight->codebook, (std::vector<float>{-1, 1}));
        QCOMPARE(binary.inputs[0].dims, (std::vector<std::int64_t>{70, 1}));
    }
    void quantizeAndDequantize() {
        const auto quantize = operandsOf("nf4", "quantize", "f32", {9, 3, 100, {}});
        QCOMPARE(quantize.problem.m, std::int64_t(1));
        QVERIFY(quantize.inputs.size() == 1 && quantize.inputs[0].role == "source" && !quantize.problem.act);
        QVERIFY(quantize.outs.size() == 2 && quantize.outs[0].role == "out" && quantize.outs[1].role == "out_scale");
        const auto stats = operandsOf("nf4", "quantize_stats", "f32", {9, 3, 100, {}});
        QVERIFY(stats.outs.size() == 3 && stats.outs[2].role == "out_sums" && stats.outs[2].bytes == 32);
        const auto decoded = materialize(stats.weights->quantized);
        double se2 = 0, most = 0;
        for (std::size_t i = 0; i < decoded.size(); ++i) {
            const double e = double(decoded[i]) - double((*stats.weights->original)[i]);
            se2 += e * e, most = std::max(most, std::fabs(e));
        }
        QVERIFY(std::fabs(stats.sums[0] - se2) < 1e-12 * se2 && stats.sums[2] == most && quantize.sums.empty());
        const auto dequantize = operandsOf("int8", "dequantize", "f32", {9, 3, 100, {}});
        QCOMPARE(dequantize.outs[0].dims, (std::vector<std::int64_t>{3, 100}));
    }
    void outliersAndBias() {
        const auto o = operandsOf("f32", "matmul_t", "f32", {64, 2, 640, {}}, true);
        QVERIFY(o.problem.bias && o.inputs.back().role == "bias" && o.bias.size() == 2);
        int outliers = 0;
        for (std::size_t k = 0; k < 640; ++k) {
            double square = 0;
            for (std::size_t m = 0; m < 64; ++m) square += o.x[m * 640 + k] * o.x[m * 640 + k];
            outliers += square / 64 > 25;
        }
        QVERIFY2(outliers >= 2 && outliers <= 30, qPrintable(QString::number(outliers)));
    }
    /// Compares the reference result with plain loops over the operands of the interface.
    void reference_data() {
        QTest::addColumn<QString>("spec");
        QTest::addColumn<QString>("act");
        QTest::addColumn<QString>("op");
        for (const char* spec :
             {"nf4:block=32", "int8", "int8:axis=0", "ternary", "binary:scale=tensor", "bf16", "f32"})
            for (const char* act : {"f32", "bf16", "int8"})
                for (const char* op : {"matmul_t", "matmul"})
                    QTest::newRow(qPrintable(
                        QStringLiteral("%1 %2 %3").arg(QLatin1String(spec), QLatin1String(act), QLatin1String(op))))
                        << QString::fromLatin1(spec) << QString::fromLatin1(act) << QString::fromLatin1(op);
    }
    void reference() {
        QFETCH(QString, spec);
        QFETCH(QString, act);
        QFETCH(QString, op);
        const auto o = operandsOf(spec.toUtf8(), op.toUtf8(), act.toUtf8(), {5, 19, 777, {}}, true);
        const auto r = *evaluateReference(o, 7, {});
        QCOMPARE(r.checked(), r.outputs());
        benchtest::Seen seen;
        FakeBackend fake;
        fake.seen = &seen;
        fake.variants = {{{.id = "v", .title = {}, .note = {}}}};
        const auto kernel = fake.prepare(0, o.problem, "v", o.inputs);
        auto out = *makeHostTensor("out", "f32", o.outs[0].dims);
        QVERIFY(fake.execute(kernel->handle, o.act, std::span(&out, 1)).has_value());
        const auto* y = reinterpret_cast<const float*>(out.data());
        for (std::size_t i = 0; i < r.y.size(); ++i)
            QVERIFY(std::fabs(double(y[i]) - r.y[i]) <= 1e-6 * (std::fabs(r.y[i]) + 1e-3));
        QVERIFY(r.formatNmse.has_value());
        QVERIFY(spec == QStringLiteral("f32") ? *r.formatNmse == 0 : *r.formatNmse > 0);
    }
    void sampledWhenLarge() {
        const auto o = operandsOf("ternary", "matmul_t", "f32", {200, 512, 64, {}});
        const auto whole = *evaluateReference(o, 7, {}), r = *evaluateReference(o, 7, {}, 1000);
        QCOMPARE(whole.checked(), whole.outputs());
        QVERIFY(r.checked() < r.outputs() && r.checked() >= 1000);
        QVERIFY(r.checkedRows.front() == 0 && r.checkedRows.back() == 199);
        QVERIFY(r.checkedColumns.front() == 0 && r.checkedColumns.back() == 511);
        for (std::size_t i = 0; i < r.checkedRows.size(); ++i)
            QCOMPARE(r.y[i * r.checkedColumns.size() + 1],
                     whole.y[std::size_t(r.checkedRows[i] * 512 + r.checkedColumns[1])]);
    }
};

QS_TEST(OperandsTest)
#include "operands_test.moc"
