// SPDX-License-Identifier: GPL-3.0-or-later
// The backend cpu (our kernels) through the backend interface: every function of the table.
#include "plugins/cpu/cpu_backend.h"
#include "tests/plugins/support/abi_module.h"
#include "tests/support/test_program.h"

#include <QStandardPaths>
#include <QtTest>

#include <cmath>
#include <thread>

using namespace qs::test;

class CpuBackend : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init() {
        module = std::make_unique<AbiModule>(quantscope_cpu_backend());
        QCOMPARE(module->open({{"threads", "2"}}), std::string());
    }
    void answersWhoItIs();
    void multiplies_data();
    void multiplies();
    void demandedArithmetic();
    void dequantizes();
    void quantizes();
    void quantizesActivations();
    void timesOverCopies();
    void roofs();
    void artifacts();
    void assembly();
    void stopsWhenCancelled();

private:
    std::unique_ptr<AbiModule> module;
};

void CpuBackend::answersWhoItIs() {
    const qs_backend* table = module->table();
    QCOMPARE(std::string(table->id), std::string("cpu"));
    QCOMPARE(table->isolation, std::uint32_t(QS_ISOLATION_NOT_NEEDED));
    QCOMPARE(table, quantscope_cpu_backend());
    QCOMPARE(module->probe().state, QS_PROBE_AVAILABLE);
    const auto description = QJsonDocument::fromJson(QByteArray::fromStdString(module->describe())).object();
    QCOMPARE(description.value(QStringLiteral("threads")).toInt(), 2);
    std::uint32_t devices = 0;
    QCOMPARE(table->device_count(module->context(), &devices, nullptr), QS_OK);
    QCOMPARE(devices, 1u);
    auto device = sized<qs_device>();
    QCOMPARE(table->device_get(module->context(), 0, &device, nullptr), QS_OK);
    QCOMPARE(device.kind, QS_DEVICE_CPU);
    QVERIFY(device.mem_total > 0);
    QCOMPARE(table->device_get(module->context(), 1, &device, nullptr), QS_INVALID_ARGUMENT);
    QVERIFY(!table->extension("anything", 1));
}

void CpuBackend::multiplies_data() {
    QTest::addColumn<QString>("format");
    QTest::addColumn<bool>("kn");
    for (const char* format : {"f32", "bf16", "nf4", "int8", "int4", "ternary", "binary", "fp8_e4m3"})
        for (const bool kn : {false, true})
            QTest::addRow("%s %s", format, kn ? "KN" : "NK") << QString::fromLatin1(format) << kn;
}
void CpuBackend::multiplies() {
    QFETCH(QString, format);
    QFETCH(bool, kn);
    const bool plain = format == QStringLiteral("f32") || format == QStringLiteral("bf16");
    for (const char* scale : {"", "tensor", "row", "column", "block"}) {
        if (plain && *scale) continue;
        for (const char* act : {"f32", "bf16", "int8", "dynamic", "dynamic fp8"})
            for (const auto& [m, n, k] : {std::tuple(1, 33, 130), std::tuple(5, 64, 64), std::tuple(17, 65, 96)}) {
                const Case c{.weight = format.toStdString(),
                             .m = m,
                             .n = n,
                             .k = k,
                             .kn = kn,
                             .bias = n == 33,
                             .act = act,
                             .scale = scale,
                             .block = 32,
                             .out = m == 5 ? "bf16" : "f32"};
                const AbiProblem problem(c);
                const auto support = module->query(problem.problem);
                QVERIFY2(support.level > 0 && !support.variants.empty(), (c.name() + ": " + support.reason).c_str());
                for (const auto& variant : support.variants) {
                    const auto run = module->run(problem, variant.id, 2, 2);
                    const double limit =
                        std::max(variant.nmseLimit > 0 ? variant.nmseLimit : 1e-9, m == 5 ? 1e-5 : 0.0);
                    const std::string what =
                        variant.id + ", " + c.name() + ": " + run.message + " " + std::to_string(run.nmse / limit);
                    QVERIFY2(run.code == 0, what.c_str());
                    QVERIFY2(run.nmse <= limit && run.lastOutNmse <= limit, what.c_str());
                    QVERIFY2(run.guardsWhole && run.samples.size() == 2, what.c_str());
                }
            }
    }
}

void CpuBackend::demandedArithmetic() {
    for (const char* compute : {"f32", "bf16", "i8"}) {
        AbiProblem problem({.weight = "int8", .m = 2, .n = 32, .k = 64, .act = "dynamic"});
        problem.problem.compute = compute;
        for (const auto& variant : module->query(problem.problem).variants) {
            const bool reference = variant.id == "reference" && std::string(compute) == "f32";
            QVERIFY2(reference || variant.id.find(compute) != std::string::npos, variant.id.c_str());
        }
    }
    AbiProblem problem({.weight = "int8", .m = 2, .n = 32, .k = 64});
    problem.problem.accum = "bf16";
    QCOMPARE(module->query(problem.problem).level, QS_SUPPORT_NO);
}

void CpuBackend::dequantizes() {
    for (const char* format : {"nf4", "int8", "int4", "ternary", "binary", "fp8_e4m3", "bf16"})
        for (const char* out : {"f32", "bf16"}) {
            const AbiProblem problem({.weight = format, .m = 1, .n = 7, .k = 100, .op = "dequantize", .out = out});
            const auto support = module->query(problem.problem);
            QVERIFY2(!support.variants.empty(), support.reason.c_str());
            for (const auto& variant : support.variants) {
                const auto run = module->run(problem, variant.id, 1, 1);
                QVERIFY2(run.code == 0, run.message.c_str());
                QVERIFY(run.guardsWhole);
                QVERIFY2(run.nmse <= (std::string(out) == "f32" ? 0 : 1e-5), variant.id.c_str());
            }
        }
}

void CpuBackend::quantizes() {
    const AbiProblem problem({.weight = "nf4", .m = 1, .n = 6, .k = 100, .op = "quantize"});
    const auto support = module->query(problem.problem);
    QVERIFY2(!support.variants.empty(), support.reason.c_str());
    for (const auto& variant : support.variants) {
        qs_kernel* kernel = nullptr;
        auto error = sized<qs_error>();
        const qs_backend* table = module->table();
        QCOMPARE(table->prepare(module->context(), 0, &problem.problem, variant.id.c_str(), problem.inputs.data(), 1,
                                &kernel, nullptr, &error),
                 QS_OK);
        alignas(64) std::uint8_t codes[6 * 64];
        alignas(64) float scales[6 * 2];
        auto out = sized<qs_tensor>(), outScale = sized<qs_tensor>();
        out.role = "out", out.dtype = "u8", out.rank = 2, out.dims[0] = 6, out.dims[1] = 64, out.out = codes,
        out.bytes = sizeof codes;
        outScale.role = "out_scale", outScale.dtype = "f32", outScale.rank = 2, outScale.dims[0] = 6,
        outScale.dims[1] = 2;
        outScale.out = scales, outScale.bytes = sizeof scales;
        qs_tensor* outs[] = {&out, &outScale};
        QVERIFY2(table->execute(kernel, nullptr, 0, outs, 2, &error) == QS_OK, error.msg);
        for (std::size_t r = 0; r < 6; ++r) {
            float most = 0;
            for (std::size_t i = 64; i < 100; ++i) most = std::max(most, std::fabs(problem.source[r * 100 + i]));
            QCOMPARE(scales[r * 2 + 1], most);
            QCOMPARE(int(codes[r * 64 + 63]), 0x77); // padding is code 7
        }
        QCOMPARE(table->execute(kernel, nullptr, 0, outs, 1, &error), QS_INVALID_ARGUMENT);
        table->kernel_destroy(kernel);
    }
}

void CpuBackend::quantizesActivations() {
    auto problem = sized<qs_problem>();
    problem.op = "quant_act", problem.m = 2, problem.n = 1, problem.k = 3;
    const auto support = module->query(problem);
    QVERIFY2(!support.variants.empty(), support.reason.c_str());
    alignas(64) const float x[] = {1.0f, -2.0f, 0.5f, 0.0f, 0.0f, 0.0f};
    auto act = sized<qs_tensor>();
    act.role = "act", act.dtype = "f32", act.rank = 2, act.dims[0] = 2, act.dims[1] = 3, act.data = x,
    act.bytes = sizeof x;
    const qs_tensor* acts[] = {&act};
    for (const auto& variant : support.variants) {
        qs_kernel* kernel = nullptr;
        QCOMPARE(module->table()->prepare(module->context(), 0, &problem, variant.id.c_str(), nullptr, 0, &kernel,
                                          nullptr, nullptr),
                 QS_OK);
        alignas(64) std::int8_t q[6];
        alignas(64) float scales[2];
        auto out = sized<qs_tensor>(), outScale = sized<qs_tensor>();
        out.role = "out", out.dtype = "i8", out.out = q, out.bytes = sizeof q;
        outScale.role = "out_scale", outScale.dtype = "f32", outScale.out = scales, outScale.bytes = sizeof scales;
        qs_tensor* outs[] = {&out, &outScale};
        QCOMPARE(module->table()->execute(kernel, acts, 1, outs, 2, nullptr), QS_OK);
        QCOMPARE(int(q[0]), 64); // 63.5 rounds to even
        QCOMPARE(int(q[1]), -127);
        QCOMPARE(int(q[2]), 32);
        QCOMPARE(int(q[3]), 0);
        QCOMPARE(scales[0], 2.0f / 127);
        module->table()->kernel_destroy(kernel);
    }
}

void CpuBackend::timesOverCopies() {
    const AbiProblem problem({.weight = "nf4", .m = 2, .n = 64, .k = 256});
    for (const auto& variant : module->query(problem.problem).variants)
        for (const std::uint32_t sets : {1u, 3u}) {
            const auto run = module->run(problem, variant.id, 20, sets);
            QVERIFY2(run.code == 0, run.message.c_str());
            QCOMPARE(run.samples.size(), std::size_t(20));
            QVERIFY(std::all_of(run.samples.begin(), run.samples.end(), [](std::uint64_t ns) { return ns > 0; }));
            QCOMPARE(run.clock, QS_CLOCK_HOST);
            QVERIFY(run.guardsWhole && run.lastOutNmse < 1e-4);
            QVERIFY(run.info.weight_bytes >= 64 * 128 + 64 * 4 * 4);
        }
}

void CpuBackend::roofs() {
    auto opts = sized<qs_run_opts>();
    opts.iters = 2, opts.chain = 1, opts.buffer_sets = 1, opts.max_seconds = 1;
    std::uint64_t samples[2];
    for (const char* kind : {"read_bw", "write_bw", "f32", "bf16", "i8"}) {
        auto result = sized<qs_run_result>();
        result.cap = 2, result.samples_ns = samples;
        double work = 0;
        auto error = sized<qs_error>();
        const int code = module->table()->roof(module->context(), 0, kind, &opts, &result, &work, &error);
        if (code == QS_UNIMPLEMENTED && (kind[0] == 'b' || kind[0] == 'i')) continue;
        QVERIFY2(code == QS_OK, error.msg);
        QVERIFY2(result.n == 2 && result.timing_valid && samples[0] > 0 && work > 0, kind);
    }
    auto result = sized<qs_run_result>();
    result.cap = 2, result.samples_ns = samples;
    QCOMPARE(module->table()->roof(module->context(), 0, "f64", &opts, &result, nullptr, nullptr), QS_UNIMPLEMENTED);
    result.cap = 0;
    QCOMPARE(module->table()->roof(module->context(), 0, "f32", &opts, &result, nullptr, nullptr), QS_INVALID_ARGUMENT);
}

void CpuBackend::artifacts() {
    const AbiProblem problem({.weight = "nf4", .m = 1, .n = 4, .k = 64});
    qs_kernel* kernel = nullptr;
    const qs_backend* table = module->table();
    QCOMPARE(
        table->prepare(module->context(), 0, &problem.problem, "", problem.inputs.data(), 2, &kernel, nullptr, nullptr),
        QS_OK);
    std::uint64_t need = 0;
    QCOMPARE(table->artifact(kernel, "source", nullptr, 0, &need, nullptr), QS_OK);
    QVERIFY(need > 40);
    char text[16];
    QCOMPARE(table->artifact(kernel, "source", text, sizeof text, &need, nullptr), QS_OK);
    QCOMPARE(std::strlen(text), std::size_t(15));
    QCOMPARE(table->artifact(kernel, "ptx", nullptr, 0, &need, nullptr), QS_NOT_FOUND);
    table->kernel_destroy(kernel);
}

/// The shown assembly must be the code that ran: it contains vector multiplications and the final return.
void CpuBackend::assembly() {
    if (QStandardPaths::findExecutable(QStringLiteral("objdump")).isEmpty()) QSKIP("objdump is not installed");
    const qs_backend* table = module->table();
    for (const std::int64_t m : {1, 64}) {
        const AbiProblem problem({.weight = "nf4", .m = m, .n = 64, .k = 128});
        for (const auto& variant : module->query(problem.problem).variants) {
            qs_kernel* kernel = nullptr;
            QCOMPARE(table->prepare(module->context(), 0, &problem.problem, variant.id.c_str(), problem.inputs.data(),
                                    2, &kernel, nullptr, nullptr),
                     QS_OK);
            std::uint64_t need = 0;
            const int code = table->artifact(kernel, "asm", nullptr, 0, &need, nullptr);
            if (variant.id == "reference") {
                QCOMPARE(code, QS_NOT_FOUND);
            } else {
                QCOMPARE(code, QS_OK);
                std::vector<char> bytes(need);
                QCOMPARE(table->artifact(kernel, "asm", bytes.data(), need, &need, nullptr), QS_OK);
                const std::string text = bytes.data();
                QVERIFY2(text.find("not shown") == std::string::npos, text.c_str());
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__) // sanitizers inline less
                QVERIFY2(text.find("\tret") != std::string::npos && text.find("vmovups") != std::string::npos,
                         text.c_str());
                const bool wide = text.find("zmm") != std::string::npos;
                QCOMPARE(wide, variant.id.find("avx512") != std::string::npos);
                if (variant.id.find("_bf16_") != std::string::npos)
                    QVERIFY(text.find("vdpbf16ps") != std::string::npos);
#endif
            }
            table->kernel_destroy(kernel);
        }
    }
}

void CpuBackend::stopsWhenCancelled() {
    // The reference variant takes minutes for this size; another thread cancels it.
    const AbiProblem problem({.weight = "int8", .m = 2048, .n = 64, .k = 64});
    qs_kernel* kernel = nullptr;
    const qs_backend* table = module->table();
    qs_ctx* ctx = module->context();
    QCOMPARE(table->prepare(ctx, 0, &problem.problem, "reference", problem.inputs.data(), 2, &kernel, nullptr, nullptr),
             QS_OK);
    auto opts = sized<qs_run_opts>();
    opts.iters = 1, opts.chain = 1000000, opts.max_seconds = 1000;
    std::uint64_t sample = 0;
    auto result = sized<qs_run_result>();
    result.cap = 1, result.samples_ns = &sample;
    std::atomic<qint64> cancelledAt{0};
    QElapsedTimer timer;
    timer.start();
    std::thread other([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        cancelledAt = timer.elapsed();
        table->cancel(ctx);
    });
    const int code =
        table->bench(kernel, problem.acts.data(), std::uint32_t(problem.acts.size()), &opts, &result, nullptr);
    const qint64 ended = timer.elapsed();
    other.join();
    QCOMPARE(code, QS_CANCELLED);
    QVERIFY2(ended - cancelledAt < 1000, qPrintable(QString::number(ended - cancelledAt)));
    table->kernel_destroy(kernel);
}

QS_TEST(CpuBackend)
#include "cpu_backend_test.moc"
