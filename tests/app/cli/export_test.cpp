// SPDX-License-Identifier: GPL-3.0-or-later
// Command export: recipes, certificates, and failures of the target, the disk or the process.
#include "cli_run.h"
#include "exported.h"
#include "layout_case.h"
#include "tests/support/test_program.h"
#include "tests/support/thinned.h"

#include <QDirIterator>
#include <QElapsedTimer>
#include <QMap>
#include <QRandomGenerator>
#include <QTemporaryDir>
#include <algorithm>
#include <csignal>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

using namespace clitest;
using qs::test::kThinning;

namespace {

/// The outputs to test: a folder and a file, or only a file with the layout's extension.
QStringList outputNames(const QString& layout) {
    const char* ending = qs::findLayout(layout.toStdString())->fileEnding;
    return ending ? QStringList{s("out") + s(ending)} : QStringList{s("out"), s("out.safetensors")};
}

/// A GGUF file with one matrix of 64 columns.
QString makeGguf(const QString& path, int rows) {
    QByteArray head("GGUF");
    const auto add = [&](auto value) { head.append(reinterpret_cast<const char*>(&value), sizeof value); };
    const QByteArray name("a.up_proj.weight");
    add(quint32(3)), add(quint64(1)), add(quint64(0)), add(quint64(name.size()));
    head += name;
    add(quint32(2)), add(quint64(64)), add(quint64(rows)), add(quint32(0)), add(quint64(0));
    head.append(31 - (head.size() - 1) % 32, '\0');
    return put(path, head + ramp(rows * 64));
}

/// Arguments that export a model with this many rows.
QStringList exportOf(const QTemporaryDir& dir, const QString& layout, int rows, const QString& out) {
    const auto* found = std::find_if(std::begin(kLayoutCases), std::end(kLayoutCases),
                                     [&](const auto& c) { return layout == s(c.layout); });
    if (found == std::end(kLayoutCases)) qFatal("no spec for layout %s", qPrintable(layout));
    const QString model = dir.filePath(s(layout == s("gguf") ? "m%1.gguf" : "m%1").arg(rows));
    if (!QFileInfo::exists(model)) layout == s("gguf") ? makeGguf(model, rows) : makeModel(model, rows);
    const QString recipe =
        put(dir.filePath(s("r.json")), QByteArray("{\"version\":1,\"default\":\"") + found->spec + "\"}");
    return {s("export"), model, s("--recipe"), recipe, s("--layout"), layout, s("-o"), out};
}

/// Contents of the file, or of all files below a folder by name. Certificates are left out because they contain the
/// time.
QMap<QString, QByteArray> contentsOf(const QString& path) {
    QMap<QString, QByteArray> all;
    if (QFileInfo(path).isFile()) all[{}] = bytesOf(path);
    QDirIterator it(path, QDir::Files | QDir::Hidden, QDirIterator::Subdirectories);
    while (it.hasNext()) {
        const QString file = it.next();
        if (file.endsWith(s("/.quantscope-writing"))) continue; // left behind by an interrupted export
        all[QDir(path).relativeFilePath(file)] = bytesOf(file);
    }
    return all;
}

/// Mounts a small file system in a private mount namespace of this process.
bool mountSmall(const QString& folder) {
    static const bool apart =
        ::unshare(CLONE_NEWNS) == 0 && ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
    return apart && ::mount("tmpfs", QFile::encodeName(folder).constData(), "tmpfs", 0, "size=256k") == 0;
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
        QVERIFY2(ran.out.contains("bpw in 1 quantized tensor, "), ran.out.constData());
        const auto config = QJsonDocument::fromJson(bytesOf(out + s("/config.json"))).object();
        QCOMPARE(config[s("model_type")].toString(), s("llama"));
        const auto ignored = config[s("quantization_config")][s("ignore")].toArray();
        QCOMPARE(ignored.first().toString(), s("a.down_proj"));
        const auto certificate = QJsonDocument::fromJson(bytesOf(out + s("/certificate.json"))).object();
        QCOMPARE(certificate[s("bytes_written")], certificate[s("bytes_predicted")]);
        // 64 rows of 8 words, two scales of 2 bytes each, and the shape: 8 * (64 * 36 + 16) / (64 * 64).
        QCOMPARE(certificate[s("bpw")].toDouble(), 8.0 * (64 * 36 + 16) / 4096);
    }

    void oneFileHasItsCertificateBeside() {
        QTemporaryDir dir;
        const QString model = put(dir.filePath(s("m.safetensors")), safetensors({{"w", "F32", "[4,64]", ramp(256)}}));
        const QString recipe = put(dir.filePath(s("r.json")), R"({"version":1,"default":"nf4:block=64"})");
        const auto ran = run({s("export"), model, s("--recipe"), recipe, s("--layout"), s("eformer"), s("-o"),
                              dir.filePath(s("out.safetensors"))});
        QVERIFY2(ran.code == 0, ran.err.constData());
        QCOMPARE(entries(dir.path()), (QStringList{s("m.safetensors"), s("out.safetensors"),
                                                   s("out.safetensors.certificate.json"), s("r.json")}));
        const auto json =
            QJsonDocument::fromJson(bytesOf(dir.filePath(s("out.safetensors.certificate.json")))).object();
        QCOMPARE(json[s("bpw")].toDouble(), 4.5);
        QCOMPARE(json[s("result")].toString(), s("proved"));
    }

    void verifySaysWhatDiffers() {
        QTemporaryDir dir;
        const QString model = dir.filePath(s("model")), out = dir.filePath(s("out")),
                      file = dir.filePath(s("out.safetensors")), json = dir.filePath(s("v.json"));
        makeModel(model, 64);
        const QString recipe = put(dir.filePath(s("r.json")), R"({"version":1,"default":"nf4:block=64"})");
        const auto quantize = [&](const QString& to) {
            return run({s("export"), model, s("--recipe"), recipe, s("--layout"), s("eformer"), s("-o"), to});
        };
        QCOMPARE(run({s("verify"), model}).code, 1); // the model has no certificate
        for (const QString& written : {out, file}) {
            QVERIFY(quantize(written).code == 0);
            const auto fine = run({s("verify"), written, s("--json"), json});
            QVERIFY2(fine.code == 0 && fine.out.contains("as certified"), fine.err.constData());
            QCOMPARE(QJsonDocument::fromJson(bytesOf(json)).object()[s("holds")].toBool(), true);
            const QString weights = written == out ? out + s("/model.safetensors") : file;
            auto bytes = bytesOf(weights);
            bytes[bytes.size() - 1] = char(bytes[bytes.size() - 1] ^ 1);
            QVERIFY(!put(weights, bytes).isEmpty());
            const auto changed = run({s("verify"), written, s("--json"), json});
            QCOMPARE(changed.code, 1);
            QVERIFY2(isSentence(changed.err) && changed.err.contains("SHA-256"), changed.err.constData());
            QCOMPARE(QJsonDocument::fromJson(bytesOf(json)).object()[s("holds")].toBool(true), false);
            bytes.chop(1);
            QVERIFY(!put(weights, bytes).isEmpty());
            QVERIFY(run({s("verify"), written}).err.contains("bytes, not"));
        }
        // A certificate that was moved elsewhere names files that are not there.
        QVERIFY(QFile::remove(file) && quantize(file).code == 0);
        const QString apart = dir.filePath(s("apart"));
        QVERIFY(QDir().mkdir(apart) && QFile::rename(file + s(".certificate.json"), apart + s("/c.json")));
        const auto gone = run({s("verify"), file, s("--certificate"), apart + s("/c.json")});
        QVERIFY2(gone.code == 1 && gone.err.contains("it is not there"), gone.err.constData());
    }

    void rulesOnTheCommandLine() {
        QTemporaryDir dir;
        const QString model = dir.filePath(s("model")), out = dir.filePath(s("out"));
        makeModel(model, 64);
        const auto ran = run({s("quantize"), model, s("--spec"), s("int4:block=32:scaletype=bf16"), s("--spec"),
                              s("down_proj=int8:block=32:scaletype=bf16"), s("--layout"), s("mlx"), s("-o"), out});
        QVERIFY2(ran.code == 0, ran.err.constData());
        const auto config = QJsonDocument::fromJson(bytesOf(out + s("/config.json"))).object();
        QCOMPARE(config[s("quantization")][s("bits")].toInt(), 8); // the default, and by name the layers that differ
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

    void everyLayoutHasACase() {
        const char* without = layoutWithoutCase(kLayoutCases);
        QVERIFY2(!without, without);
    }

    static void addLayouts() {
        QTest::addColumn<QString>("layout");
        for (const auto& layout : qs::layouts()) QTest::newRow(layout.id) << s(layout.id);
    }

    /// A folder without write permission. As root only folders of the kernel are protected.
    void targetWithoutPermission_data() { addLayouts(); }
    void targetWithoutPermission() {
        QFETCH(QString, layout);
        QTemporaryDir dir;
        const QString closed = dir.filePath(s("closed"));
        QDir().mkpath(closed);
        QFile::setPermissions(closed, QFile::ReadOwner | QFile::ExeOwner);
        const QString folder = ::geteuid() == 0 ? s("/proc") : closed;
        for (const QString& name : outputNames(layout)) {
            const auto ran = run(exportOf(dir, layout, 64, folder + u'/' + name));
            QCOMPARE(ran.code, 1);
            QVERIFY2(isSentence(ran.err) && ran.err.contains(folder.toLatin1()), ran.err.constData());
        }
        QVERIFY(entries(closed).isEmpty());
    }

    /// A limit on the file size acts like a full disk: no part of the export may stay.
    void fullDisk_data() { addLayouts(); }
    void fullDisk() {
        QFETCH(QString, layout);
        QTemporaryDir dir, output;
        for (const QString& name : outputNames(layout))
            for (const rlim_t most : {rlim_t(100), rlim_t(9000), rlim_t(40'000)}) {
                QProcess process;
                process.setChildProcessModifier([most] {
                    const rlimit limit{most, most};
                    ::setrlimit(RLIMIT_FSIZE, &limit);
                });
                process.start(binary(), exportOf(dir, layout, 4096, output.filePath(name)));
                QVERIFY(process.waitForFinished(60'000));
                const auto err = process.readAllStandardError();
                QVERIFY2(process.exitStatus() == QProcess::NormalExit, err.constData());
                QCOMPARE(process.exitCode(), 1);
                QVERIFY2(isSentence(err), err.constData());
                QCOMPARE(entries(output.path()), QStringList());
            }
    }

    /// A file system of 256 KiB, if it can be mounted here: once empty, once with an older export.
    void smallDisk_data() { addLayouts(); }
    void smallDisk() {
        QFETCH(QString, layout);
        QTemporaryDir dir, disk;
        if (!mountSmall(disk.path())) QSKIP("Nothing may be mounted here; fullDisk() has limits instead.");
        for (const QString& name : outputNames(layout)) {
            const QString out = disk.filePath(name);
            QVERIFY(run(exportOf(dir, layout, 64, out)).code == 0);
            const auto before = contentsOf(disk.path());
            const auto ran = run(exportOf(dir, layout, 8192, out));
            QCOMPARE(ran.code, 1);
            QVERIFY2(isSentence(ran.err), ran.err.constData());
            QCOMPARE(contentsOf(disk.path()), before); // the older export is unchanged and nothing else is there
            for (const QString& left : entries(disk.path()))
                QVERIFY(QFile::remove(disk.filePath(left)) || QDir(disk.filePath(left)).removeRecursively());
        }
        QVERIFY(::umount(QFile::encodeName(disk.path()).constData()) == 0);
    }

    /// An export may be killed at any moment: under its name lies the complete old or the complete new output. The next
    /// export removes leftovers.
    void killedInEveryLayout_data() { addLayouts(); }
    void killedInEveryLayout() {
        QFETCH(QString, layout);
        QTemporaryDir dir, output;
        const QString name = outputNames(layout).first(), out = output.filePath(name);
        const bool isFile = name.contains(u'.');
        QElapsedTimer timer;
        timer.start();
        QVERIFY(run(exportOf(dir, layout, 2048, out)).code == 0);
        const int usual = int(timer.elapsed());
        QVERIFY(run(exportOf(dir, layout, 4096, output.filePath(s("other-") + name))).code == 0);
        const auto wholes = QList{contentsOf(out), contentsOf(output.filePath(s("other-") + name))};
        QVERIFY(wholes[0] != wholes[1]);
        for (int i = 0; i < (kThinning > 1 ? 2 : 5); ++i) {
            QProcess process;
            process.start(binary(), exportOf(dir, layout, i % 2 ? 2048 : 4096, out));
            QVERIFY(process.waitForStarted());
            QTest::qSleep(QRandomGenerator::global()->bounded(usual + 10));
            ::kill(pid_t(process.processId()), SIGKILL);
            QVERIFY(process.waitForFinished(20'000));
            QVERIFY2(wholes.contains(contentsOf(out)), qPrintable(entries(output.path()).join(u' ')));
        }
        QVERIFY(run(exportOf(dir, layout, 2048, out)).code == 0);
        QCOMPARE(contentsOf(out), wholes[0]);
        auto expected = QStringList{name, s("other-") + name};
        if (isFile) {
            expected << name + s(".certificate.json") << s("other-") + name + s(".certificate.json");
        }
        expected.sort();
        QCOMPARE(entries(output.path()), expected);
    }
};

QS_TEST(TestExport)
#include "export_test.moc"
