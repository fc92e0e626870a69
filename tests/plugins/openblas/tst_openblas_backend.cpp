// SPDX-License-Identifier: GPL-3.0-or-later
// The backend openblas through the interface. Where libopenblas is not installed, what needs it is skipped.
#include "kernels/cpu_features.h"
#include "tests/plugins/support/abi_module.h"
#include "tests/support/test_program.h"

#include <QtTest>
#include <nlohmann/json.hpp>

using namespace qs::test;

class OpenBlasBackend : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase();
    void saysWhatIsMissing();
    void refusesALibraryThatIsNone();
    void saysHowItWasLoaded();
    void showsTheCall();
    void multiplies_data();
    void multiplies();
    void declinesWithAReason();
    void refusesTensorsOfAnotherSize();
    void timesOverCopies();
    void measuresRoofs();
    void leavesTheCallersCpusAlone();

private:
    AbiModule module{QS_BUILT_BACKENDS "/openblas.so"};
    bool installed = false;
};

#define NEEDS_OPENBLAS                                                                                                 \
    if (!installed) QSKIP("libopenblas.so.0 is not installed")

void OpenBlasBackend::initTestCase() {
    QVERIFY2(module.error().empty(), module.error().c_str());
    const auto probe = module.probe();
    installed = probe.state == QS_PROBE_AVAILABLE;
    if (installed) {
        const std::string problem = module.open({{"threads", "2"}});
        QVERIFY2(problem.empty(), problem.c_str());
        return;
    }
    QCOMPARE(probe.state, QS_PROBE_UNAVAILABLE);
    QCOMPARE(probe.reason, std::string("libopenblas.so.0 is not installed"));
    QVERIFY(probe.hint.find("libopenblas0-pthread") != std::string::npos);
}

void OpenBlasBackend::saysWhatIsMissing() {
    const auto probe = module.probe({{"path", "/nowhere/libopenblas.so"}});
    QCOMPARE(probe.state, QS_PROBE_UNAVAILABLE);
    QVERIFY(probe.reason.find("/nowhere/libopenblas.so") != std::string::npos);
    QVERIFY(!probe.hint.empty());
    AbiModule other(QS_BUILT_BACKENDS "/openblas.so");
    QVERIFY(other.open({{"path", "/nowhere/libopenblas.so"}}).find("/nowhere/") != std::string::npos);
    QVERIFY(other.open({{"threads", "many"}}).find("threads") != std::string::npos);
}

void OpenBlasBackend::refusesALibraryThatIsNone() {
    AbiModule other(QS_BUILT_BACKENDS "/openblas.so");
    // A library that is there everywhere and multiplies nothing: the example backend.
    const std::string problem = other.open({{"path", QS_TEST_BACKENDS "/example.so"}});
    QVERIFY2(problem.find("is no OpenBLAS") != std::string::npos, problem.c_str());
}

void OpenBlasBackend::saysHowItWasLoaded() {
    NEEDS_OPENBLAS;
    const auto json = nlohmann::json::parse(module.describe());
    QVERIFY(json.at("config").get<std::string>().find("OpenBLAS") != std::string::npos);
    QVERIFY(!json.at("corename").get<std::string>().empty());
    const char* wanted = qs::openblasCoreType();
    const bool set = qEnvironmentVariableIsSet("OPENBLAS_CORETYPE");
    QCOMPARE(json.at("coretype_forced").get<bool>(), wanted != nullptr || set);
    if (wanted) QCOMPARE(json.at("coretype").get<std::string>(), std::string(wanted));
    if (json.at("coretype_forced").get<bool>()) {
        const auto forced = QString::fromStdString(json.at("coretype").get<std::string>());
        QCOMPARE(QString::fromStdString(json.at("corename").get<std::string>()).compare(forced, Qt::CaseInsensitive),
                 0);
    }
    QVERIFY(json.at("threads").get<int>() >= 1);
    QVERIFY(json.at("pinned").get<bool>());
}

void OpenBlasBackend::showsTheCall() {
    NEEDS_OPENBLAS;
    const AbiProblem problem({.weight = "f32", .m = 1, .n = 3, .k = 5});
    for (const auto& [variant, call] :
         {std::pair("sgemv", "cblas_sgemv(row-major, as it is, 3, 5, 1, W, 5, x, 1, 1, y, 1)"),
          std::pair("sgemm", "cblas_sgemm(row-major, x as it is, W transposed, 1, 3, 5, 1, x, 5, W, 5, 0, y, 3)")}) {
        qs_kernel* kernel = nullptr;
        QCOMPARE(module.table()->prepare(module.context(), 0, &problem.problem, variant, problem.inputs.data(),
                                         std::uint32_t(problem.inputs.size()), &kernel, nullptr, nullptr),
                 QS_OK);
        char text[4096];
        std::uint64_t need = 0;
        QCOMPARE(module.table()->artifact(kernel, "source", text, sizeof text, &need, nullptr), QS_OK);
        const std::string source = text;
        QVERIFY2(source.find(call) != source.npos && source.find("libopenblas") != source.npos, text);
        QCOMPARE(module.table()->artifact(kernel, "ptx", nullptr, 0, &need, nullptr), QS_NOT_FOUND);
        module.table()->kernel_destroy(kernel);
    }
}

void OpenBlasBackend::multiplies_data() {
    QTest::addColumn<QString>("format");
    QTest::addColumn<bool>("kn");
    for (const char* format : {"f32", "bf16", "nf4", "int8", "int4", "ternary", "binary", "fp8_e4m3"})
        for (const bool kn : {false, true})
            QTest::addRow("%s %s", format, kn ? "KN" : "NK") << QString::fromLatin1(format) << kn;
}

void OpenBlasBackend::multiplies() {
    NEEDS_OPENBLAS;
    QFETCH(QString, format);
    QFETCH(bool, kn);
    for (const std::int64_t m : {1, 2, 17})
        for (const std::int64_t n : {1, 31, 65})
            for (const std::int64_t k : {1, 64, 127, 192}) {
                Case c{.weight = format.toStdString(), .m = m, .n = n, .k = k, .kn = kn, .bias = n == 31};
                c.act = k == 127 ? "bf16" : "f32";
                if (n == 65 && format != QStringLiteral("f32") && format != QStringLiteral("bf16"))
                    c.scale = k == 192 ? "block" : k == 64 ? "column" : "";
                c.out = m == 2 ? "bf16" : "f32";
                const AbiProblem problem(c);
                const auto support = module.query(problem.problem);
                QVERIFY2(support.level > 0, (c.name() + ": " + support.reason).c_str());
                for (const auto& variant : support.variants) {
                    QVERIFY(variant.flags & QS_VARIANT_BASELINE);
                    const auto run = module.run(problem, variant.id);
                    const std::string name = c.name() + " by " + variant.id + ": ";
                    QVERIFY2(run.code == 0, (name + run.message).c_str());
                    QVERIFY2(run.nmse < (variant.nmseLimit > 0 ? variant.nmseLimit : 1e-11),
                             (name + std::to_string(run.nmse)).c_str());
                    QVERIFY2(run.guardsWhole, name.c_str());
                }
                QCOMPARE(support.variants.size(),
                         std::size_t(m == 1 ? 2 : 1) * (format == QStringLiteral("f32") ? 1 : 2));
            }
}

void OpenBlasBackend::declinesWithAReason() {
    NEEDS_OPENBLAS;
    for (const Case& c : {Case{.weight = "int8", .m = 2, .n = 4, .k = 8, .act = "int8"},
                          Case{.weight = "int8", .m = 2, .n = 4, .k = 8, .act = "dynamic"},
                          Case{.weight = "nf4", .n = 4, .k = 64, .op = "dequantize"}}) {
        const AbiProblem problem(c);
        const auto support = module.query(problem.problem);
        QCOMPARE(support.level, QS_SUPPORT_NO);
        QVERIFY2(!support.reason.empty() && support.variants.empty(), c.name().c_str());
        QCOMPARE(module.run(problem, "sgemm").code, QS_UNIMPLEMENTED);
    }
    AbiProblem named({.weight = "nf4", .n = 4, .k = 64});
    qs_format other = *named.problem.weight;
    other.packing = "upside_down";
    named.problem.weight = &other;
    QVERIFY(module.query(named.problem).reason.find("upside_down") != std::string::npos);
}

void OpenBlasBackend::refusesTensorsOfAnotherSize() {
    NEEDS_OPENBLAS;
    AbiProblem problem({.weight = "nf4", .n = 4, .k = 128});
    qs_tensor shorter = *problem.inputs[0];
    --shorter.bytes;
    problem.inputs[0] = &shorter;
    const auto run = module.run(problem, "dequantize_sgemm");
    QCOMPARE(run.code, QS_INVALID_ARGUMENT);
    QVERIFY2(run.message.find("\"weight\"") != std::string::npos, run.message.c_str());
    problem.inputs.erase(problem.inputs.begin());
    QCOMPARE(module.run(problem, "dequantize_sgemm").code, QS_INVALID_ARGUMENT);
}

void OpenBlasBackend::timesOverCopies() {
    NEEDS_OPENBLAS;
    const AbiProblem problem({.weight = "nf4", .m = 2, .n = 64, .k = 256});
    for (const auto& variant : module.query(problem.problem).variants) {
        const auto run = module.run(problem, variant.id, 20, 3);
        QVERIFY2(run.code == 0, run.message.c_str());
        QCOMPARE(run.samples.size(), std::size_t(20));
        QCOMPARE(run.clock, QS_CLOCK_HOST);
        QVERIFY(run.lastOutNmse < 1e-11);
        QVERIFY(run.guardsWhole);
        QCOMPARE(run.info.fusion, QS_FUSION_MATERIALISED);
        const bool before = variant.flags & QS_VARIANT_REPACKS;
        QCOMPARE(run.info.weight_bytes, std::int64_t(before ? 64 * 256 * 4 : 64 * 128 + 64 * 4 * 4));
        QCOMPARE(run.info.temp_bytes, std::int64_t(before ? 0 : 64 * 256 * 4));
    }
}

void OpenBlasBackend::measuresRoofs() {
    NEEDS_OPENBLAS;
    for (const char* kind : {"read_bw", "f32"}) {
        std::uint64_t samples[3] = {};
        qs_run_opts opts{};
        opts.struct_size = sizeof opts, opts.iters = 3, opts.buffer_sets = 2, opts.max_seconds = 1;
        qs_run_result result{};
        result.struct_size = sizeof result, result.cap = 3, result.samples_ns = samples;
        double work = 0;
        QCOMPARE(module.table()->roof(module.context(), 0, kind, &opts, &result, &work, nullptr), QS_OK);
        QVERIFY(result.n >= 1 && samples[0] > 0);
        QVERIFY(work / double(samples[0]) > 0.05); // GB/s or GFLOP/s of any machine, sanitizers included
    }
    qs_error error{};
    error.struct_size = sizeof error;
    QCOMPARE(module.table()->roof(module.context(), 0, "i8", nullptr, nullptr, nullptr, &error), QS_UNIMPLEMENTED);
    QVERIFY(error.msg[0]);
}

void OpenBlasBackend::leavesTheCallersCpusAlone() {
    NEEDS_OPENBLAS;
    cpu_set_t before, after;
    QCOMPARE(sched_getaffinity(0, sizeof before, &before), 0);
    const AbiProblem problem({.weight = "nf4", .m = 2, .n = 512, .k = 512});
    QCOMPARE(module.run(problem, "dequantize_sgemm", 3).code, QS_OK);
    QCOMPARE(sched_getaffinity(0, sizeof after, &after), 0);
    QVERIFY(CPU_EQUAL(&before, &after));
}

QS_TEST(OpenBlasBackend)
#include "tst_openblas_backend.moc"
