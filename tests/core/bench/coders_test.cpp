// SPDX-License-Identifier: GPL-3.0-or-later
// Compares quantize and dequantize of the backend cpu with the quantizer of the program, for every format with every
// kind of scale.
#include "core/bench/backend/local_backend.h"
#include "core/bench/run/gate.h"
#include "plugins/cpu/cpu_backend.h"
#include "tests/support/test_program.h"
#include "tests/support/thinned.h"

#include <QTest>

using namespace qs;

class CodersTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() {
        auto opened = LocalBackend::open(quantscope_cpu_backend(), {{"threads", "2"}}, std::make_shared<PluginHost>());
        QVERIFY(opened.has_value());
        backend_ = std::move(*opened);
    }

    void everyFormatAndScale_data() {
        QTest::addColumn<QString>("spec");
        std::size_t turn = 0;
        for (const auto& format : formats()) {
            if (!format.bitWidths.empty()) continue; // a backend must know the levels beforehand
            for (const char* scale : {"", ":scale=none", ":scale=tensor", ":scale=channel", ":axis=0", ":block=2",
                                      ":block=6", ":block=32", ":block=64"}) {
                const std::string spec = std::string(format.id) + scale;
                if (format.kind == FormatKind::Superblock) continue; // the interface has no superblocks
                if (format.ownScale != OwnScale::F32) continue; // nor scales of other dtypes
                if (parseSpec(spec) && qs::test::taken(turn++))
                    QTest::newRow(spec.c_str()) << QString::fromStdString(spec);
            }
        }
        QTest::newRow("nf4:decode=poly") << QStringLiteral("nf4:decode=poly");
    }
    void everyFormatAndScale() {
        QFETCH(QString, spec);
        const auto parsed = *parseSpec(spec.toStdString());
        for (const char* op : {"quantize", "dequantize", "quantize_stats"}) {
            const OperandRequest request{findBenchOp(op), findBenchAct("f32"), 1, 33, 130, false, 1};
            const auto weights = makeWeights(parsed, 33, 130, *weightValues(33, 130, 1, nullptr), {});
            QVERIFY2(weights.has_value(), weights.has_value() ? "" : weights.error().message.c_str());
            const auto operands = makeOperands(request, *weights);
            QVERIFY(operands.has_value());
            const auto support = backend_->query(0, operands->problem);
            const bool measures = std::string_view(op) == "quantize_stats";
            if (measures && support && support->reason.find("measured") != std::string::npos) continue;
            QVERIFY2(support && !support->variants.empty(), support ? support->reason.c_str() : "query");
            for (const auto& variant : support->variants) {
                const auto verdict = gate_.tails(*backend_, "cpu", 0, request, parsed, variant, {});
                QVERIFY2(verdict.status == RowState::Ok && verdict.shapes >= 6,
                         (std::string(op) + " " + variant.id + ": " + verdict.reason).c_str());
            }
        }
    }

    /// Sums over several pieces, and rows longer than one piece.
    void largeGroups_data() {
        QTest::addColumn<QString>("spec");
        for (const char* spec : {"ternary", "ternary:scale=tensor", "ternary:scale=channel", "binary:scale=tensor",
                                 "binary:scale=channel", "int8:scale=tensor", "int8", "fp8_e4m3:axis=0"})
            QTest::newRow(spec) << QString::fromLatin1(spec);
    }
    void largeGroups() {
        QFETCH(QString, spec);
        constexpr std::int64_t rows = 3, columns = 70'001;
        const auto weights =
            makeWeights(*parseSpec(spec.toStdString()), rows, columns, *weightValues(rows, columns, 9, nullptr), {});
        const auto operands =
            makeOperands({findBenchOp("quantize"), findBenchAct("f32"), 1, rows, columns, false, 9}, *weights);
        const auto reference = evaluateReference(*operands, 9, {});
        auto output = *GuardedOutput::create(operands->outs);
        const auto support = backend_->query(0, operands->problem);
        QVERIFY(support && !support->variants.empty());
        for (const auto& variant : support->variants) {
            const auto kernel = backend_->prepare(0, operands->problem, variant.id, operands->inputs);
            QVERIFY(kernel.has_value());
            output.refill();
            QVERIFY(backend_->execute(kernel->handle, {}, output.tensors()).has_value());
            const Check check = checkOutput(*operands, *reference, output, 0);
            QVERIFY2(check.passed, (variant.id + ": " + check.reason).c_str());
            backend_->destroy(kernel->handle);
        }
    }

    /// A sum with a relative error of 1e-6 is wrong, and so is one that was not written.
    void wrongSumsAreWrong() {
        const auto weights = makeWeights(*parseSpec("int4:block=32"), 9, 200, *weightValues(9, 200, 3, nullptr), {});
        const auto operands =
            *makeOperands({findBenchOp("quantize_stats"), findBenchAct("f32"), 1, 9, 200, false, 3}, *weights);
        const auto reference = *evaluateReference(operands, 3, {});
        const auto support = backend_->query(0, operands.problem);
        QVERIFY(support && !support->variants.empty());
        const auto kernel = backend_->prepare(0, operands.problem, support->variants[0].id, operands.inputs);
        auto output = *GuardedOutput::create(operands.outs);
        QVERIFY(kernel && backend_->execute(kernel->handle, {}, output.tensors()).has_value());
        QVERIFY(checkOutput(operands, reference, output, 0).passed);
        auto* sums = reinterpret_cast<double*>(output.tensors().back().data());
        for (const auto& [i, says] : {std::pair(0, "sum of squared errors"), std::pair(1, "sum of squares"),
                                      std::pair(2, "largest error"), std::pair(3, "largest magnitude")}) {
            const double right = std::exchange(sums[i], sums[i] * (1 + 2e-6));
            const Check check = checkOutput(operands, reference, output, 0);
            QVERIFY(!check.passed && check.reason.find(says) != std::string::npos);
            sums[i] = right;
        }
        QVERIFY(checkOutput(operands, reference, output, 0).passed);
        backend_->destroy(kernel->handle);
        output.refill();
        QVERIFY(!checkOutput(operands, reference, output, 0).passed);
    }

    void whatHasNoWordsIsDeclined() {
        for (const char* text : {"int4:sym=no", "int8:sym=no"})
            if (const auto spec = parseSpec(text)) {
                const auto weights = makeWeights(*spec, 4, 64, *weightValues(4, 64, 1, nullptr), {});
                QVERIFY(!weights && weights.error().message.find("zero points") != std::string::npos);
            }
    }
    void anotherRuleIsDeclined_data() {
        QTest::addColumn<QString>("spec");
        for (const char* spec : {"int8:calib=absmax,0.9", "ternary:dialect=bitnet"})
            QTest::newRow(spec) << QString::fromLatin1(spec);
    }
    void anotherRuleIsDeclined() {
        QFETCH(QString, spec);
        const auto weights = makeWeights(*parseSpec(spec.toStdString()), 4, 64, *weightValues(4, 64, 1, nullptr), {});
        const auto made = [&](const char* op) {
            return makeOperands({findBenchOp(op), findBenchAct("f32"), 1, 4, 64, false, 1}, *weights);
        };
        QVERIFY(made("dequantize").has_value());
        const auto refused = made("quantize");
        QVERIFY(!refused && refused.error().message.find("calibration") != std::string::npos);
    }

private:
    std::unique_ptr<LocalBackend> backend_;
    Gate gate_;
};

QS_TEST(CodersTest)
#include "coders_test.moc"
