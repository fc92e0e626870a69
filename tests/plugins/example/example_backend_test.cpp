// SPDX-License-Identifier: GPL-3.0-or-later
// The example backend of CONTRIBUTING.md, called only through the interface.
#include "tests/plugins/support/abi_module.h"
#include "tests/support/test_program.h"

#include <QtTest>

using namespace qs::test;

class ExampleBackend : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init() {
        module = std::make_unique<AbiModule>(QS_TEST_BACKENDS "/example.so");
        QVERIFY2(module->error().empty(), module->error().c_str());
        QCOMPARE(module->open(), std::string());
    }
    void answersWhoItIs();
    void multiplies_data();
    void multiplies();
    void declinesWithAReason();
    void refusesTensorsOfAnotherSize();
    void timesOverCopies();
    void stopsWhenCancelled();
    void fitsAPage();

private:
    std::unique_ptr<AbiModule> module;
};

void ExampleBackend::answersWhoItIs() {
    QCOMPARE(std::string(module->table()->id), std::string("example"));
    QCOMPARE(module->probe().state, QS_PROBE_AVAILABLE);
    QVERIFY(module->table()->describe == nullptr && module->table()->roof == nullptr);
    const auto* query = module->table();
    QCOMPARE(query->struct_size, std::uint32_t(sizeof(qs_backend)));
}

void ExampleBackend::multiplies_data() {
    QTest::addColumn<QString>("format");
    QTest::newRow("f32") << QStringLiteral("f32");
    QTest::newRow("int8") << QStringLiteral("int8");
}
void ExampleBackend::multiplies() {
    QFETCH(QString, format);
    for (const std::int64_t m : {1, 3})
        for (const std::int64_t n : {1, 7, 33})
            for (const std::int64_t k : {1, 63, 64, 130}) {
                const Case c{.weight = format.toStdString(), .m = m, .n = n, .k = k};
                const AbiProblem problem(c);
                const auto support = module->query(problem.problem);
                QVERIFY2(support.level > 0, (c.name() + ": " + support.reason).c_str());
                QCOMPARE(support.variants.size(), std::size_t(1));
                const auto run = module->run(problem, support.variants[0].id);
                QVERIFY2(run.code == 0, (c.name() + ": " + run.message).c_str());
                QVERIFY2(run.nmse < 1e-11, (c.name() + ": " + std::to_string(run.nmse)).c_str());
                QVERIFY(run.guardsWhole);
            }
}

void ExampleBackend::declinesWithAReason() {
    for (const Case& c :
         {Case{.weight = "ternary", .m = 1, .n = 4, .k = 8}, Case{.weight = "f32", .act = "bf16"},
          Case{.weight = "f32", .n = 4, .k = 8, .kn = true}, Case{.weight = "f32", .n = 4, .k = 8, .bias = true},
          Case{.weight = "nf4", .n = 4, .k = 64}, Case{.weight = "int8", .n = 4, .k = 64, .scale = "block"},
          Case{.weight = "int8", .m = 2, .n = 4, .k = 8, .act = "dynamic"},
          Case{.weight = "int8", .n = 4, .k = 8, .scale = "column"},
          Case{.weight = "int8", .n = 4, .k = 64, .op = "dequantize"}}) {
        const AbiProblem problem(c);
        const auto support = module->query(problem.problem);
        QCOMPARE(support.level, QS_SUPPORT_NO);
        QVERIFY2(!support.reason.empty() && support.variants.empty(), c.name().c_str());
        QCOMPARE(module->run(problem, "plain").code, QS_UNIMPLEMENTED);
    }
}

void ExampleBackend::refusesTensorsOfAnotherSize() {
    AbiProblem problem({.weight = "int8", .n = 4, .k = 128});
    qs_tensor shorter = *problem.inputs[0];
    --shorter.bytes;
    problem.inputs[0] = &shorter;
    QCOMPARE(module->run(problem, "plain").code, QS_INVALID_ARGUMENT);
    problem.inputs.erase(problem.inputs.begin());
    QCOMPARE(module->run(problem, "plain").code, QS_INVALID_ARGUMENT);
}

void ExampleBackend::timesOverCopies() {
    const AbiProblem problem({.weight = "int8", .m = 2, .n = 64, .k = 256});
    const auto run = module->run(problem, "plain", 20, 3);
    QVERIFY2(run.code == 0, run.message.c_str());
    QCOMPARE(run.samples.size(), std::size_t(20));
    QVERIFY(std::all_of(run.samples.begin(), run.samples.end(), [](std::uint64_t ns) { return ns > 0; }));
    QVERIFY(run.lastOutNmse < 1e-11);
    QVERIFY(run.guardsWhole);
    QCOMPARE(run.info.weight_bytes, std::int64_t(64 * 256 + 64 * 4));
}

void ExampleBackend::stopsWhenCancelled() {
    // The host asks to stop, so bench returns before its first sample.
    const AbiProblem problem({.weight = "f32", .m = 1, .n = 64, .k = 64});
    qs_host host{};
    host.struct_size = sizeof host;
    host.should_stop = [](void*) -> std::int32_t { return 1; };
    qs_ctx* ctx = nullptr;
    const qs_backend* table = module->table();
    QCOMPARE(table->open(&host, nullptr, 0, &ctx, nullptr), QS_OK);
    qs_kernel* kernel = nullptr;
    qs_kernel_info info{};
    info.struct_size = sizeof info;
    QCOMPARE(table->prepare(ctx, 0, &problem.problem, "plain", problem.inputs.data(),
                            std::uint32_t(problem.inputs.size()), &kernel, &info, nullptr),
             QS_OK);
    std::uint64_t samples[100];
    qs_run_opts opts{};
    opts.struct_size = sizeof opts, opts.iters = 100, opts.max_seconds = 10;
    qs_run_result result{};
    result.struct_size = sizeof result, result.cap = 100, result.samples_ns = samples;
    QCOMPARE(table->bench(kernel, problem.acts.data(), 1, &opts, &result, nullptr), QS_CANCELLED);
    QCOMPARE(result.n, 0u);
    table->kernel_destroy(kernel);
    table->close(ctx);
}

void ExampleBackend::fitsAPage() {
    QFile file(QStringLiteral(QS_SOURCE_DIR "/plugins/example/example.c"));
    QVERIFY(file.open(QIODevice::ReadOnly));
    const auto lines = file.readAll().count('\n');
    QVERIFY2(lines <= 150, qPrintable(QString::number(lines)));
}

QS_TEST(ExampleBackend)
#include "example_backend_test.moc"
