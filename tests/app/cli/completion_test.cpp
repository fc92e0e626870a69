// SPDX-License-Identifier: GPL-3.0-or-later
// Tests the completions in the real shells: bash, fish and zsh.
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

/// Words that a shell prints for `script`, which finds the words typed so far in its arguments. The program is on PATH.
QStringList printed(const QString& shell, const QStringList& options, const QString& script, const QStringList& typed) {
    QProcess process;
    auto environment = QProcessEnvironment::systemEnvironment();
    environment.insert(s("PATH"), QFileInfo(QDir::current().absoluteFilePath(binary())).absolutePath() + u':' +
                                      environment.value(s("PATH")));
    process.setProcessEnvironment(environment);
    process.start(shell, options + QStringList{s("-c"), script} + typed);
    if (!process.waitForFinished()) return {};
    QStringList words;
    for (const auto& line : QString::fromUtf8(process.readAllStandardOutput()).split(u'\n', Qt::SkipEmptyParts))
        words << line.section(u'\t', 0, 0).section(u':', 0, 0);
    return words;
}

QStringList inFish(const QStringList& typed) {
    return printed(s("fish"), {s("--no-config")},
                   s("source resources/completion/quantscope-cli.fish; complete -C \"quantscope-cli $argv\""), typed);
}

/// zsh gives candidates to builtins of its line editor, which print them here.
QStringList inZsh(const QStringList& typed) {
    return printed(
        s("zsh"), {s("-f")},
        s("compadd() { while [[ $1 == -* && $1 != -- ]]; do shift; done; [[ $1 == -- ]] && shift; print -l -- "
          "\"$@\"; }; _describe() { print -l -- ${(P)2}; }; _files() { print files; }; "
          "words=(quantscope-cli \"$@\"); CURRENT=${#words}; set --; "
          "source resources/completion/quantscope-cli.zsh"),
        QStringList{s("zsh")} + typed);
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
    void otherShells_data() {
        QTest::addColumn<QString>("shell");
        for (const char* shell : {"fish", "zsh"}) QTest::newRow(shell) << s(shell);
    }
    void otherShells() {
        QFETCH(QString, shell);
        if (QStandardPaths::findExecutable(shell).isEmpty()) QSKIP("this shell is not installed.");
        const auto offers = shell == s("fish") ? inFish : inZsh;
        const auto all = offers({QString()});
        for (const auto& command : qs::cli::commands()) QVERIFY2(all.contains(s(command.name)), command.name);
        QVERIFY(offers({s("analyze"), s("x"), s("--")}).contains(s("--decoded")));
        QVERIFY(offers({s("recipe"), s("convert"), s("--")}).contains(s("--to")));
        QVERIFY(offers({s("analyze"), s("x"), s("--spec"), QString()}).contains(s("nf4")));
        QVERIFY(offers({s("export"), s("x"), s("--layout"), QString()}).contains(s("eformer")));
    }
};

QS_TEST(TestCompletion)
#include "completion_test.moc"
