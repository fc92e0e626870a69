// SPDX-License-Identifier: GPL-3.0-or-later
// Tests the bash completion in a real bash.
#include "app/cli/command.h"
#include "cli_run.h"
#include "tests/support/test_program.h"

#include <QRegularExpression>
#include <QStandardPaths>
#include <QTemporaryDir>

using namespace clitest;

namespace {

QStringList offered(const QStringList& words, const QString& folder = {}) {
    QProcess bash;
    if (!folder.isEmpty()) bash.setWorkingDirectory(folder);
    QStringList quoted;
    for (const auto& word : words) quoted << u'\'' + word + u'\'';
    bash.start(s("bash"), {s("--norc"), s("-c"),
                           s("source '%1/resources/completion/quantscope-cli.bash'; COMP_WORDS=('%2' %3); "
                             "COMP_CWORD=%4; _quantscope_cli; printf '%s\\n' \"${COMPREPLY[@]}\"")
                               .arg(QDir(s(QS_SOURCE_DIR)).absolutePath(), QDir::current().absoluteFilePath(binary()),
                                    quoted.join(u' '))
                               .arg(words.size())});
    if (!bash.waitForFinished()) return {};
    return QString::fromUtf8(bash.readAllStandardOutput()).split(u'\n', Qt::SkipEmptyParts);
}

} // namespace

class TestCompletion : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() {
        if (QStandardPaths::findExecutable(s("bash")).isEmpty()) QSKIP("bash is not installed.");
    }
    void everyCommand() {
        const auto all = offered({QString()});
        for (const auto& command : qs::cli::commands()) QVERIFY2(all.contains(s(command.name)), command.name);
        QCOMPARE(offered({s("anal")}), QStringList{s("analyze")});
    }
    void everyOption() {
        static const QRegularExpression option(s("--[a-z]+(-[a-z]+)*"));
        for (const auto& command : qs::cli::commands()) {
            const auto all = offered({s(command.name), s("--")});
            const auto help = QString::fromUtf8(run({s(command.name), s("--help")}).out);
            QVERIFY(help.contains(option));
            for (auto it = option.globalMatch(help); it.hasNext();) {
                const auto name = it.next().captured();
                QVERIFY2(all.contains(name), qPrintable(s(command.name) + u' ' + name));
            }
        }
    }
    void ids() {
        QVERIFY(offered({s("analyze"), s("x"), s("--spec"), s("nf")}).contains(s("nf4")));
        QVERIFY(offered({s("quantize"), s("x"), s("--layout"), s("")}).contains(s("eformer")));
        QCOMPARE(offered({s("dequantize"), s("x"), s("--decode"), s("p")}), QStringList{s("poly")});
    }
    // bash passes ":" and "=" as separate words.
    void keysAndValues() {
        const QStringList start{s("analyze"), s("x"), s("--spec")};
        QCOMPARE(offered(start + QStringList{s("nf4"), s(":"), s("bl")}), QStringList{s("block=")});
        const auto keys = offered(start + QStringList{s("int4"), s(":")});
        for (const char* key : {"scale=", "block=", "tile=", "calib=", "sym=", "sparse=", "dialect="})
            QVERIFY2(keys.contains(s(key)), key);
        QVERIFY(!keys.contains(s("bits="))); // only learned codebooks have this key
        QVERIFY(keys.contains(s("flat=")) && keys.contains(s("axis=")));
        QCOMPARE(offered(start + QStringList{s("int4"), s(":"), s("axis"), s("="), s("o")}), QStringList{s("out")});
        QCOMPARE(offered(start + QStringList{s("nf4"), s(":"), s("flat"), s("="), s("y")}), QStringList{s("yes")});
        QCOMPARE(offered({s("sweep"), s("x"), s("--decoded"), s("s")}), QStringList{s("source")});
        QCOMPARE(offered(start + QStringList{s("nf4"), s(":"), s("decode"), s("="), s("p")}), QStringList{s("poly")});
        QVERIFY(offered(start + QStringList{s("int4"), s(":"), s("sym"), s("="), s("no"), s(":"), s("calib"), s("=")})
                    .contains(s("minmax")));
        QCOMPARE(offered(start + QStringList{s("codebook"), s(":"), s("bits"), s("="), s("8")}), QStringList{s("8")});
        // The spec is complete, so a file follows, not a key.
        QCOMPARE(offered(start + QStringList{s("nf4"), s(":"), s("block"), s("="), s("64"), s("--dec")}),
                 QStringList{s("--decoded")});
    }
    void files() {
        QTemporaryDir dir;
        put(dir.filePath(s("a model.safetensors")), "x");
        QCOMPARE(offered({s("inspect"), s("a")}, dir.path()), QStringList{s("a model.safetensors")});
    }
};

QS_TEST(TestCompletion)
#include "completion_test.moc"
