// SPDX-License-Identifier: GPL-3.0-or-later
// The backend openblas through the interface. Tests that need libopenblas are skipped if it is not installed.
#include "kernels/cpu_features.h"
#include "plugins/openblas/core_type.h"
#include "tests/plugins/support/abi_module.h"
#include "tests/support/test_program.h"

#include <QtTest>
#include <algorithm>
#include <nlohmann/json.hpp>

using namespace qs::test;
Q_DECLARE_METATYPE(qs::CpuFeatures)

class OpenBlasBackend : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase();
    void saysWhatIsMissing();
    void refusesALibraryThatIsNone();
    void coresOfProcessors_data();
    void coresOfProcessors();
    void librariesThatKnowLess_data();
    void librariesThatKnowLess();
    void loadsAgainForACoreThatIsKnown();
    void saysWantedAndTaken();
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
    // A library that always exists and is not an OpenBLAS: the example backend.
    const std::string problem = other.open({{"path", QS_TEST_BACKENDS "/example.so"}});
    QVERIFY2(problem.find("is no OpenBLAS") != std::string::npos, problem.c_str());
}

void OpenBlasBackend::coresOfProcessors_data() {
    using Has = qs::CpuFeatures;
    QTest::addColumn<Has>("has");
    QTest::addColumn<QString>("cores");
    const auto row = [](const char* name, const Has& has, const char* cores) {
        QTest::newRow(name) << has << QString::fromLatin1(cores);
    };
    row("Pentium 4", {}, "");
    row("Sandy Bridge", {}, "");
    row("Haswell", {.avx2 = true}, "HASWELL");
    row("Knights Landing", {.avx2 = true}, "HASWELL"); // it has AVX-512 without BW, DQ and VL
    row("Skylake-X", {.avx2 = true, .avx512 = true}, "SKYLAKEX HASWELL");
    row("Ice Lake", {.avx2 = true, .avx512 = true}, "SKYLAKEX HASWELL");
    row("Cooper Lake", {.avx2 = true, .avx512 = true, .avx512Bf16 = true}, "COOPERLAKE SKYLAKEX HASWELL");
    row("Sapphire Rapids", {.avx2 = true, .avx512 = true, .avx512Bf16 = true, .amx = true},
        "SAPPHIRERAPIDS COOPERLAKE SKYLAKEX HASWELL");
    // A virtual machine hides AMX of this processor (family 6, model 207).
    row("Emerald Rapids without AMX", {.avx2 = true, .avx512 = true, .avx512Bf16 = true},
        "COOPERLAKE SKYLAKEX HASWELL");
    row("Opteron", {.amd = true}, "");
    row("Piledriver", {.amd = true, .fma4 = true}, "");
    row("Excavator", {.amd = true, .fma4 = true, .avx2 = true}, "");
    for (const char* zen : {"Zen 1", "Zen 2", "Zen 3", "Hygon Dhyana"})
        row(zen, {.amd = true, .avx2 = true}, "ZEN HASWELL");
    for (const char* zen : {"Zen 4", "Zen 5"})
        row(zen, {.amd = true, .avx2 = true, .avx512 = true, .avx512Bf16 = true}, "COOPERLAKE SKYLAKEX ZEN HASWELL");
    row("tiles without AVX-512", {.avx2 = true, .avx512Bf16 = true, .amx = true}, "HASWELL");
}

void OpenBlasBackend::coresOfProcessors() {
    QFETCH(qs::CpuFeatures, has);
    QFETCH(QString, cores);
    QStringList chosen;
    for (const char* core : qs::openblasCores(has)) chosen << QString::fromLatin1(core);
    QCOMPARE(chosen.join(u' '), cores);
}

void OpenBlasBackend::librariesThatKnowLess_data() {
    QTest::addColumn<QString>("knows"); ///< names in lower case
    QTest::addColumn<QString>("other"); ///< the core it uses for a name that it does not know
    QTest::addColumn<QString>("tried");
    QTest::addColumn<QString>("taken");
    const auto row = [](const char* name, const char* knows, const char* other, const char* tried, const char* taken) {
        QTest::newRow(name) << QString::fromLatin1(knows) << QString::fromLatin1(other) << QString::fromLatin1(tried)
                            << QString::fromLatin1(taken);
    };
    row("all", "sapphirerapids cooperlake skylakex haswell", "Prescott", "SAPPHIRERAPIDS", "sapphirerapids");
    // 0.3.21 knows neither name; it then chooses by the features of the processor.
    row("0.3.21", "skylakex zen haswell", "Cooperlake", "SAPPHIRERAPIDS", "Cooperlake");
    row("0.3.10", "skylakex zen haswell", "Prescott", "SAPPHIRERAPIDS COOPERLAKE SKYLAKEX", "skylakex");
    row("0.3.21 without bf16", "skylakex zen haswell", "SkylakeX", "SAPPHIRERAPIDS COOPERLAKE", "SkylakeX");
    row("only old ones", "nehalem", "Prescott", "SAPPHIRERAPIDS COOPERLAKE SKYLAKEX HASWELL", "Prescott");
    row("one core", "", "Haswell", "SAPPHIRERAPIDS COOPERLAKE SKYLAKEX", "Haswell");
}

void OpenBlasBackend::librariesThatKnowLess() {
    QFETCH(QString, knows);
    QFETCH(QString, other);
    QFETCH(QString, tried);
    QFETCH(QString, taken);
    const std::vector<std::string> names{"SAPPHIRERAPIDS", "COOPERLAKE", "SKYLAKEX", "HASWELL"};
    QStringList asked, answered;
    const std::size_t last = qs::openblas::loadBestCore(names, [&](const std::string& name) {
        asked << QString::fromStdString(name);
        const QString lower = asked.last().toLower();
        answered << (knows.split(u' ').contains(lower) ? lower : other);
        return answered.last().toStdString();
    });
    QCOMPARE(asked.join(u' '), tried);
    QCOMPARE(answered.last(), taken);
    QCOMPARE(names[last], asked.last().toStdString());
}

void OpenBlasBackend::loadsAgainForACoreThatIsKnown() {
    const auto cores = qs::openblasCores(qs::cpuFeatures());
    if (cores.empty()) QSKIP("this processor leaves the core to OpenBLAS");
    AbiModule other(QS_BUILT_BACKENDS "/openblas.so");
    QCOMPARE(other.open({{"path", QS_FAKE_OPENBLAS}, {"threads", "1"}}), std::string());
    const auto json = nlohmann::json::parse(other.describe());
    QCOMPARE(json.at("corename").get<std::string>(), std::string("Haswell"));
    QCOMPARE(json.at("coretype").get<std::string>(), std::string("HASWELL"));
    QCOMPARE(json.at("coretype_wanted").get<std::string>(), std::string(cores.front()));
    QCOMPARE(json.at("coretype_from").get<std::string>().substr(0, 25), std::string("features of the processor"));
}

void OpenBlasBackend::saysWantedAndTaken() {
    using qs::openblas::coreText;
    QCOMPARE(coreText({{"COOPERLAKE", "SKYLAKEX"}, "features of the processor"}, "SkylakeX"),
             std::string("SkylakeX, COOPERLAKE wanted (features of the processor)"));
    QCOMPARE(coreText({{"SKYLAKEX"}, "option"}, "SkylakeX"), std::string("SkylakeX (option)"));
    QCOMPARE(coreText({{}, "OpenBLAS itself"}, "Zen"), std::string("Zen (OpenBLAS itself)"));
}

void OpenBlasBackend::saysHowItWasLoaded() {
    NEEDS_OPENBLAS;
    const auto json = nlohmann::json::parse(module.describe());
    QVERIFY(json.at("config").get<std::string>().find("OpenBLAS") != std::string::npos);
    QVERIFY(!json.at("corename").get<std::string>().empty());
    // The core chosen by the features comes before the environment. A library uses one of these cores, or the forced
    // one.
    const auto cores = qs::openblasCores(qs::cpuFeatures());
    const QString set = qEnvironmentVariable("OPENBLAS_CORETYPE");
    QCOMPARE(json.at("coretype_forced").get<bool>(), !cores.empty() || !set.isEmpty());
    if (!json.at("coretype_forced").get<bool>()) return;
    const auto wanted = json.at("coretype_wanted").get<std::string>(), taken = json.at("corename").get<std::string>();
    QCOMPARE(wanted, cores.empty() ? set.toStdString() : std::string(cores.front()));
    QVERIFY2(cores.empty() || std::any_of(cores.begin(), cores.end(),
                                          [&](const char* core) { return qs::openblas::sameCore(core, taken); }),
             taken.c_str());
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
        QVERIFY(work / double(samples[0]) > 0.05); // in GB/s or GFLOP/s; a value that any machine reaches, also with
                                                   // sanitizers
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
#include "openblas_backend_test.moc"
