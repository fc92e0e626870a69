// SPDX-License-Identifier: GPL-3.0-or-later
// Exit codes, and that every complaint is one sentence of at most 500 bytes.
#include "app/cli/command.h"
#include "cli_run.h"
#include "tests/support/test_program.h"

#include <QRegularExpression>
#include <QTemporaryDir>
#include <cmath>

using namespace clitest;

class TestContract : public QObject {
    Q_OBJECT
    QTemporaryDir dir_;
    QString path(const char* name) { return dir_.filePath(s(name)); }
    QString good_;

private Q_SLOTS:
    void initTestCase() {
        good_ = put(path("good.safetensors"), safetensors({{"a.weight", "F32", "[4,64]", ramp(256)}}));
        QVERIFY(!good_.isEmpty());
        QVERIFY(QFile::exists(binary()));
        QVERIFY(QDir().mkpath(path("empty")));
    }

    void refusals_data() {
        QTest::addColumn<QString>("arguments");
        QTest::addColumn<int>("code");
        QTest::addColumn<QString>("says");
        const auto add = [](const char* name, const char* arguments, int code, const char* says) {
            QTest::newRow(name) << s(arguments) << code << s(says);
        };
        add("nothing", "", 2, "required");
        add("unknown command", "anlyze GOOD", 2, "there is no command 'anlyze'");
        add("unknown first option", "--nope", 2, "there is no option '--nope'");
        add("unknown option", "inspect GOOD --nope", 2, "--nope");
        add("missing spec", "analyze GOOD", 2, "--spec");
        add("missing path", "inspect", 2, "PATH");
        add("missing output", "quantize GOOD --spec nf4", 2, "--output");
        add("spec without value", "analyze GOOD --spec", 2, "--spec");
        add("unknown decode", "dequantize GOOD --decode fast -o DIR/x.safetensors", 2, "--decode");
        add("two paths", "inspect GOOD GOOD", 2, "good.safetensors");
        add("bad spec", "analyze GOOD --spec nf5", 1, "nf5");
        add("bad key", "analyze GOOD --spec nf4:blok=64", 1, "blok");
        add("bad block", "quantize GOOD --spec nf4:block=1 -o DIR/x.safetensors", 1, "block");
        add("bad regex", "analyze GOOD --spec nf4 --tensor a(", 1, "a(");
        add("regex without match", "analyze GOOD --spec nf4 --tensor zzz", 1, "zzz");
        add("unknown layout", "quantize GOOD --spec nf4 --layout nope -o DIR/x.safetensors", 1, "nope");
        const char* q = "quantize GOOD --spec int4 --layout native -o DIR/x.safetensors ";
        const auto ask = [&](const char* name, const char* options, const char* says) {
            add(name, QByteArray(q).append(options).constData(), 1, says);
        };
        ask("unknown solver", "--solver obq --activations synthetic", "gptq and awq");
        ask("unknown solver option", "--solver gptq:fast=yes --activations synthetic", "damp=0.01");
        ask("solver without inputs", "--solver gptq", "--activations");
        ask("inputs without a use", "--activations synthetic", "--solver");
        ask("sharing without a codebook", "--share-codebook model", "codebook:bits=4");
        ask("no solver to list", "--json DIR/x.json", "--solver");
        add("solver for blocks", "quantize GOOD --spec q8_0 --solver gptq --activations synthetic -o DIR/x", 1, "awq");
        add("missing file", "inspect DIR/none.safetensors", 1, "none.safetensors");
        add("empty folder", "inspect DIR/empty", 1, "empty");
        add("missing output folder", "analyze GOOD --spec nf4 --json DIR/none/a.json", 1, "does not exist");
        add("output is a folder", "analyze GOOD --spec nf4 --html DIR/empty", 1, "is a folder");
        add("output is the input", "analyze GOOD --spec nf4 --json GOOD", 1, "opened input");
        add("quantize onto the input", "quantize GOOD --spec nf4:block=64 -o GOOD", 1, "good.safetensors");
        add("two outputs are one", "analyze GOOD --spec nf4 --json DIR/x --html DIR/./x", 1, "both");
        add("two on stdout", "analyze GOOD --spec nf4 --json - --csv -", 1, "both");
        add("registry into nowhere", "formats --json DIR/none/a.json", 1, "does not exist");
    }
    void refusals() {
        QFETCH(QString, arguments);
        QFETCH(int, code);
        QFETCH(QString, says);
        const auto before = get(good_);
        arguments.replace(s("GOOD"), good_).replace(s("DIR"), dir_.path());
        const auto ran = run(arguments.split(u' ', Qt::SkipEmptyParts));
        QVERIFY2(ran.code == code, ran.err.constData());
        QVERIFY2(isSentence(ran.err), ran.err.constData());
        QVERIFY2(ran.err.contains(says.toUtf8()), ran.err.constData());
        QVERIFY(ran.out.isEmpty());
        QCOMPARE(get(good_), before);
        QCOMPARE(entries(dir_.path()).size(), 2);
    }

    // What a shell makes of an unset variable.
    void emptyArguments() {
        const QString out = path("o.safetensors");
        const std::vector<std::pair<QStringList, const char*>> wrong = {
            {{s("inspect"), s("")}, "No file was named"},
            {{s("analyze"), good_, s("--spec"), s("")}, "the format is missing"},
            {{s("analyze"), good_, s("--spec"), s("nf4"), s("--json"), s("")}, "--json names no file"},
            {{s("inspect"), good_, s("--json"), s("")}, "--json names no file"},
            {{s("formats"), s("--json"), s("")}, "--json names no file"},
            {{s("quantize"), good_, s("--spec"), s("nf4"), s("-o"), s("")}, "No output file was named"},
            {{s("quantize"), good_, s("--spec"), s("nf4"), s("--layout"), s(""), s("-o"), out}, "no layout ''"}};
        for (const auto& [arguments, says] : wrong) {
            const auto ran = run(arguments);
            QVERIFY2(ran.code == 1 && isSentence(ran.err) && ran.err.contains(says), ran.err.constData());
            QVERIFY(ran.out.isEmpty());
        }
        QCOMPARE(entries(dir_.path()).size(), 2);
    }

    void longNamesAreElided() {
        QTemporaryDir dir;
        const QByteArray longName(1 << 20, 'n');
        const QString file = put(dir.filePath(s("long.safetensors")),
                                 safetensors({{longName, "F32", "[2,4]", floats({1, 2, NAN, 4, 5, 6, 7, 8})}}));
        const auto listed = run({s("inspect"), file});
        QCOMPARE(listed.code, 0);
        QVERIFY(listed.out.size() < 2000 && listed.out.contains("nnn"));
        const auto json = run({s("inspect"), file, s("--json"), s("-")});
        QCOMPARE(rows(json.out, "tensors")[0].toObject()[s("name")].toString().size(),
                 1 << 20); // programs get all of it
        const QString out = dir.filePath(s("o.safetensors"));
        for (const auto& arguments : {QStringList{s("quantize"), file, s("--spec"), s("nf4:block=4"), s("-o"), out},
                                      QStringList{s("analyze"), file, s("--spec"), s("nf4:block=4")}}) {
            const auto refused = run(arguments);
            QCOMPARE(refused.code, 1);
            QVERIFY2(isSentence(refused.err), refused.err.constData());
        }
        const QString regex(QString(100'000, u'x') + u'(');
        const auto bad = run({s("analyze"), file, s("--spec"), s("nf4"), s("--tensor"), regex});
        QCOMPARE(bad.code, 1);
        QVERIFY2(isSentence(bad.err), bad.err.constData());
    }

    void controlCharactersAreEscaped() {
        QTemporaryDir dir;
        const QString file =
            put(dir.filePath(s("evil\n\x1b[2J.safetensors")),
                safetensors({{"a\\u001b]0;x\\u0007\\n\\u202eb", "F32", "[2,4]", floats({1, NAN, 3, 4, 5, 6, 7, 8})}}));
        QVERIFY(!file.isEmpty());
        const auto ran = run({s("analyze"), file, s("--spec"), s("nf4:block=4")});
        QCOMPARE(ran.code, 1);
        QVERIFY2(isSentence(ran.err), ran.err.constData());
        QVERIFY(!ran.out.contains('\x1b') && !ran.out.contains('\x07') && !ran.out.contains("\xe2\x80\xae"));
        const auto usage = run({s("inspect"), file, s("--\x1b[2J\n")});
        QCOMPARE(usage.code, 2);
        QVERIFY2(isSentence(usage.err), usage.err.constData());
    }

    void unknownInstructionSetIsRefused() {
        qputenv("QS_FORCE_ISA", "sse9");
        const auto ran = run({s("formats")});
        qunsetenv("QS_FORCE_ISA");
        QCOMPARE(ran.code, 2);
        QVERIFY2(isSentence(ran.err) && ran.err.contains("scalar, avx2, avx512"), ran.err.constData());
        QVERIFY(ran.out.isEmpty());
    }
    void fullDiskIsNoticed() {
        if (!QFile::exists(s("/dev/full"))) QSKIP("There is no /dev/full here.");
        const auto ran = run({s("formats")}, s("/dev/full"));
        QCOMPARE(ran.code, 1);
        QVERIFY2(isSentence(ran.err), ran.err.constData());
        const auto null = run({s("formats"), s("--json"), s("/dev/null")});
        QCOMPARE(null.code, 0);
        QVERIFY(!QFileInfo(s("/dev/null")).isFile()); // written through, not replaced
    }

    void registriesHaveIdAndTitle() {
        for (const char* registry : {"formats", "metrics", "layouts", "calibrations", "solvers"}) {
            const auto ran = run({s(registry), s("--json"), s("-")});
            QCOMPARE(ran.code, 0);
            const auto listed = rows(ran.out);
            QVERIFY(!listed.isEmpty());
            for (const auto& row : listed)
                for (const char* key : {"id", "title"}) QVERIFY(!row.toObject()[s(key)].toString().isEmpty());
        }
    }

    void manualNamesEveryCommandAndOption() {
        const auto manual = QString::fromUtf8(get(s(QS_SOURCE_DIR "/resources/man/quantscope-cli.1"))).remove(u'\\');
        for (const auto& command : qs::cli::commands()) {
            QVERIFY2(manual.contains(s(command.name)), command.name);
            const auto help = QString::fromUtf8(run({s(command.name), s("--help")}).out);
            static const QRegularExpression option(s("--[a-z]+"));
            for (auto it = option.globalMatch(help); it.hasNext();) {
                const auto name = it.next().captured();
                QVERIFY2(manual.contains(name), qPrintable(s(command.name) + u' ' + name));
            }
        }
    }
};

QS_TEST(TestContract)
#include "test_contract.moc"
