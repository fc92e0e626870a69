// SPDX-License-Identifier: GPL-3.0-or-later
// Outputs have the ending of their kind, and replace only what the program wrote, or what --force gives up.
#include "cli_run.h"
#include "core/model/output/atomic_file.h"
#include "core/model/output/content_note.h"
#include "core/recipes/recipe_format.h"
#include "tests/support/test_program.h"

#include <QTemporaryDir>

using namespace clitest;

class ReplacedFilesTest : public QObject {
    Q_OBJECT
    QTemporaryDir dir_;
    QString path(const char* name) const { return dir_.filePath(s(name)); }
    QString model_;
    const QStringList text_ = {s("--text"), kText, s("--ctx"), s("128"), s("--chunks"), s("1")};
    const QStringList capture_ = QStringList{s("capture"), kSample} + text_ + QStringList{s("-o")};
    const QStringList save_ = QStringList{s("eval"), kSample} + text_ + QStringList{s("--save-base")};

private Q_SLOTS:
    void initTestCase() {
        const std::string noted = path("noted").toStdString();
        if (!qs::writeWholeFile(noted, "x") || !qs::isAsNoted(noted))
            QSKIP("the file system of the temporary folder keeps no attributes");
        model_ = put(path("model.safetensors"), safetensors({{"a", "F32", "[64,64]", ramp(64 * 64)}}));
    }

    void endingsAreDemanded_data() {
        QTest::addColumn<QStringList>("command");
        QTest::addColumn<QString>("output");
        QTest::addColumn<QString>("ending");
        const auto row = [&](const char* name, QStringList command, const char* output, const char* ending) {
            QTest::newRow(name) << command << path(output) << s(ending);
        };
        const QString recipe = s("tests/data/recipes/quantscope.json");
        row("json", {s("inspect"), model_, s("--json")}, "rows.txt", ".json");
        row("csv", {s("analyze"), model_, s("--spec"), s("int8"), s("--csv")}, "rows", ".csv");
        row("html", {s("analyze"), model_, s("--spec"), s("int8"), s("--html")}, "report.pdf", ".html");
        row("a plan",
            {s("plan"), model_, s("--spec"), s("int8"), s("--spec"), s("int4"), s("--budget"), s("6bpw"), s("-o")},
            "plan.safetensors", ".json");
        row("a recipe", {s("recipe"), s("convert"), recipe, s("--model"), kSample, s("--to"), s("qwix"), s("-o")},
            "r.json", ".yaml");
        row("a certificate", {s("quantize"), model_, s("--spec"), s("int8"), s("-o"), path("c"), s("--certificate")},
            "c.txt", ".json");
    }
    void endingsAreDemanded() {
        QFETCH(QStringList, command);
        QFETCH(QString, output);
        QFETCH(QString, ending);
        const auto ran = run(command + QStringList{output});
        QVERIFY2(ran.code == 1 && isSentence(ran.err) && ran.err.contains("must end in " + ending.toLatin1()),
                 ran.err.constData());
        QVERIFY(ran.out.isEmpty() && !QFileInfo::exists(output));
    }

    void aRecipeMayBeNamedAfterItsProgram() {
        const auto ran = run({s("recipe"), s("convert"), s("tests/data/recipes/quantscope.json"), s("--model"), kSample,
                              s("--to"), s("qwix"), s("-o"), path("out.qwix")});
        QVERIFY2(ran.code == 0, ran.err.constData());
    }

    void filesOfOthersStay_data() {
        QTest::addColumn<QStringList>("command");
        QTest::addColumn<QString>("output");
        QTest::addColumn<QByteArray>("before");
        const auto row = [&](const char* name, QStringList command, const char* output, QByteArray before) {
            QTest::newRow(name) << command << path(output) << before;
        };
        const QByteArray weights = safetensors({{"precious", "F32", "[8]", ramp(8)}});
        const QString recipe = s("tests/data/recipes/quantscope.json");
        row("a table", {s("analyze"), model_, s("--spec"), s("int8"), s("--csv")}, "t.csv", "name,value\nx,1\n");
        row("a configuration", {s("inspect"), model_, s("--json")}, "other.json", "{\"model_type\": \"llama\"}");
        row("a page", {s("analyze"), model_, s("--spec"), s("int8"), s("--html")}, "page.html",
            "<html><body>x</body></html>");
        row("a checkpoint", {s("quantize"), model_, s("--spec"), s("int8"), s("-o")}, "w.safetensors", weights);
        row("a checkpoint, decoded", {s("dequantize"), model_, s("-o")}, "d.safetensors", weights);
        row("a checkpoint under another ending", {s("inspect"), model_, s("--json")}, "weights.json", weights);
        row("a recipe", {s("recipe"), s("convert"), recipe, s("--model"), kSample, s("--to"), s("qwix"), s("-o")},
            "mine.yaml", "- module_path: x\n");
        row("an archive of arrays", {s("quantize"), model_, s("--spec"), s("int8"), s("-o")}, "a.npz",
            bytesOf(s("tests/data/pytorch/arrays.npz")));
        row("a GGUF file", {s("quantize"), s("tests/data/eval/gguf/llama.gguf"), s("--spec"), s("f16"), s("-o")},
            "g.gguf", bytesOf(s("tests/data/gguf/aligned.gguf")));
        row("tokens", {s("tokenize"), kSample, s("--text"), kText, s("-o")}, "t.npy", "\x93NUMPY");
        row("numbers", {s("tokenize"), kSample, s("--text"), kText, s("-o")}, "t.txt", "1\n2\n");
        row("a longer file", {s("tokenize"), kSample, s("--text"), put(path("a"), "a"), s("-o")}, "long.txt",
            "97\n98\n");
        row("a shorter file", {s("tokenize"), kSample, s("--text"), put(path("ab"), "ab"), s("-o")}, "short.txt",
            "97\n");
        row("sums", capture_, "s.dat", QByteArray(64, 'x'));
        row("predictions", save_, "p.kld", "_logits_");
    }
    void filesOfOthersStay() {
        QFETCH(QStringList, command);
        QFETCH(QString, output);
        QFETCH(QByteArray, before);
        put(output, before);
        const auto refused = run(command + QStringList{output});
        QVERIFY2(refused.code == 1 && isSentence(refused.err) && refused.err.contains("--force"),
                 refused.err.constData());
        QVERIFY(refused.out.isEmpty());
        QCOMPARE(bytesOf(output), before);
        const auto forced = run(command + QStringList{output, s("--force")});
        QVERIFY2(forced.code == 0, forced.err.constData());
        QVERIFY(bytesOf(output) != before);
        const QByteArray written = bytesOf(output);
        const auto again = run(command + QStringList{output}); // now it is ours, or the same
        QVERIFY2(again.code == 0 && again.err.isEmpty(), again.err.constData());
        QVERIFY(output.endsWith(s("ml")) || output.endsWith(s(".json")) || bytesOf(output) == written);
    }

    void ownFilesAreReplaced_data() {
        QTest::addColumn<QStringList>("command");
        for (const char* ending : {"json", "csv", "html", "pdf", "md"})
            QTest::addRow("%s", ending) << QStringList{
                s("analyze"), model_, s("--spec"), s("int8"), s("--") + s(ending), path("own.") + s(ending)};
        QTest::newRow("inspect") << QStringList{s("inspect"), model_, s("--json"), path("inspect.json")};
        QTest::newRow("a registry") << QStringList{s("formats"), s("--json"), path("formats.json")};
        QTest::newRow("a difference") << QStringList{s("diff"), model_, model_, s("--json"), path("diff.json")};
        QTest::newRow("a plan") << QStringList{s("plan"), model_,        s("--spec"), s("int8"), s("--spec"),
                                               s("int4"), s("--budget"), s("6bpw"),   s("-o"),   path("plan.json")};
        QTest::newRow("a certificate") << QStringList{s("quantize"), model_,    s("--spec"),        s("int8"),
                                                      s("-o"),       path("q"), s("--certificate"), path("c.json")};
        QTest::newRow("inputs") << QStringList{
            s("capture"), kSample,       s("--text"), kText,   s("--ctx"),
            s("128"),     s("--chunks"), s("1"),      s("-o"), path("inputs.safetensors")};
        QTest::newRow("arrays") << QStringList{s("quantize"), model_, s("--spec"), s("int8"), s("-o"), path("o.npz")};
        QTest::newRow("GGUF") << QStringList{
            s("quantize"), s("tests/data/eval/gguf/llama.gguf"), s("--spec"), s("f16"), s("-o"), path("o.gguf")};
        QTest::newRow("an importance matrix")
            << QStringList{s("capture"), kSample,       s("--text"), kText,   s("--ctx"),
                           s("128"),     s("--chunks"), s("1"),      s("-o"), path("imatrix.gguf")};
        QTest::newRow("what was empty") << QStringList{s("tokenize"), kSample, s("--text"),
                                                       kText,         s("-o"), put(path("empty.npy"), {})};
        QTest::newRow("numbers") << QStringList{s("tokenize"), kSample, s("--text"), kText, s("-o"), path("own.txt")};
        QTest::newRow("decoded") << QStringList{s("dequantize"), s("tests/data/conventions/bnb_4bit"), s("-o"),
                                                path("decoded.safetensors")};
        QTest::newRow("sums") << capture_ + QStringList{path("own.dat")};
        QTest::newRow("predictions") << save_ + QStringList{path("own.kld")};
        const QDir recipes(s("tests/data/recipes"));
        for (const qs::RecipeFormat* to : qs::recipeFormats()) {
            const QStringList names = recipes.entryList({s(to->id) + s(".*")});
            QVERIFY2(names.size() == 1, to->id);
            QTest::addRow("a recipe of %s", to->id)
                << QStringList{s("recipe"), s("convert"), recipes.filePath(names[0]), s("--model"), kSample, s("--to"),
                               s(to->id),   s("-o"),      path("recipe.") + s(to->id)};
        }
    }
    void ownFilesAreReplaced() {
        QFETCH(QStringList, command);
        QFile output(command.last());
        for (int round = 0; round < 2; ++round) {
            const auto ran = run(command);
            QVERIFY2(ran.code == 0, ran.err.constData());
            QVERIFY(output.open(QIODevice::ReadWrite)); // another time is no other content
            QVERIFY(output.setFileTime(QDateTime::currentDateTime().addDays(1), QFileDevice::FileModificationTime));
            output.close();
        }
        // The same file with one other byte, at its old time, holds the work of somebody.
        QVERIFY(output.open(QIODevice::ReadWrite));
        const QDateTime time = output.fileTime(QFileDevice::FileModificationTime);
        QByteArray edited = output.readAll();
        edited[edited.size() / 2] = char(edited[edited.size() / 2] ^ 1);
        QVERIFY(output.seek(0) && output.write(edited) == edited.size() && output.flush());
        QVERIFY(output.setFileTime(time, QFileDevice::FileModificationTime));
        output.close();
        const auto refused = run(command);
        QVERIFY2(refused.code == 1 && isSentence(refused.err) && refused.err.contains("--force"),
                 refused.err.constData());
        QCOMPARE(bytesOf(output.fileName()), edited);
    }

    /// A copy is somebody's file: nothing says that it has not been changed.
    void copiesStay() {
        const QStringList command = {s("quantize"), model_, s("--spec"), s("int8"), s("-o")};
        QCOMPARE(run(command + QStringList{path("first.safetensors")}).code, 0);
        put(path("copy.safetensors"), bytesOf(path("first.safetensors")));
        const auto refused = run(command + QStringList{path("copy.safetensors")});
        QVERIFY2(refused.code == 1 && refused.err.contains("nothing shows that it is still as this program wrote it"),
                 refused.err.constData());
    }

    /// A certificate of an export that is gone says nothing about the file that has its name now.
    void aCertificateOfAnotherFile() {
        const QString output = path("certified.safetensors");
        const QStringList command = {s("export"),   kSample,  s("--recipe"), path("bnb.json"),
                                     s("--layout"), s("bnb"), s("-o"),       output};
        put(path("bnb.json"), "{\"version\": 1, \"default\": \"nf4:dialect=bnb\"}");
        const auto written = run(command);
        QVERIFY2(written.code == 0 && QFile::exists(output + s(".certificate.json")), written.err.constData());
        QCOMPARE(run(command).code, 0); // it holds, so this is ours
        const QByteArray other = safetensors({{"precious", "F32", "[8]", ramp(8)}});
        put(output, other);
        const auto refused = run(command);
        QVERIFY2(refused.code == 1 && isSentence(refused.err) && refused.err.contains("--force"),
                 refused.err.constData());
        QCOMPARE(bytesOf(output), other);
    }

    void mergePassesItOn() {
        const QStringList command = {s("analyze"), model_, s("--spec"), s("int8")};
        QCOMPARE(run(command + QStringList{s("--records"), path("records")}).code, 0);
        const QString output = put(path("merged.json"), "{\"of\": \"others\"}");
        const QStringList merge = {s("merge"), path("records"), s("--json"), output};
        const auto refused = run(merge);
        QVERIFY2(refused.code == 1 && refused.err.contains("--force"), refused.err.constData());
        const auto forced = run(merge + QStringList{s("--force")});
        QVERIFY2(forced.code == 0, forced.err.constData());
        QVERIFY(!rows(bytesOf(output)).isEmpty());
    }
};

QS_TEST(ReplacedFilesTest)
#include "replaced_files_test.moc"
