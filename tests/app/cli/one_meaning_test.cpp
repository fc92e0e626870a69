// SPDX-License-Identifier: GPL-3.0-or-later
// A spec covers the same matrices in every command, also where the layout of its dialect keeps some of them.
#include "cli_run.h"
#include "core/layouts/layout.h"
#include "core/quant/spec/dialect.h"
#include "kernels/format.h"
#include "tests/support/test_program.h"

#include <QTemporaryDir>
#include <fmt/format.h>

using namespace clitest;

namespace {

const std::vector<std::int64_t> kShape{192, 544}; ///< of the matrix of the sample that the fewest blocks fit

/// Two specs that are stored in the layout because their dialect is the layout's; fewer: there are none.
QStringList specsOf(const qs::Layout& layout) {
    QStringList out;
    for (const qs::FormatTraits& format : qs::formats())
        for (const qs::Dialect* dialect : qs::dialects())
            for (const char* more : {"", ":scale=channel", ":block=32", ":block=64", ":block=128"}) {
                const auto spec = qs::parseSpec(fmt::format("{}:dialect={}{}", format.id, dialect->id, more));
                if (!spec || &qs::defaultLayout(*spec) != &layout || !layout.accepts(*spec, kShape)) continue;
                if (const QString text = QString::fromStdString(qs::specText(*spec)); !out.contains(text)) out << text;
                if (out.size() == 2) return out;
            }
    return out;
}

QJsonObject first(const QJsonObject& json, const char* list) { return json[s(list)].toArray().first().toObject(); }

} // namespace

class TestOneMeaning : public QObject {
    Q_OBJECT
    QTemporaryDir dir_;
    QJsonObject said(const QStringList& arguments) {
        const auto ran = run(arguments + QStringList{s("--json"), s("-")});
        if (ran.code != 0) qWarning("%s: %s", qPrintable(arguments.join(u' ')), ran.err.constData());
        return QJsonDocument::fromJson(ran.out).object();
    }

private Q_SLOTS:
    void matricesOfASpec_data();
    void matricesOfASpec();
    void bytesWhereTheLayoutRefuses_data();
    void bytesWhereTheLayoutRefuses();
};

void TestOneMeaning::matricesOfASpec_data() {
    QTest::addColumn<QString>("spec");
    QTest::addColumn<QString>("other");
    QTest::newRow("own") << s("nf4:block=64") << s("nf4:block=128");
    int foreign = 0;
    for (const qs::Layout& layout : qs::layouts())
        if (const QStringList specs = layout.config && layout.dialect ? specsOf(layout) : QStringList();
            specs.size() == 2)
            QTest::newRow(layout.id) << specs[0] << specs[1], ++foreign;
    QVERIFY(foreign >= 3);
}

void TestOneMeaning::matricesOfASpec() {
    QFETCH(QString, spec);
    QFETCH(QString, other);
    const QStringList of{kSample, s("--spec"), spec};
    const QStringList text{s("--text"), kText, s("--ctx"), s("32"), s("--chunks"), s("1")};
    const QString out = dir_.filePath(s("%1/").arg(QLatin1String(QTest::currentDataTag())));
    int wanted = 0;
    qint64 bytes = 0;
    for (const auto& value : said(QStringList{s("quantize")} + of + QStringList{s("-o"), out})[s("rows")].toArray())
        if (const QJsonObject row = value.toObject(); row[s("spec")].isString())
            ++wanted, bytes += row[s("bytes_written")].toInteger();
    QVERIFY(wanted > 40);

    const QJsonObject analyzed = said(QStringList{s("analyze")} + of);
    QCOMPARE(first(analyzed, "specs")[s("matrices")].toInt(), wanted);
    if (spec.contains(s("dialect"))) QCOMPARE(first(analyzed, "specs")[s("bytes")].toInteger(), bytes);
    int kept = 0;
    qint64 keptElements = 0;
    for (const auto& row : analyzed[s("rows")].toArray())
        if (row.toObject()[s("status")].toString() == s("kept")) {
            ++kept;
            qint64 size = 1;
            for (const auto& side : row.toObject()[s("shape")].toArray()) size *= side.toInteger();
            keptElements += size;
            QVERIFY(row.toObject()[s("reason")].toString().startsWith(s("layout ")));
        }
    QCOMPARE(first(analyzed, "specs")[s("kept")].toInt(), kept);
    QCOMPARE(kept, int(analyzed[s("rows")].toArray().size()) - wanted);

    const QJsonObject swept = first(said(QStringList{s("sweep")} + of + QStringList{s("--block"), s("64")}), "rows");
    QCOMPARE(swept[s("class")].toString(), s("all tensors"));
    QCOMPARE(swept[s("matrices")].toInt(), wanted);
    QVERIFY(swept[s("nmse")].isDouble());

    const QJsonObject evaluated = first(said(QStringList{s("eval")} + of + text), "rows");
    QCOMPARE(evaluated[s("matrices")].toInt(), wanted);
    const QString recipe = put(out + s("recipe.json"), "{\"version\": 1, \"default\": \"" + spec.toUtf8() + "\"}");
    const QJsonObject byRecipe =
        first(said(QStringList{s("eval"), kSample, s("--recipe"), recipe, s("--force")} + text), "rows");
    for (const char* figure : {"matrices", "bytes", "kl_mean"})
        QCOMPARE(byRecipe[s(figure)].toDouble(), evaluated[s(figure)].toDouble());

    int sensitive = 0;
    const auto rows = said(QStringList{s("sensitivity")} + of + text + QStringList{s("--how"), s("output")});
    for (const auto& row : rows[s("rows")].toArray()) sensitive += row.toObject()[s("matrices")].toInt();
    QCOMPARE(sensitive, wanted);

    const auto planned = [&](const QStringList& layout) {
        const QJsonObject plan = said(
            QStringList{s("plan"), kSample, s("--spec"), spec, s("--spec"), other, s("--budget"), s("16bpw")} + layout);
        qint64 elements = 0; // a row may be of several matrices
        for (const auto& row : plan[s("rows")].toArray())
            if (row.toObject()[s("spec")].toString() != s("keep"))
                elements += row.toObject()[s("elements")].toInteger();
        return elements;
    };
    const qint64 elements = first(analyzed, "specs")[s("elements")].toInteger();
    QCOMPARE(planned({}), elements);
    QCOMPARE(planned({s("--layout"), s("native")}), elements + keptElements); // it keeps no matrix
}

/// No file is written then; the bytes are those of the spec in every command, not of a mixture of layouts.
void TestOneMeaning::bytesWhereTheLayoutRefuses_data() {
    QTest::addColumn<QString>("network");
    QTest::addColumn<QString>("spec");
    QTest::addColumn<QString>("block");
    QTest::newRow("an expert") << s("mixtral") << s("nf4:dialect=bnb") << s("64");
    QTest::newRow("rows of the network") << s("llama") << s("int4:dialect=ct:block=32") << s("32");
    QTest::newRow("all experts together") << s("mixtral") << s("nvfp4:dialect=ct") << s("16");
}

void TestOneMeaning::bytesWhereTheLayoutRefuses() {
    QFETCH(QString, network);
    QFETCH(QString, spec);
    QFETCH(QString, block);
    const QString path = s(QS_SOURCE_DIR "/tests/data/eval/") + network;
    const QStringList of{path, s("--spec"), spec};
    QCOMPARE(run(QStringList{s("quantize")} + of + QStringList{s("-o"), dir_.filePath(s("refused"))}).code, 1);
    const QJsonObject analyzed = said(QStringList{s("analyze")} + of);
    const QJsonObject sums = first(analyzed, "specs");
    QVERIFY(sums[s("bytes")].toInteger() > 0);
    QVERIFY(first(analyzed, "rows")[s("reason")].toString().contains(s("in which quantize stores it, refuses it: ")));
    const QJsonObject evaluated = first(
        said(QStringList{s("eval")} + of + QStringList{s("--tokens"), path + s("/tokens.npy"), s("--ctx"), s("12")}),
        "rows");
    const QJsonObject swept = first(said(QStringList{s("sweep")} + of + QStringList{s("--block"), block}), "rows");
    for (const QJsonObject& one : {evaluated, swept})
        for (const char* figure : {"matrices", "bytes"})
            QCOMPARE(one[s(figure)].toInteger(), sums[s(figure)].toInteger());
}

QS_TEST(TestOneMeaning)
#include "one_meaning_test.moc"
