// SPDX-License-Identifier: GPL-3.0-or-later
// Compares printed output with stored texts. QS_UPDATE_GOLDEN=1 writes the texts again: read the difference before you
// commit it.
#include "cli_run.h"
#include "core/report/libraries.h"
#include "core/report/report.h"
#include "tests/support/test_program.h"

#include <QTemporaryDir>

using namespace clitest;

class TestGolden : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void texts_data() {
        QTest::addColumn<QString>("name");
        QTest::addColumn<QStringList>("arguments");
        const auto add = [](const QString& name, const QString& arguments) {
            QTest::newRow(qPrintable(name)) << name << arguments.split(u' ', Qt::SkipEmptyParts);
        };
        add(s("help"), s("--help"));
        for (const char* command :
             {"inspect", "quantize", "dequantize", "analyze", "backends", "bench", "formats", "metrics", "layouts",
              "calibrations", "solvers", "sweep", "audit", "diff", "verify", "whatif", "train", "products", "kvcache"})
            add(s("help-") + s(command), s(command) + s(" --help"));
        add(s("formats"), s("formats"));
        add(s("formats-json"), s("formats --json -"));
        add(s("metrics"), s("metrics"));
        add(s("layouts"), s("layouts"));
        add(s("calibrations"), s("calibrations"));
        add(s("solvers"), s("solvers"));
        add(s("inspect-tiny"), s("inspect TINY"));
        add(s("inspect-tiny-stats"), s("inspect TINY --stats"));
        add(s("inspect-tiny-json"), s("inspect TINY --json -"));
        add(s("inspect-sample"), s("inspect SAMPLE"));
        add(s("analyze-tiny"), s("analyze TINY --spec nf4:block=8 --spec int8 --tensor . --tensor ids --vectors"));
        add(s("analyze-golden"), s("analyze NORMAL --spec nf4:block=64"));
    }
    void texts() {
        QFETCH(QString, name);
        QFETCH(QStringList, arguments);
        QTemporaryDir dir;
        const QString tiny = put(dir.filePath(s("tiny.safetensors")),
                                 safetensors({{"layers.0.mlp.down_proj.weight", "F32", "[4,16]", ramp(64)},
                                              {"layers.10.mlp.down_proj.weight", "F32", "[2,8]", ramp(16)},
                                              {"layers.2.\\u001b[31m\\u202ename", "F32", "[8]", ramp(8)},
                                              {"ids", "I64", "[2]", QByteArray(16, '\1')},
                                              {"empty", "F32", "[0,4]", {}}}));
        QVERIFY(!tiny.isEmpty());
        arguments.replaceInStrings(s("TINY"), tiny);
        arguments.replaceInStrings(s("SAMPLE"), s(QS_SOURCE_DIR "/resources/samples/tiny-llama"));
        arguments.replaceInStrings(s("NORMAL"), s(QS_TEST_DATA "/golden/normal.safetensors"));
        const auto ran = run(arguments);
        QVERIFY2(ran.code == 0, ran.err.constData());
        const QString golden = s(QS_SOURCE_DIR "/tests/app/cli/golden/") + name + s(".txt");
        if (qEnvironmentVariableIsSet("QS_UPDATE_GOLDEN")) QVERIFY(!put(golden, ran.out).isEmpty());
        QCOMPARE(QString::fromUtf8(ran.out), QString::fromUtf8(bytesOf(golden)));
        QVERIFY(!ran.out.contains('\x1b'));
    }
    /// Every library with the version that was found, and its licence.
    void version() {
        const auto text = QString::fromUtf8(run({s("--version")}).out);
        QVERIFY(text.startsWith(s("quantscope-cli ") + s(qs::toolVersion()) + u'\n'));
        QVERIFY(qs::libraries().size() >= 19);
        for (const auto& library : qs::libraries()) {
            QVERIFY2(text.contains(s(library.name) + u' ' + s(library.version)), library.name);
            QVERIFY2(text.contains(s(library.licence)) && text.contains(s(library.use)), library.name);
            QVERIFY2(QChar(QLatin1Char(library.version[0])).isDigit(), library.name);
        }
    }
};

QS_TEST(TestGolden)
#include "golden_test.moc"
