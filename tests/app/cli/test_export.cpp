// SPDX-License-Identifier: GPL-3.0-or-later
// export: recipes, the certificate, and what happens when the target, the disk or the process gives way.
#include "cli_run.h"

#include <QCryptographicHash>
#include <QElapsedTimer>
#include <QRandomGenerator>
#include <QTemporaryDir>
#include <csignal>
#include <sys/resource.h>
#include <unistd.h>

using namespace clitest;

namespace {

QString makeModel(const QString& folder, int rows) {
    QDir().mkpath(folder);
    put(folder + s("/config.json"), R"({"model_type": "llama"})");
    return put(folder + s("/model.safetensors"),
               safetensors({{"a.up_proj.weight", "F32", "[" + QByteArray::number(rows) + ",64]", ramp(rows * 64)},
                            {"a.down_proj.weight", "F32", "[32,64]", ramp(32 * 64)},
                            {"a.norm.weight", "F32", "[64]", ramp(64)}}));
}

/// Every file that the certificate names is there with the hash it has; nothing is missing.
bool isWhole(const QString& folder) {
    const auto certificate = QJsonDocument::fromJson(get(folder + s("/certificate.json"))).object();
    const auto files = certificate[s("files")].toArray();
    if (files.isEmpty() || certificate[s("result")].toString() != s("proved")) return false;
    for (const auto& file : files) {
        const auto bytes = get(folder + u'/' + file[s("name")].toString());
        const auto hash = QCryptographicHash::hash(bytes, QCryptographicHash::Sha256).toHex();
        if (QString::fromLatin1(hash) != file[s("sha256")].toString()) return false;
    }
    return true;
}

} // namespace

class TestExport : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void recipe() {
        QTemporaryDir dir;
        const QString model = dir.filePath(s("model")), out = dir.filePath(s("out"));
        QVERIFY(!makeModel(model, 64).isEmpty());
        const QString recipe = put(dir.filePath(s("r.json")), R"({"version":1,"default":"int4:block=32:scaletype=bf16",
            "rules":[{"tensor":"down_proj","spec":"keep"},{"tensor":"nowhere","spec":"int8"}]})");
        const auto ran =
            run({s("export"), model, s("--recipe"), recipe, s("--layout"), s("compressed-tensors"), s("-o"), out});
        QVERIFY2(ran.code == 0, ran.err.constData());
        QVERIFY2(ran.out.contains("The rule 'nowhere' matches no tensor."), ran.out.constData());
        QVERIFY2(ran.out.contains("bpw over 1 quantized tensors"), ran.out.constData());
        const auto config = QJsonDocument::fromJson(get(out + s("/config.json"))).object();
        QCOMPARE(config[s("model_type")].toString(), s("llama"));
        const auto ignored = config[s("quantization_config")][s("ignore")].toArray();
        QCOMPARE(ignored.first().toString(), s("a.down_proj"));
        const auto certificate = QJsonDocument::fromJson(get(out + s("/certificate.json"))).object();
        QCOMPARE(certificate[s("bytes_written")], certificate[s("bytes_predicted")]);
        // 64 rows of 8 words, two scales of two bytes each and the shape: 8 * (64 * 36 + 16) / (64 * 64).
        QCOMPARE(certificate[s("bpw")].toDouble(), 8.0 * (64 * 36 + 16) / 4096);
    }

    void oneFileHasItsCertificateBeside() {
        QTemporaryDir dir;
        const QString model = put(dir.filePath(s("m.safetensors")), safetensors({{"w", "F32", "[4,64]", ramp(256)}}));
        const QString recipe = put(dir.filePath(s("r.json")), R"({"version":1,"default":"nf4:block=64"})");
        const auto ran = run({s("export"), model, s("--recipe"), recipe, s("--layout"), s("eformer"), s("-o"),
                              dir.filePath(s("out.safetensors"))});
        QVERIFY2(ran.code == 0, ran.err.constData());
        QCOMPARE(entries(dir.path()),
                 (QStringList{s("m.safetensors"), s("out.certificate.json"), s("out.safetensors"), s("r.json")}));
        const auto json = QJsonDocument::fromJson(get(dir.filePath(s("out.certificate.json")))).object();
        QCOMPARE(json[s("bpw")].toDouble(), 4.5);
        QCOMPARE(json[s("result")].toString(), s("proved"));
    }

    void rulesOnTheCommandLine() {
        QTemporaryDir dir;
        const QString model = dir.filePath(s("model")), out = dir.filePath(s("out"));
        makeModel(model, 64);
        const auto ran = run({s("quantize"), model, s("--spec"), s("int4:block=32:scaletype=bf16"), s("--spec"),
                              s("down_proj=int8:block=32:scaletype=bf16"), s("--layout"), s("mlx"), s("-o"), out});
        QVERIFY2(ran.code == 0, ran.err.constData());
        const auto config = QJsonDocument::fromJson(get(out + s("/config.json"))).object();
        QCOMPARE(config[s("quantization")][s("bits")].toInt(), 8); // of the first, and what differs from it by name
        QCOMPARE(config[s("quantization")][s("a.up_proj")][s("bits")].toInt(), 4);
        const auto twice = run({s("quantize"), model, s("--spec"), s("nf4"), s("--spec"), s("int8"), s("-o"), out});
        QCOMPARE(twice.code, 1);
        QVERIFY(isSentence(twice.err));
    }

    void badRecipes_data() {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<QByteArray>("part");
        QTest::newRow("no JSON") << QByteArray("{") << QByteArray("not a JSON object");
        QTest::newRow("version") << QByteArray(R"({"version":2})") << QByteArray("version");
        QTest::newRow("entry") << QByteArray(R"({"version":1,"rule":[]})") << QByteArray("'rule'");
        QTest::newRow("spec") << QByteArray(R"({"version":1,"default":"nf5"})") << QByteArray("nf5");
        QTest::newRow("rule") << QByteArray(R"({"version":1,"rules":[{"tensor":"a"}]})") << QByteArray("rule 1");
        QTest::newRow("regex") << QByteArray(R"({"version":1,"rules":[{"tensor":"*a","spec":"nf4"}]})")
                               << QByteArray("regular expression");
        QTest::newRow("nothing") << QByteArray(R"({"version":1,"default":"keep"})") << QByteArray("spec");
    }
    void badRecipes() {
        QFETCH(QByteArray, text);
        QFETCH(QByteArray, part);
        QTemporaryDir dir;
        const QString model = put(dir.filePath(s("m.safetensors")), safetensors({{"w", "F32", "[4,64]", ramp(256)}}));
        const QString recipe = put(dir.filePath(s("r.json")), text);
        const auto ran = run(
            {s("export"), model, s("--recipe"), recipe, s("--layout"), s("eformer"), s("-o"), dir.filePath(s("out"))});
        QCOMPARE(ran.code, 1);
        QVERIFY2(isSentence(ran.err) && ran.err.contains(part), ran.err.constData());
        QCOMPARE(entries(dir.path()).size(), 2);
    }

    /// A folder that nobody may write to: as root only those of the kernel are.
    void targetWithoutPermission() {
        QTemporaryDir dir;
        const QString model = dir.filePath(s("model"));
        makeModel(model, 64);
        const QString closed = dir.filePath(s("closed"));
        QDir().mkpath(closed);
        QFile::setPermissions(closed, QFile::ReadOwner | QFile::ExeOwner);
        const QString folder = ::geteuid() == 0 ? s("/proc") : closed;
        for (const char* name : {"/out", "/out.safetensors"}) {
            const auto ran = run({s("quantize"), model, s("--spec"), s("nf4:block=64"), s("-o"), folder + s(name)});
            QCOMPARE(ran.code, 1);
            QVERIFY2(isSentence(ran.err) && ran.err.contains(folder.toLatin1()), ran.err.constData());
        }
        QVERIFY(entries(closed).isEmpty());
    }

    /// No file may be longer than the limit: as on a disk that is full, no part of the export stays.
    void fullDisk() {
        QTemporaryDir dir, output;
        const QString model = dir.filePath(s("model"));
        makeModel(model, 4096);
        for (const char* name : {"out", "out.safetensors"})
            for (const rlim_t most : {rlim_t(100), rlim_t(9000), rlim_t(70'000)}) {
                QProcess process;
                process.setChildProcessModifier([most] {
                    const rlimit limit{most, most};
                    ::setrlimit(RLIMIT_FSIZE, &limit);
                });
                process.start(binary(), {s("quantize"), model, s("--spec"), s("nf4:block=64"), s("-o"),
                                         output.filePath(s(name))});
                QVERIFY(process.waitForFinished(60'000));
                QCOMPARE(process.exitStatus(), QProcess::NormalExit);
                QCOMPARE(process.exitCode(), 1);
                const auto err = process.readAllStandardError();
                QVERIFY2(isSentence(err), err.constData());
                QCOMPARE(entries(output.path()), QStringList());
            }
    }

    /// At whatever moment it is killed, the folder is the old export or the new one, whole.
    void killedAtAnyMoment() {
        QTemporaryDir dir, output;
        const QString model = dir.filePath(s("model")), out = output.filePath(s("out"));
        makeModel(model, 8192);
        const auto arguments = [&](const char* spec) {
            return QStringList{s("quantize"), model, s("--spec"), s(spec), s("-o"), out};
        };
        QElapsedTimer timer;
        timer.start();
        QVERIFY(run(arguments("nf4:block=64")).code == 0);
        const int usual = int(timer.elapsed());
        QVERIFY(isWhole(out));
        int killed = 0, finished = 0;
        for (int i = 0; i < 25; ++i) {
            QProcess process;
            process.start(binary(), arguments(i % 2 ? "nf4:block=64" : "int8"));
            QVERIFY(process.waitForStarted());
            QTest::qSleep(QRandomGenerator::global()->bounded(usual + 10));
            ::kill(pid_t(process.processId()), SIGKILL);
            QVERIFY(process.waitForFinished(20'000));
            ++(process.exitStatus() == QProcess::CrashExit ? killed : finished);
            QVERIFY2(isWhole(out), qPrintable(entries(out).join(u' ')));
        }
        qInfo("%d of 25 runs of %d ms killed, %d had finished", killed, usual, finished);
        QVERIFY(killed > 0);
        QVERIFY(run(arguments("int8")).code == 0);
        QVERIFY(isWhole(out));
        QCOMPARE(entries(output.path()), QStringList{s("out")}); // what the killed ones left is gone
    }
};

QTEST_GUILESS_MAIN(TestExport)
#include "test_export.moc"
