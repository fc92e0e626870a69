// SPDX-License-Identifier: GPL-3.0-or-later
// Certificates and names of exports: replaced ones, several in a folder, two at once, and killed ones.
#include "cli_run.h"
#include "exported.h"
#include "tests/support/test_program.h"
#include "tests/support/thinned.h"

#include <QCryptographicHash>
#include <QElapsedTimer>
#include <QRandomGenerator>
#include <QSet>
#include <QTemporaryDir>
#include <csignal>
#include <sys/stat.h>

using namespace clitest;
using qs::test::kThinning;

namespace {

/// True if the certificate contains the hash of the file.
bool speaksOf(const QString& file, const QJsonObject& certificate) {
    const auto said = certificate[s("files")].toArray().first();
    const auto hash = QCryptographicHash::hash(bytesOf(file), QCryptographicHash::Sha256).toHex();
    return said[s("sha256")].toString() == QString::fromLatin1(hash) &&
           said[s("name")].toString() == QFileInfo(file).fileName();
}
bool speaksOf(const QString& file) {
    return speaksOf(file, QJsonDocument::fromJson(bytesOf(file + s(".certificate.json"))).object());
}

} // namespace

class TestExportNames : public QObject {
    Q_OBJECT
private Q_SLOTS:
    /// A file that replaces an export and has no certificate must also remove the old certificate.
    void noCertificateOfWhatWasReplaced() {
        QTemporaryDir dir, output;
        const QString model = makeModel(dir.filePath(s("model")), 64), recipe = dir.filePath(s("recipe.json"));
        const QString out = output.filePath(s("out.safetensors")),
                      certificate = output.filePath(s("out.safetensors.certificate.json"));
        put(recipe, "{\"version\": 1, \"default\": \"nf4:block=64\", \"rules\": []}");
        const QStringList exporting{s("export"),   model,       s("--recipe"), recipe,
                                    s("--layout"), s("native"), s("-o"),       out};
        QVERIFY(run(exporting).code == 0 && QFile::exists(certificate));
        QVERIFY(run({s("quantize"), model, s("--spec"), s("int8"), s("-o"), out}).code == 0);
        QVERIFY(!QFile::exists(certificate));
        const QString other = output.filePath(s("other.safetensors"));
        QVERIFY(QFile::copy(out, other));
        QVERIFY(run(exporting).code == 0 && QFile::exists(certificate));
        QVERIFY(run({s("dequantize"), other, s("-o"), out}).code == 0);
        QVERIFY(!QFile::exists(certificate));
    }

    /// f.h5, f.npz and f.safetensors have one certificate each. A certificate with an old-style name is removed
    /// together with its file only.
    void aCertificateForEachFile() {
        QTemporaryDir dir, output;
        const QString model = makeModel(dir.filePath(s("model")), 64), recipe = dir.filePath(s("r.json"));
        put(recipe, R"({"version":1,"default":"int8"})");
        const auto exporting = [&](const char* layout, const QString& out) {
            return run({s("export"), model, s("--recipe"), recipe, s("--layout"), s(layout), s("-o"), out}).code == 0;
        };
        const std::vector<std::pair<const char*, QString>> all{
            {"native", s("f.safetensors")}, {"hdf5", s("f.h5")}, {"npz", s("f.npz")}};
        for (const auto& [layout, name] : all) QVERIFY(exporting(layout, output.filePath(name)));
        for (const auto& [layout, name] : all) QVERIFY(speaksOf(output.filePath(name)));
        const QString earlier = output.filePath(s("f.certificate.json")), file = output.filePath(s("f.safetensors"));
        QVERIFY(QFile::rename(file + s(".certificate.json"), earlier));
        QVERIFY(exporting("hdf5", output.filePath(s("f.h5")))); // that certificate is about another file
        QVERIFY(QFile::exists(earlier));
        QVERIFY(exporting("native", file) && speaksOf(file));
        QVERIFY(!QFile::exists(earlier));
    }

    /// Two exports to one file at the same time: the remaining certificate belongs to the remaining file.
    void twoAtOnce() {
        QTemporaryDir dir, output;
        const QString model = makeModel(dir.filePath(s("model")), 64), out = output.filePath(s("out.safetensors"));
        QStringList recipes;
        for (const char* spec : {"nf4:block=64", "int8"})
            recipes << put(dir.filePath(s(spec).section(u':', 0, 0)),
                           QByteArray("{\"version\":1,\"default\":\"") + spec + "\"}");
        constexpr int kPairs = kThinning > 1 ? 10 : 60;
        QSet<QByteArray> seen;
        for (int i = 0; i < kPairs; ++i) {
            QProcess pair[2];
            for (int k = 0; k < 2; ++k)
                pair[k].start(binary(), {s("export"), model, s("--recipe"), recipes[(k + i) % 2], s("--layout"),
                                         s("native"), s("-o"), out});
            for (auto& one : pair) QVERIFY(one.waitForFinished(60'000) && one.exitCode() == 0);
            QVERIFY2(speaksOf(out), qPrintable(s("pair %1").arg(i)));
            QVERIFY(!QJsonDocument::fromJson(bytesOf(out + s(".certificate.json"))).object().contains(s("previous")));
            seen << QCryptographicHash::hash(bytesOf(out), QCryptographicHash::Sha256);
        }
        QCOMPARE(entries(output.path()), (QStringList{s("out.safetensors"), s("out.safetensors.certificate.json")}));
        qInfo("%d pairs, %d different files", kPairs, int(seen.size()));
    }

    /// Kills the export at system calls around the two renames. The certificate beside the file must describe it, in
    /// itself or as `previous`. The next export leaves one certificate.
    void killedBetweenTheNames() {
        QTemporaryDir dir, output;
        const QString model = makeModel(dir.filePath(s("model")), 64), out = output.filePath(s("out.safetensors")),
                      recipe = dir.filePath(s("r.json"));
        const auto exporting = [&](const char* spec) {
            put(recipe, QByteArray("{\"version\":1,\"default\":\"") + spec + "\"}");
            return QStringList{s("export"), model, s("--recipe"), recipe, s("--layout"), s("native"), s("-o"), out};
        };
        QVERIFY(run(exporting("int8")).code == 0);
        const auto inodeOf = [](const QString& path) {
            struct stat status {};
            return ::stat(QFile::encodeName(path).constData(), &status) == 0 ? status.st_ino : 0;
        };
        int both = 0, killed = 0;
        for (int i = 0; i < int(40 / kThinning); ++i) {
            QProcess process;
            process.start(binary(), exporting(i % 2 ? "int8" : "nf4:block=64"));
            QVERIFY(process.waitForStarted());
            // Kills at the first rename, at the second, or some microseconds later.
            const QString watched = i % 3 == 0 ? out : out + s(".certificate.json");
            const auto before = inodeOf(watched);
            QElapsedTimer timer;
            timer.start();
            while (inodeOf(watched) == before && timer.elapsed() < 20'000) {
            }
            for (QElapsedTimer pause; i % 4 == 3;) {
                if (!pause.isValid()) pause.start();
                if (pause.nsecsElapsed() > 20'000 * i) break;
            }
            ::kill(pid_t(process.processId()), SIGKILL);
            QVERIFY(process.waitForFinished(20'000));
            killed += process.exitStatus() == QProcess::CrashExit;
            const auto certificate = QJsonDocument::fromJson(bytesOf(out + s(".certificate.json"))).object();
            both += certificate.contains(s("previous"));
            QVERIFY2(speaksOf(out, certificate) || speaksOf(out, certificate[s("previous")].toObject()),
                     qPrintable(entries(output.path()).join(u' ')));
        }
        qInfo("%d runs were killed, %d of them between the names", killed, both);
        QVERIFY(run(exporting("int8")).code == 0 && speaksOf(out));
        QVERIFY(!QJsonDocument::fromJson(bytesOf(out + s(".certificate.json"))).object().contains(s("previous")));
    }

    /// Killed at any moment, the folder is the complete old or the complete new export.
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
        constexpr int kRuns = int(25 / kThinning);
        for (int i = 0; i < kRuns; ++i) {
            QProcess process;
            process.start(binary(), arguments(i % 2 ? "nf4:block=64" : "int8"));
            QVERIFY(process.waitForStarted());
            QTest::qSleep(QRandomGenerator::global()->bounded(usual + 10));
            ::kill(pid_t(process.processId()), SIGKILL);
            QVERIFY(process.waitForFinished(20'000));
            ++(process.exitStatus() == QProcess::CrashExit ? killed : finished);
            QVERIFY2(isWhole(out), qPrintable(entries(out).join(u' ')));
        }
        qInfo("%d of %d runs of %d ms killed, %d had finished", killed, kRuns, usual, finished);
        QVERIFY(killed > 0);
        QVERIFY(run(arguments("int8")).code == 0);
        QVERIFY(isWhole(out));
        QCOMPARE(entries(output.path()), QStringList{s("out")}); // leftovers of killed exports are removed
    }
};

QS_TEST(TestExportNames)
#include "export_names_test.moc"
