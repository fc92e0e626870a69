// SPDX-License-Identifier: GPL-3.0-or-later
// All faults of a PJRT plugin: the step that must report it, the code and the message. No object may leak.
#include "core/bench/backend/backend.h"
#include "made_formats.h"
#include "opened_backend.h"
#include "tests/support/test_program.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>
#include <QtTest>

#include <cmath>
#include <cstring>

using namespace qs;
using namespace qs::test;

namespace {

const QStringList kSettings = {QStringLiteral("VERSION"), QStringLiteral("TABLE"),  QStringLiteral("NULL"),
                               QStringLiteral("FAIL"),    QStringLiteral("CODE"),   QStringLiteral("EMPTY"),
                               QStringLiteral("STATS"),   QStringLiteral("OUTPUT"), QStringLiteral("AWAIT"),
                               QStringLiteral("DIE"),     QStringLiteral("GROWN")};
std::string variable(const QString& name) { return "PJRT_FAKE_" + name.toStdString(); }

/// Sets a text like "FAIL=20 CODE=8" in the environment of the fake plugin.
void ask(const QString& faults) {
    for (const auto& name : kSettings) qunsetenv(variable(name).c_str());
    for (const auto& fault : faults.split(u' ', Qt::SkipEmptyParts)) {
        const auto at = fault.indexOf(u'=');
        qputenv(variable(fault.left(at)).c_str(), fault.mid(at + 1).toUtf8());
    }
}

int liveHandles() {
    void* library = dlopen(QS_FAKE_PJRT, RTLD_NOW | RTLD_NOLOAD);
    const auto live = library == nullptr ? nullptr : reinterpret_cast<int (*)()>(dlsym(library, "fake_pjrt_live"));
    return live == nullptr ? 0 : live();
}

struct Ending {
    QString step = QStringLiteral("done"); ///< the first step that failed
    int code = QS_OK, fusion = QS_FUSION_UNKNOWN;
    QString text;
    qs_kernel_info info = sized<qs_kernel_info>();
    bool nan = false;
};

/// Runs every step once.
Ending run(const Pairs& more = {}) {
    Ending ending;
    Pairs options{{"path", QS_FAKE_PJRT}};
    options.insert(options.end(), more.begin(), more.end());
    OpenedBackend backend(options);
    const auto ended = [&](const char* step) {
        ending.step = QString::fromLatin1(step);
        ending.code = backend.code;
        ending.text = QString::fromUtf8(backend.error.msg);
        return ending;
    };
    if (backend.code != QS_OK) return ended("open");
    std::uint64_t need = 0;
    char text[4096];
    backend.code = backend.table->describe(backend.context, text, sizeof text, &need, &backend.error);
    if (backend.code != QS_OK) return ended("describe");
    if (QJsonDocument::fromJson(QByteArray(text)).isNull()) return ended("JSON");
    auto device = sized<qs_device>();
    backend.code = backend.table->device_get(backend.context, 0, &device, &backend.error);
    if (backend.code != QS_OK) return ended("device");
    MadeProblem problem(madeFormats()[2], {2, 8, 64, false, -1, 0, 0}, MadeAct::F32, false);
    qs_kernel* kernel = backend.prepare(problem, "int8_affine_f32", &ending.info);
    if (kernel == nullptr) return ended("prepare");
    ending.fusion = ending.info.fusion;
    auto out = problem.output();
    if (!backend.execute(kernel, problem, out)) {
        backend.table->kernel_destroy(kernel);
        return ended("execute");
    }
    float first = 0;
    std::memcpy(&first, out.bytes.data(), 4);
    ending.nan = std::isnan(first);
    std::uint64_t samples[4] = {};
    auto result = sized<qs_run_result>();
    result.cap = 4;
    result.samples_ns = samples;
    auto bench = sized<qs_run_opts>();
    bench.warmup = 1;
    bench.iters = 4;
    bench.chain = 2;
    bench.buffer_sets = 3;
    bench.max_seconds = 1;
    const auto acts = problem.acts();
    backend.code = backend.table->bench(kernel, acts.data(), 1, &bench, &result, &backend.error);
    if (backend.code == QS_OK)
        backend.code = backend.table->artifact(kernel, "hlo_with_config", text, sizeof text, &need, &backend.error);
    else
        ending.step = QStringLiteral("bench");
    backend.table->kernel_destroy(kernel);
    if (backend.code != QS_OK) return ended(ending.step == u"bench" ? "bench" : "artifact");
    if (std::strcmp(text, "AHByb/8=") != 0) return ended("base64");
    return ending;
}

} // namespace

class FakePluginTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void cleanup() {
        ask({});
        QCOMPARE(liveHandles(), 0);
    }

    void endings_data() {
        QTest::addColumn<QString>("faults");
        QTest::addColumn<QString>("step");
        QTest::addColumn<int>("code");
        QTest::addColumn<QString>("text");
        const auto row = [](const char* faults, const char* step, int code, const char* text) {
            QTest::addRow("%s", faults) << QString::fromLatin1(faults) << QString::fromLatin1(step) << code
                                        << QString::fromLatin1(text);
        };
        row("", "done", QS_OK, "");
        row("GROWN=1", "done", QS_OK, "");
        row("VERSION=1.81", "open", QS_UNAVAILABLE, "the plugin speaks PJRT 1.81; 0.58 or a later 0.x is needed");
        row("VERSION=0.57", "open", QS_UNAVAILABLE, "the plugin speaks PJRT 0.57; 0.58 or a later 0.x is needed");
        row("VERSION=0.58", "done", QS_OK, "");
        row("VERSION=0.999", "done", QS_OK, "");
        row("TABLE=null", "open", QS_UNAVAILABLE, "GetPjrtApi returned no table");
        row("TABLE=16", "open", QS_UNAVAILABLE, "the PJRT table is too short to hold its version (16 bytes)");
        row("TABLE=40", "open", QS_UNIMPLEMENTED, "the PJRT plugin has no PJRT_Plugin_Initialize (PJRT 0.81)");
        row("TABLE=279", "device", QS_UNIMPLEMENTED, "the PJRT plugin has no PJRT_Device_GetDescription (PJRT 0.81)");
        for (const char* without : {"TABLE=448", "TABLE=455"}) // slot 51 ends at byte 456
            row(without, "prepare", QS_UNIMPLEMENTED,
                "the PJRT plugin has no PJRT_LoadedExecutable_GetExecutable (PJRT 0.81)");
        // A missing slot is an error where it is needed. Where it only gives information, nothing changes.
        row("NULL=3", "open", QS_UNIMPLEMENTED, "the PJRT plugin has no PJRT_Plugin_Initialize (PJRT 0.81)");
        row("NULL=10", "open", QS_UNIMPLEMENTED, "the PJRT plugin has no PJRT_Client_Create (PJRT 0.81)");
        row("NULL=26", "device", QS_UNIMPLEMENTED, "the PJRT plugin has no PJRT_DeviceDescription_Kind (PJRT 0.81)");
        row("NULL=22", "prepare", QS_UNIMPLEMENTED,
            "the PJRT plugin has no PJRT_Client_BufferFromHostBuffer (PJRT 0.81)");
        row("NULL=8", "prepare", QS_UNIMPLEMENTED,
            "the copy to the device failed: the PJRT plugin has no PJRT_Event_Await (PJRT 0.81)");
        row("NULL=51", "prepare", QS_UNIMPLEMENTED,
            "the PJRT plugin has no PJRT_LoadedExecutable_GetExecutable (PJRT 0.81)");
        row("NULL=55", "execute", QS_UNIMPLEMENTED, "the PJRT plugin has no PJRT_LoadedExecutable_Execute (PJRT 0.81)");
        row("NULL=70", "execute", QS_UNIMPLEMENTED, "the PJRT plugin has no PJRT_Buffer_ToHostBuffer (PJRT 0.81)");
        row("NULL=48", "artifact", QS_UNIMPLEMENTED,
            "the PJRT plugin has no PJRT_Executable_OptimizedProgram (PJRT 0.81)");
        for (const char* informs : {"NULL=4", "NULL=34", "NULL=45", "NULL=46", "NULL=90", "NULL=91", "NULL=96",
                                    "FAIL=4", "FAIL=34", "FAIL=45", "FAIL=46", "FAIL=96", "EMPTY=90 NULL=91"})
            row(informs, "done", QS_OK, "");
        // An error in every call. Its text has no NUL at the end.
        row("FAIL=3", "open", QS_INTERNAL, "PJRT_Plugin_Initialize: broken on purpose");
        row("FAIL=10", "open", QS_INTERNAL, "PJRT_Client_Create: broken on purpose");
        row("FAIL=12", "open", QS_INTERNAL, "PJRT_Client_PlatformName: broken on purpose");
        row("FAIL=14", "open", QS_INTERNAL, "PJRT_Client_PlatformVersion: broken on purpose");
        row("FAIL=16", "open", QS_INTERNAL, "PJRT_Client_AddressableDevices: broken on purpose");
        row("FAIL=29", "device", QS_INTERNAL, "PJRT_Device_GetDescription: broken on purpose");
        row("FAIL=26", "device", QS_INTERNAL, "PJRT_DeviceDescription_Kind: broken on purpose");
        row("FAIL=20", "prepare", QS_INTERNAL, "PJRT_Client_Compile: broken on purpose");
        row("FAIL=20 CODE=12", "prepare", QS_UNIMPLEMENTED, "PJRT_Client_Compile: broken on purpose");
        row("FAIL=20 CODE=8", "prepare", QS_RESOURCE_EXHAUSTED, "PJRT_Client_Compile: broken on purpose");
        row("FAIL=20 CODE=99", "prepare", QS_INTERNAL, "PJRT_Client_Compile: broken on purpose");
        row("FAIL=20 CODE=-1", "prepare", QS_INTERNAL, "PJRT_Client_Compile: broken on purpose");
        row("FAIL=20 NULL=1", "prepare", QS_INTERNAL, "PJRT_Client_Compile: no message");
        row("FAIL=20 NULL=2", "prepare", QS_INTERNAL, "PJRT_Client_Compile: broken on purpose");
        row("FAIL=20 EMPTY=2", "prepare", QS_INTERNAL, "PJRT_Client_Compile: broken on purpose");
        row("FAIL=51", "prepare", QS_INTERNAL, "PJRT_LoadedExecutable_GetExecutable: broken on purpose");
        row("FAIL=90", "prepare", QS_INTERNAL, "PJRT_Executable_OutputElementTypes: broken on purpose");
        row("FAIL=91", "prepare", QS_INTERNAL, "PJRT_Executable_OutputDimensions: broken on purpose");
        row("FAIL=22", "prepare", QS_INTERNAL, "PJRT_Client_BufferFromHostBuffer: broken on purpose");
        row("FAIL=8", "prepare", QS_INTERNAL, "the copy to the device failed: PJRT_Event_Await: broken on purpose");
        row("FAIL=55", "execute", QS_INTERNAL, "PJRT_LoadedExecutable_Execute: broken on purpose");
        row("FAIL=70", "execute", QS_INTERNAL, "PJRT_Buffer_ToHostBuffer: broken on purpose");
        row("FAIL=48", "artifact", QS_INTERNAL, "PJRT_Executable_OptimizedProgram: broken on purpose");
        row("AWAIT=1", "execute", QS_UNAVAILABLE, "the run failed: PJRT_Event_Await: the device fell over");
        // Calls that succeed without a result.
        row("EMPTY=10", "open", QS_INTERNAL, "PJRT_Client_Create returned no client");
        row("EMPTY=16", "open", QS_UNAVAILABLE, "the PJRT plugin has no device (platform fake)");
        row("EMPTY=29", "device", QS_INTERNAL, "PJRT_Device_GetDescription returned no description");
        row("EMPTY=20", "prepare", QS_INTERNAL, "PJRT_Client_Compile returned no executable");
        row("EMPTY=51", "prepare", QS_INTERNAL, "PJRT_LoadedExecutable_GetExecutable returned no executable");
        row("EMPTY=90", "prepare", QS_INTERNAL, "the PJRT plugin contradicts itself about the program's outputs");
        row("EMPTY=22", "prepare", QS_INTERNAL, "PJRT_Client_BufferFromHostBuffer returned no buffer");
        row("EMPTY=55", "execute", QS_INTERNAL, "PJRT_LoadedExecutable_Execute returned no output buffer");
        row("EMPTY=70", "execute", QS_INTERNAL, "the PJRT plugin gives a result of 0 bytes where 64 were expected");
        row("EMPTY=26", "done", QS_OK, ""); // a device without a name
        // Results of a wrong type or size.
        row("OUTPUT=short", "execute", QS_INTERNAL,
            "the PJRT plugin gives a result of 72 bytes where 64 were expected");
        row("OUTPUT=type", "prepare", QS_INTERNAL,
            "the PJRT plugin compiled a result of i32 x 2 x 8 where f32 x 2 x 8 was asked for");
        row("OUTPUT=count", "prepare", QS_INTERNAL, "the PJRT plugin contradicts itself about the program's outputs");
        row("OUTPUT=nan", "done", QS_OK, "");
    }
    void endings() {
        QFETCH(QString, faults);
        QFETCH(QString, step);
        QFETCH(int, code);
        QFETCH(QString, text);
        ask(faults);
        const auto ending = run();
        QCOMPARE(ending.step + QStringLiteral(": ") + ending.text, step + QStringLiteral(": ") + text);
        QCOMPARE(ending.code, code);
        QCOMPARE(ending.nan, faults == u"OUTPUT=nan");
    }

    void verdicts_data() {
        QTest::addColumn<QString>("faults");
        QTest::addColumn<int>("fusion");
        QTest::addRow("fused") << QStringLiteral("STATS=fused") << QS_FUSION_FUSED;
        QTest::addRow("materialised") << QStringLiteral("STATS=materialised") << QS_FUSION_MATERIALISED;
        QTest::addRow("seen in the peak alone") << QStringLiteral("STATS=peak") << QS_FUSION_MATERIALISED;
        QTest::addRow("folded") << QStringLiteral("STATS=folded") << QS_FUSION_FOLDED;
        QTest::addRow("unfilled") << QStringLiteral("STATS=unfilled") << QS_FUSION_UNKNOWN;
        QTest::addRow("missing") << QStringLiteral("NULL=96") << QS_FUSION_UNKNOWN;
    }
    void verdicts() {
        QFETCH(QString, faults);
        QFETCH(int, fusion);
        ask(faults);
        const auto ending = run();
        QCOMPARE(ending.step, QStringLiteral("done"));
        QCOMPARE(ending.fusion, fusion);
        QCOMPARE(ending.info.code_bytes, std::int64_t(4321));
        QCOMPARE(ending.info.flops, 2048.0);
        QCOMPARE(ending.info.bytes_accessed, -1.0); // not reported by the plugin
        if (faults == u"NULL=96") QCOMPARE(ending.info.temp_bytes, std::int64_t(-1));
    }

    void compilesWithoutADevice() {
        OpenedBackend backend({{"path", QS_FAKE_PJRT}, {"topology", "v6e:1x1"}, {"chips_per_host_bounds", "1,1,1"}});
        QVERIFY2(backend.code == QS_OK, backend.error.msg);
        auto device = sized<qs_device>();
        QCOMPARE(backend.table->device_get(backend.context, 0, &device, &backend.error), QS_OK);
        QCOMPARE(device.kind, QS_DEVICE_COMPILE_ONLY);
        QCOMPARE(QString::fromLatin1(device.id), QStringLiteral("tpu:v6e:1x1"));
        MadeProblem problem(madeFormats()[0], {2, 8, 64, false, 1, -1, 64}, MadeAct::F32, false);
        auto info = sized<qs_kernel_info>();
        qs_kernel* kernel = nullptr; // only compiles, so no weights are passed
        QCOMPARE(backend.table->prepare(backend.context, 0, problem.problem(), "nf4_gather_f32", nullptr, 0, &kernel,
                                        &info, &backend.error),
                 QS_OK);
        QCOMPARE(info.upload_ms, -1.0);
        QCOMPARE(info.code_bytes, std::int64_t(4321));
        auto out = problem.output();
        QVERIFY(!backend.execute(kernel, problem, out));
        QCOMPARE(backend.code, QS_UNIMPLEMENTED);
        QCOMPARE(QString::fromUtf8(backend.error.msg),
                 QStringLiteral("compiled for v6e:1x1 without its device: nothing can be run"));
        std::uint64_t sample = 0;
        auto result = sized<qs_run_result>();
        result.cap = 1;
        result.samples_ns = &sample;
        const auto options = sized<qs_run_opts>();
        const auto acts = problem.acts();
        QCOMPARE(backend.table->bench(kernel, acts.data(), 1, &options, &result, &backend.error), QS_UNIMPLEMENTED);
        double work = 0;
        QCOMPARE(backend.table->roof(backend.context, 0, "f32", &options, &result, &work, &backend.error),
                 QS_UNIMPLEMENTED);
        QCOMPARE(result.timing_valid, 0);
        backend.table->kernel_destroy(kernel);
    }
    /// The case in CONTRIBUTING.md with libtpu: rows say compile_only, and the command succeeds.
    void theCommandCompilesWithoutADevice() {
        if (!QFile::exists(QStringLiteral(QS_BIN_DIR "/quantscope-cli"))) QSKIP("built without the programs");
        ask({});
        auto environment = QProcessEnvironment::systemEnvironment();
        environment.insert(QStringLiteral("QUANTSCOPE_PJRT_PLUGIN"), QStringLiteral(QS_FAKE_PJRT));
        environment.insert(QStringLiteral("QUANTSCOPE_PJRT_TOPOLOGY"), QStringLiteral("v6e:2x2"));
        QProcess cli;
        cli.setProcessEnvironment(environment);
        cli.start(QStringLiteral(QS_BIN_DIR "/quantscope-cli"),
                  {QStringLiteral("bench"), QStringLiteral("--backend"), QStringLiteral("pjrt"),
                   QStringLiteral("--spec"), QStringLiteral("f32"), QStringLiteral("--shape"), QStringLiteral("1x4x8"),
                   QStringLiteral("--json"), QStringLiteral("-")});
        QVERIFY(cli.waitForFinished(60'000));
        QVERIFY2(cli.exitStatus() == QProcess::NormalExit && cli.exitCode() == 0, cli.readAllStandardError());
        const QJsonObject answer = QJsonDocument::fromJson(cli.readAllStandardOutput()).object();
        const QJsonArray rows = answer.value(QStringLiteral("rows")).toArray();
        QVERIFY(!rows.isEmpty());
        for (const auto& each : rows) {
            const QJsonObject row = each.toObject();
            QCOMPARE(row.value(QStringLiteral("status")).toString(), QStringLiteral("compile_only"));
            QVERIFY(row.contains(QStringLiteral("code_bytes")));
            QVERIFY(row.value(QStringLiteral("median_ns")).isNull());
        }
    }

    void topologyFaults_data() {
        QTest::addColumn<QString>("faults");
        QTest::addColumn<QString>("text");
        for (const auto& [faults, text] :
             {std::pair("FAIL=82", "PJRT_TopologyDescription_Create: broken on purpose"),
              std::pair("EMPTY=82", "PJRT_TopologyDescription_Create returned no topology"),
              std::pair("FAIL=89", "PJRT_Compile: broken on purpose"),
              std::pair("EMPTY=89", "PJRT_Compile returned no executable"),
              std::pair("NULL=89", "the PJRT plugin has no PJRT_Compile (PJRT 0.81)")})
            QTest::addRow("%s", faults) << QString::fromLatin1(faults) << QString::fromLatin1(text);
    }
    void topologyFaults() {
        QFETCH(QString, faults);
        QFETCH(QString, text);
        ask(faults);
        QCOMPARE(run({{"topology", "v5e:2x2"}}).text, text);
    }

    /// The worker process contains both faults: this process survives.
    void deaths_data() {
        QTest::addColumn<QString>("how");
        QTest::addColumn<QString>("state");
        QTest::addColumn<QString>("reason");
        QTest::addRow("abort in open") << QStringLiteral("init-abort") << QStringLiteral("crashed")
                                       << QStringLiteral("crashed in open (SIGABRT)");
        QTest::addRow("hang in open") << QStringLiteral("init-hang") << QStringLiteral("hung")
                                      << QStringLiteral("hung in open");
        QTest::addRow("abort in prepare") << QStringLiteral("compile-abort") << QStringLiteral("crashed")
                                          << QStringLiteral("crashed in prepare (SIGABRT)");
        QTest::addRow("hang in prepare") << QStringLiteral("compile-hang") << QStringLiteral("hung")
                                         << QStringLiteral("hung in prepare");
        QTest::addRow("hang in execute") << QStringLiteral("run-hang") << QStringLiteral("hung")
                                         << QStringLiteral("hung in execute");
        QTest::addRow("hang in the wait for a run")
            << QStringLiteral("await-hang") << QStringLiteral("hung") << QStringLiteral("hung in execute");
        QTest::addRow("noise is no answer") << QStringLiteral("noise") << QString() << QString();
    }
    void deaths() {
        QFETCH(QString, how);
        QFETCH(QString, state);
        QFETCH(QString, reason);
        ask(QStringLiteral("DIE=") + how);
        BackendSource source;
        source.id = "pjrt";
        source.path = QS_PJRT_MODULE;
        source.options = {{"path", QS_FAKE_PJRT}};
        const double brisk = state == u"hung" ? 0.5 : 20;
        const bool runs = how == u"run-hang" || how == u"await-hang";
        const double open = how == u"init-hang" ? brisk : 20; // the plugin itself asks for minutes
        const Deadlines deadlines{20, open, how == u"compile-hang" ? brisk : 20, 20, runs ? brisk : 20, open};
        std::optional<Failure> failure;
        if (auto opened = openBackend(source, deadlines, {}); !opened) {
            failure = opened.error();
        } else {
            Problem problem;
            problem.m = 1, problem.n = 4, problem.k = 8;
            problem.weight = OperandFormat{};
            problem.act = OperandFormat{};
            const auto tensor = [](const char* role, std::vector<std::int64_t> dims, std::uint64_t bytes) {
                return HostTensor{role, "f32", std::move(dims), *SharedBuffer::create(bytes), 0, bytes};
            };
            const auto weight = tensor("weight", {4, 8}, 128), act = tensor("act", {1, 8}, 32),
                       out = tensor("out", {1, 4}, 16);
            const auto kernel = (*opened)->prepare(0, problem, "dense_f32_f32", {&weight, 1});
            if (!kernel)
                failure = kernel.error();
            else if (auto done = (*opened)->execute(kernel->handle, {&act, 1}, {&out, 1}); !done)
                failure = done.error();
        }
        releaseQuarantine(source);
        QCOMPARE(failure.has_value(), !state.isEmpty());
        if (!failure) return;
        QCOMPARE(QString::fromLatin1(rowStateText(failure->state)), state);
        QVERIFY2(QString::fromStdString(failure->reason).startsWith(reason), failure->reason.c_str());
    }
};

QS_TEST(FakePluginTest)
#include "fake_plugin_test.moc"
