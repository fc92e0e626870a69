// SPDX-License-Identifier: GPL-3.0-or-later
// Exit codes. Every error message must be one sentence of at most 500 bytes.
#include "app/cli/command.h"
#include "app/cli/command_line.h"
#include "app/cli/option.h"
#include "cli_run.h"
#include "tests/support/test_program.h"
#include "tests/support/thinned.h"

#include <QRegularExpression>
#include <QTemporaryDir>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <map>
#include <unistd.h>

using namespace clitest;

namespace {

/// A command that takes options, and the words before them: "recipe convert" beside "analyze".
struct Called {
    QStringList words;
    CLI::App* app;
};
/// The command, or its subcommands.
std::vector<Called> callsOf(const char* command, CLI::App& app) {
    std::vector<Called> calls;
    for (CLI::App* inner : app.get_subcommands(std::function<bool(CLI::App*)>()))
        calls.push_back({QStringList{s(command), QString::fromStdString(inner->get_name())}, inner});
    if (calls.empty()) calls.push_back({QStringList{s(command)}, &app});
    return calls;
}

/// Type name of the option's value, without its checks.
QString typeOf(const CLI::Option* option) {
    return QString::fromStdString(option->get_type_name()).section(u':', 0, 0);
}

} // namespace

class TestContract : public QObject {
    Q_OBJECT
    QTemporaryDir dir_;
    QString path(const char* name) { return dir_.filePath(s(name)); }
    QString good_;
    std::size_t turn_ = 0; ///< counts combinations; sanitized builds run only some of them

    void neverWritten(const Called& call) {
        using qs::cli::PathUse;
        std::vector<const CLI::Option*> inputs, outputs;
        for (const auto* option : call.app->get_options()) {
            const auto use = qs::cli::pathUse(option);
            if (use == PathUse::Input) inputs.push_back(option);
            if (use != PathUse::None && use != PathUse::Input) outputs.push_back(option);
        }
        QTemporaryDir dir;
        const auto line = [&](std::map<const CLI::Option*, QString> given) {
            QStringList arguments = call.words, last;
            const bool hasRecipe = std::any_of(given.begin(), given.end(),
                                               [](const auto& one) { return one.first->get_name() == "--recipe"; });
            for (const auto* option : call.app->get_options()) {
                const auto name = QString::fromStdString(option->get_name());
                const auto type = typeOf(option);
                const bool isNeeded = // or a recipe
                    option->get_required() || ((type == s("SPEC") || type == s("SIZE|TIME")) && !hasRecipe);
                if (isNeeded && !given.count(option))
                    given[option] = type == s("SPEC")        ? s("nf4:block=64")
                                    : type == s("REGEX")     ? s("a.weight")
                                    : type == s("LAYOUT")    ? s("eformer")
                                    : type == s("ID")        ? s("bnb")
                                    : type == s("OUT")       ? dir.filePath(s("other.safetensors"))
                                    : type == s("SIZE|TIME") ? s("4bpw")
                                                             : good_;
                if (!given.count(option)) continue;
                if (option->get_positional())
                    last << given[option];
                else
                    arguments << name << given[option];
            }
            return arguments + last;
        };
        const QString file = dir.filePath(s("x.safetensors")), link = dir.filePath(s("link.safetensors")),
                      hard = dir.filePath(s("hard.safetensors"));
        const auto bytes = bytesOf(good_);
        for (const auto* output : outputs) {
            for (const auto* input : inputs)
                for (const QString& as : {file, link, hard}) {
                    if (!qs::test::taken(turn_++)) continue;
                    for (const QString& old : {file, link, hard}) QFile::remove(old);
                    QVERIFY(!put(file, bytes).isEmpty() && QFile::link(file, link));
                    QVERIFY(::link(QFile::encodeName(file).constData(), QFile::encodeName(hard).constData()) == 0);
                    const auto ran = run(line({{input, file}, {output, as}}));
                    QVERIFY2(ran.code == 1 && isSentence(ran.err) && ran.err.contains("opened input"),
                             (line({{input, file}, {output, as}}).join(u' ').toUtf8() + ": " + ran.err).constData());
                    QCOMPARE(bytesOf(file), bytes);
                }
            for (const auto* other : outputs) {
                if (other == output || !qs::test::taken(turn_++)) continue;
                const auto ran = run(
                    line({{output, dir.filePath(s("y.safetensors"))}, {other, dir.filePath(s("./y.safetensors"))}}));
                QVERIFY2(ran.code == 1 && isSentence(ran.err) && ran.err.contains("both name"), ran.err.constData());
                QVERIFY(!QFile::exists(dir.filePath(s("y.safetensors"))));
            }
        }
    }

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
        add("unknown command", "anlyze GOOD", 2, "there is no command 'anlyze'; did you mean analyze?");
        add("no such command", "nonsense GOOD", 2, "there is no command 'nonsense'; the commands are inspect, ");
        add("mistyped option", "analyze GOOD --specc int8", 2, "analyze has no option --specc; did you mean --spec?");
        add("unshortened option", "eval GOOD --context=9", 2, "eval has no option --context; did you mean --ctx?");
        add("unknown option", "audit GOOD --wrong", 2, "audit has no option --wrong; see `quantscope-cli audit");
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
        const auto before = bytesOf(good_);
        arguments.replace(s("GOOD"), good_).replace(s("DIR"), dir_.path());
        const auto ran = run(arguments.split(u' ', Qt::SkipEmptyParts));
        QVERIFY2(ran.code == code, ran.err.constData());
        QVERIFY2(isSentence(ran.err), ran.err.constData());
        QVERIFY2(ran.err.contains(says.toUtf8()), ran.err.constData());
        QVERIFY(ran.out.isEmpty());
        QCOMPARE(bytesOf(good_), before);
        QCOMPARE(entries(dir_.path()).size(), 2);
    }

    /// A text option either has a type that is not a path, or is marked as read or written.
    void everyPathIsMarked() {
        const QStringList plain{s("SPEC"),       s("REGEX"),
                                s("LAYOUT"),     s("SOLVER"),
                                s("N"),          s("M"),
                                s("R"),          s("S"),
                                s("MiB"),        s("ID"),
                                s("MxNxK"),      s("OP"),
                                s("TYPE"),       s("STATE"),
                                s("NAME"),       s("TEXT"),
                                s("WHICH=SPEC"), s("table|poly"),
                                s("f32|source"), s("fault|warning"),
                                s("SEVERITY"),   s("RANGE"),
                                s("SIZE"),       s("SIZE|TIME"),
                                s("DIR"),        s("HOW"),
                                s("UNIT"),       s("OBJECTIVE"),
                                s("LIMIT"),      s("NATS"),
                                s("RULE"),       s("SHARE"),
                                s("WHAT"),       s("tensor|role|model"),
                                s("I/N"),        s("CONVENTION")};
        for (const auto& command : qs::cli::commands()) {
            CLI::App app;
            const auto run = command.declare(app);
            for (const auto& call : callsOf(command.name, app))
                for (const auto* option : call.app->get_options()) {
                    if (option->get_expected_max() == 0 || option->get_items_expected_max() == 0) continue; // a flag
                    const bool isPath = qs::cli::pathUse(option) != qs::cli::PathUse::None;
                    const auto type = typeOf(option);
                    QVERIFY2(isPath != plain.contains(type),
                             qPrintable(
                                 s("%1 %2 takes %3").arg(call.words.join(u' '), s(option->get_name().c_str()), type)));
                }
        }
    }

    /// For every command, every input is given as every output: by its name, as a symbolic link, and as a hard link.
    /// All must be refused.
    void inputsAreNeverWritten_data() {
        QTest::addColumn<QString>("command");
        for (const auto& command : qs::cli::commands()) QTest::newRow(command.name) << s(command.name);
    }
    void inputsAreNeverWritten() {
        QFETCH(QString, command);
        const auto all = qs::cli::commands();
        const auto row = std::find_if(all.begin(), all.end(), [&](const auto& one) { return command == s(one.name); });
        CLI::App app;
        const auto declared = row->declare(app);
        for (const auto& call : callsOf(row->name, app)) neverWritten(call);
    }

    /// Inputs that are known only after the model is opened: shards, files of its folder, and the configuration of the
    /// quantization.
    void filesOfTheModelAreNeverWritten() {
        QTemporaryDir dir;
        const QString model = dir.filePath(s("model")), index = model + s("/model.safetensors.index.json");
        QDir().mkpath(model);
        put(model + s("/shard-1.safetensors"), bytesOf(good_));
        put(index, R"({"weight_map":{"a.weight":"shard-1.safetensors"}})");
        put(model + s("/config.json"), "{}");
        put(model + s("/tokenizer.json"), "{}");
        const auto refused = [&](const QString& opened, const QString& output) {
            const auto before = bytesOf(output);
            const auto ran =
                run({s("analyze"), opened, s("--spec"), s("nf4:block=64"), s("--json"), output, s("--force")});
            const bool says = ran.err.contains("opened input") || ran.err.contains("must end in .json");
            return ran.code == 1 && isSentence(ran.err) && says && bytesOf(output) == before;
        };
        QVERIFY(refused(index, model + s("/shard-1.safetensors")));
        QVERIFY(refused(model, model + s("/shard-1.safetensors")));
        QVERIFY(refused(model, model + s("/tokenizer.json")));
        QVERIFY(refused(index, model + s("/config.json")));
        QVERIFY(refused(model + s("/shard-1.safetensors"), model + s("/config.json")));
        const auto folder =
            run({s("quantize"), model + s("/shard-1.safetensors"), s("--spec"), s("nf4:block=64"), s("-o"), model});
        QVERIFY2(folder.code == 1 && isSentence(folder.err), folder.err.constData());
        // A report may be written into the folder, and may be replaced.
        for (const char* kind : {"json", "csv", "html", "md"})
            for (int i = 0; i < 2; ++i) {
                const auto ran = run({s("analyze"), model, s("--spec"), s("nf4:block=64"), s("--") + s(kind),
                                      model + s("/report.") + s(kind)});
                QVERIFY2(ran.code == 0, ran.err.constData());
            }
    }

    // Empty arguments, as from an unset shell variable.
    void emptyArguments() {
        const QString out = path("o.safetensors");
        const std::vector<std::pair<QStringList, const char*>> wrong = {
            {{s("inspect"), s("")}, "No file was named"},
            {{s("analyze"), good_, s("--spec"), s("")}, "--spec is given without a value"},
            {{s("analyze"), good_, s("--spec"), s("nf4"), s("--json"), s("")}, "--json is given without a value"},
            {{s("inspect"), good_, s("--json"), s("")}, "--json is given without a value"},
            {{s("formats"), s("--json"), s("")}, "--json is given without a value"},
            {{s("analyze"), good_, s("--spec"), s("nf4"), s("--tensor"), s("")}, "--tensor is given without a value"},
            {{s("eval"), good_, s("--text"), s("")}, "--text is given without a value"},
            {{s("quantize"), good_, s("--spec"), s("nf4"), s("-o"), s("")}, "--output is given without a value"},
            {{s("quantize"), good_, s("--spec"), s("nf4"), s("--layout"), s(""), s("-o"), out},
             "--layout is given without a value"}};
        for (const auto& [arguments, says] : wrong) {
            const auto ran = run(arguments);
            QVERIFY2(ran.code == 1 && isSentence(ran.err) && ran.err.contains(says), ran.err.constData());
            QVERIFY(ran.out.isEmpty());
        }
        QCOMPARE(entries(dir_.path()).size(), 2);
        for (const char* number : {"--chunks", "--ctx"}) { // CLI11 alone would take 0
            const auto ran = run({s("eval"), good_, s("--text"), kText, s(number), s("")});
            QVERIFY2(ran.code == 2 && isSentence(ran.err) && ran.err.contains("it takes a number, not ''"),
                     ran.err.constData());
        }
    }

    /// A file of the user never gets the number of a closed standard descriptor, and output that is lost is an error.
    void closedDescriptors() {
        const auto ranWith = [&](const char* closed) {
            QProcess shell;
            shell.start(s("/bin/sh"), {s("-c"), s("exec \"$0\" inspect \"$1\" ") + s(closed), binary(), good_});
            if (!shell.waitForFinished(60'000)) qFatal("it hangs");
            return Ran{shell.exitCode(), shell.readAllStandardOutput(), shell.readAllStandardError()};
        };
        const auto whole = ranWith("");
        QCOMPARE(whole.code, 0);
        for (const char* closed : {"<&-", "2>&-", "<&- 2>&-"}) {
            const auto ran = ranWith(closed);
            QCOMPARE(ran.code, 0);
            QCOMPARE(ran.out, whole.out);
        }
        for (const char* closed : {">&-", "<&- >&-"}) {
            const auto ran = ranWith(closed);
            QVERIFY2(ran.code == 1 && isSentence(ran.err), ran.err.constData());
            QVERIFY(ran.err.contains("The standard output could not be written: Bad file descriptor"));
        }
        QCOMPARE(ranWith("<&- >&- 2>&-").code, 1);
    }

    /// A limit of file sizes ends no command by a signal: the folder of an export does not stay half written.
    void limitOfFileSizes() {
        QTemporaryDir dir;
        QProcess shell;
        shell.start(s("/bin/bash"), {s("-c"), s("ulimit -f 4; exec \"$0\" quantize \"$1\" --spec int8 -o \"$2\""),
                                     binary(), kSample, dir.filePath(s("out"))});
        QVERIFY(shell.waitForFinished(60'000));
        QCOMPARE(shell.exitStatus(), QProcess::NormalExit);
        const auto err = shell.readAllStandardError();
        QVERIFY2(shell.exitCode() == 1 && isSentence(err), err.constData());
        QCOMPARE(entries(dir.path()), QStringList());
    }

    void recordsOfACallForHelp() {
        for (const auto& words : std::vector<std::vector<std::string>>{{"analyze", "--help"}, {"--version"}}) {
            const auto done = qs::cli::runCommand(words, {});
            QVERIFY(!done);
            QVERIFY2(done.error().message.find("--help, which computes nothing") != std::string::npos,
                     done.error().message.c_str());
        }
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
                 1 << 20); // JSON has the full name
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

    /// Reasons in rows are sentences too, whatever names a file has.
    void reasonsAreShort() {
        QTemporaryDir dir;
        const QByteArray name(3000, 'n');
        std::vector<Tensor> tensors = {{name + ".a", "F32", "[8,8]", ramp(64)},
                                       {name + ".odd", "F32", "[7,9]", ramp(63)},
                                       {name + ".nan", "F32", "[2,2]", floats({1, NAN, 3, 4})},
                                       {name + ".q.weight", "U8", "[8,4]", QByteArray(32, 1)},
                                       {name + ".q.weight.absmax", "F32", "[1]", ramp(1)},
                                       {name + ".q.weight.quant_map", "F32", "[16]", ramp(16)}};
        const QString file = put(dir.filePath(s("a.safetensors")), safetensors(tensors));
        tensors.erase(tensors.begin());
        const QString other = put(dir.filePath(s("b.safetensors")), safetensors(tensors));
        QStringList analyze = {s("analyze"), file};
        for (const char* spec : {"nf4:block=64", "int4:scaletype=f16", "q4_0", "mxfp4", "binary"})
            analyze << s("--spec") << s(spec);
        for (const QStringList& command : {analyze,
                                           {s("inspect"), file},
                                           {s("audit"), file},
                                           {s("diff"), file, other},
                                           {s("verify"), file, other}}) {
            const auto ran = run(command + QStringList{s("--json"), s("-")});
            QVERIFY2(ran.code == 0, ran.err.constData());
            const auto all = QJsonDocument::fromJson(ran.out).object();
            for (const char* list : {"rows", "undecoded"})
                for (const QJsonValue& row : all[s(list)].toArray())
                    for (const char* key : {"reason", "evidence", "why"}) {
                        const QByteArray text = row[s(key)].toString().toUtf8();
                        QVERIFY2(text.size() <= 500, (command.front().toUtf8() + ": " + text).constData());
                    }
        }
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
        QVERIFY(!QFileInfo(s("/dev/null")).isFile()); // /dev/null was written to, not replaced
    }

    void registriesHaveIdAndTitle() {
        for (const char* registry : {"formats", "metrics", "layouts", "calibrations", "solvers", "conventions"}) {
            const auto ran = run({s(registry), s("--json"), s("-")});
            QCOMPARE(ran.code, 0);
            const auto listed = rows(ran.out);
            QVERIFY(!listed.isEmpty());
            for (const auto& row : listed)
                for (const char* key : {"id", "title"}) QVERIFY(!row.toObject()[s(key)].toString().isEmpty());
        }
    }

    void manualNamesEveryCommandAndOption() {
        const auto manual =
            QString::fromUtf8(bytesOf(s(QS_SOURCE_DIR "/resources/man/quantscope-cli.1"))).remove(u'\\');
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
#include "contract_test.moc"
