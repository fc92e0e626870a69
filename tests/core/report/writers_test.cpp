// SPDX-License-Identifier: GPL-3.0-or-later
// Every report writer with hostile names, missing figures, and more rows than a page.
#include "core/base/text.h"
#include "core/report/report.h"
#include "tests/support/test_program.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>
#include <QRegularExpression>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <QTest>
#include <QXmlStreamReader>
#include <cmath>
#include <limits>

using namespace qs;

namespace {

const std::string kHostile = "a</script><script>alert(1)</script>\"'&|,\n\x1b[31m\xe2\x80\xae"
                             "b";

Table table(int rows) {
    Table t;
    t.columns = {{"tensor", "Tensor", "", Show::Text, 0, Direction::None, "Name"},
                 {"shape", "Shape", "", Show::Shape, 0, Direction::None, ""},
                 {"bpw", "bpw", "", Show::Fixed, 4, Direction::LowerIsBetter, ""},
                 {"sqnr_db", "SQNR", "dB", Show::Fixed, 2, Direction::HigherIsBetter, ""},
                 {"count", "Count", "", Show::Integer, 0, Direction::None, ""},
                 {"proxy", "Proxy", "", Show::Text, 0, Direction::None, ""}};
    for (int i = 0; i < rows; ++i)
        t.rows.push_back({i == 0 ? kHostile : "layers." + std::to_string(i) + ".weight", std::string("[256, 688]"), 4.5,
                          i % 3 == 1 ? Value{} : Value{20.125 + i}, std::int64_t(i), true});
    return t;
}

Report report(int rows) {
    Report r;
    r.title = "tiny " + kHostile;
    r.subtitle = "What was done";
    r.provenance = {{"input_sha256", "aa  one"},
                    {"input_sha256", "bb  two"},
                    {"version", "QuantScope test"},
                    {"input", "https://example.org/x"}};
    Section summary;
    summary.title = "Summary";
    summary.text = "First paragraph.\n\nSecond paragraph.";
    summary.note = "a screening proxy, not accuracy";
    summary.brief = true;
    summary.cards = table(2);
    Plot bars;
    bars.title = "Worst " + kHostile;
    bars.xTitle = "NMSE";
    bars.categories = {kHostile, "b"};
    bars.series.push_back({"s", {}, {0.5, std::nan("")}});
    summary.plots = {bars};
    r.sections.push_back(summary);
    r.sections.push_back({"All tensors", {}, {}, {}, {table(rows)}, {}, false});
    r.data = table(rows);
    return r;
}

QByteArray rendered(const char* id, const Report& r) {
    const auto* writer = findReportWriter(id);
    if (!writer) return {};
    const auto bytes = writer->render(r);
    return bytes ? QByteArray::fromStdString(*bytes) : QByteArray();
}

} // namespace

class TestWriters : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void registry() {
        for (const char* id : {"json", "csv", "html", "md", "pdf"}) {
            const auto* writer = findReportWriter(id);
            QVERIFY2(writer, id);
            QCOMPARE(std::string(writer->extension), "." + std::string(id));
            QVERIFY(!rendered(id, report(3)).isEmpty());
            QVERIFY(!rendered(id, Report{}).isEmpty() || std::string_view(id) == "csv");
        }
        QVERIFY(!findReportWriter("doc"));
    }

    void jsonKeepsEveryBit() {
        Report r;
        r.data.columns = {{"v", "V", "", Show::Fixed, 2, Direction::None, ""}};
        const std::vector<double> values = {0.1, 1.0 / 3, 5e-324, 1.7976931348623157e308, -0.0, 123456789.0, 4.5};
        for (const double v : values) r.data.rows.push_back({v});
        const auto rows = QJsonDocument::fromJson(rendered("json", r)).object()[QStringLiteral("rows")].toArray();
        QCOMPARE(std::size_t(rows.size()), values.size());
        for (std::size_t i = 0; i < values.size(); ++i) {
            const double back = rows[int(i)].toObject()[QStringLiteral("v")].toDouble();
            QVERIFY2(std::memcmp(&back, &values[i], sizeof back) == 0 || (back == 0 && values[i] == 0),
                     qPrintable(QString::number(values[i])));
        }
        QVERIFY(rendered("json", r).contains("4.5}"));
        QVERIFY(rendered("json", r).contains("0.1}"));
    }

    void shapesAreWholeForMachinesAndElidedForPeople() {
        const std::vector<std::int64_t> dims = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
        Report r;
        r.data.columns = {{"shape", "Shape", "", Show::Shape, 0, Direction::None, ""}};
        r.data.rows = {{wholeShapeText(dims)}, {wholeShapeText({})}, {wholeShapeText(std::span(dims).first(8))}};
        const auto rows = QJsonDocument::fromJson(rendered("json", r)).object()[QStringLiteral("rows")].toArray();
        const auto list = rows[0].toObject()[QStringLiteral("shape")].toArray();
        QCOMPARE(list.size(), 10);
        for (int i = 0; i < 10; ++i) QCOMPARE(list[i].toInt(-1), i + 1);
        QVERIFY(rows[1].toObject()[QStringLiteral("shape")].isArray());
        QVERIFY(rendered("csv", r).contains("8, 9, 10]"));
        const auto shown = [&](int row) { return cellText(r.data.columns[0], r.data.rows[std::size_t(row)][0]); };
        QCOMPARE(shown(0), shapeText(dims));
        QCOMPARE(shown(1), std::string("[]"));
        QCOMPARE(shown(2), std::string("[1, 2, 3, 4, 5, 6, 7, 8]"));
    }

    void jsonSaysNullForWhatIsMissing() {
        Report r;
        r.data.columns = {{"v", "V", "", Show::Fixed, 2, Direction::None, ""}};
        r.data.rows = {{Value{}}, {std::nan("")}, {std::numeric_limits<double>::infinity()}};
        const auto rows = QJsonDocument::fromJson(rendered("json", r)).object()[QStringLiteral("rows")].toArray();
        QCOMPARE(rows.size(), 3);
        for (const auto& row : rows) QVERIFY(row.toObject()[QStringLiteral("v")].isNull());
    }

    void jsonHasRowsAndProvenance() {
        QJsonParseError error{};
        const auto root = QJsonDocument::fromJson(rendered("json", report(3)), &error).object();
        QCOMPARE(error.error, QJsonParseError::NoError);
        const auto first = root[QStringLiteral("rows")].toArray()[0].toObject();
        QCOMPARE(first[QStringLiteral("tensor")].toString().toStdString(), kHostile);
        QCOMPARE(first[QStringLiteral("shape")].toArray(), (QJsonArray{256, 688}));
        QCOMPARE(first[QStringLiteral("proxy")].toBool(), true);
        const auto provenance = root[QStringLiteral("provenance")].toObject();
        QCOMPARE(provenance[QStringLiteral("input_sha256")].toArray().size(), 2);
        QCOMPARE(provenance[QStringLiteral("version")].toString(), QStringLiteral("QuantScope test"));
    }

    void csvIsRfc4180() {
        const auto csv = rendered("csv", report(2));
        QVERIFY(csv.startsWith("tensor,shape,bpw,sqnr_db,count,proxy\r\n"));
        QByteArray name = QByteArray::fromStdString(escapeForPeople(kHostile, 500)); // no control characters
        name.replace("\"", "\"\"");
        QVERIFY(csv.contains("\"" + name + "\",\"[256, 688]\",4.5,20.125,0,true\r\n"));
        QVERIFY(csv.contains("layers.1.weight,\"[256, 688]\",4.5,,1,true\r\n")); // not measured: empty, not 0
    }

    /// Cells that a spreadsheet would execute are escaped; numbers stay numbers.
    void csvRunsNothing() {
        Report r;
        r.data.columns = {{"tensor", "Tensor", "", Show::Text, 0, Direction::None, ""},
                          {"bias", "Bias", "", Show::Significant, 4, Direction::None, ""}};
        for (const char* name : {"=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\uff1d1+1", "a=b",
                                 "-2.5e-3", "+7", "-3.41 MiB", "-1 cmd|x"})
            r.data.rows.push_back({std::string(name), -0.5});
        QCOMPARE(rendered("csv", r),
                 QByteArray("tensor,bias\r\n'=1+1,-0.5\r\n'+cmd|' /C calc'!A0,-0.5\r\n'-2+3,-0.5\r\n'@SUM(A1),-0.5\r\n"
                            "\\u{9}=1,-0.5\r\n\\u{d}=1,-0.5\r\n'\uff1d1+1,-0.5\r\na=b,-0.5\r\n-2.5e-3,-0.5\r\n"
                            "+7,-0.5\r\n-3.41 MiB,-0.5\r\n'-1 cmd|x,-0.5\r\n"));
    }

    void markdownLinksNothing() {
        Report r = report(1);
        r.title = "@someone #1 https://example.org www.example.org &lt;b&gt; a.b ~x~ $y$";
        const auto title = rendered("md", r).split('\n').front();
        QCOMPARE(title, QByteArray("## @&#8203;someone #&#8203;1 https:&#8203;//example.org www.&#8203;example.org "
                                   "&amp;lt;b&amp;gt; a.b \\~x\\~ \\$y\\$"));
    }

    /// In every format, the report must not contain the folders of files.
    void foldersStay() {
        Report r = report(2);
        r.provenance = {{"input", "/home/somebody/secret/m.safetensors"},
                        {"command_line", "quantscope-cli bench --model ../somebody/m.safetensors --tensor a/b"}};
        r.sections[0].text = "A is /home/somebody/secret/m.safetensors, B is another.";
        r.data.columns.push_back({"command", "Command", "", Show::Text, 0, Direction::None, ""});
        for (auto& row : r.data.rows)
            row.push_back(std::string("bench --plugin '/home/somebody/secret/p.so' --seed 1"));
        withoutFolders(
            r, {"/home/somebody/secret/m.safetensors", "../somebody/m.safetensors", "/home/somebody/secret/p.so", ""});
        for (const auto& writer : reportWriters()) {
            const auto bytes = rendered(writer.id, r);
            QVERIFY2(!bytes.contains("somebody"), writer.id);
        }
        QCOMPARE(r.provenance[0].second, std::string("m.safetensors"));
        QCOMPARE(r.provenance[1].second, std::string("quantscope-cli bench --model m.safetensors --tensor a/b"));
        QCOMPARE(std::get<std::string>(r.data.rows[0].back()), std::string("bench --plugin 'p.so' --seed 1"));
        QCOMPARE(nameOfPath("/a/model/"), std::string("model"));
        QCOMPARE(nameOfPath("/"), std::string("/"));
        using Names = std::vector<std::string>;
        QCOMPARE(namesOfPaths(Names{"A/m", "B/m/", "B/n"}), (Names{"A/m", "B/m", "n"}));
        QCOMPARE(namesOfPaths(Names{"/a/x/m", "/b/x/m", "/b/m"}), (Names{"a/x/m", "b/x/m", "b/m"}));
        QCOMPARE(namesOfPaths(Names{"m", "A/m"}), (Names{"m", "A/m"}));
        QCOMPARE(namesOfPaths(Names{"A/m", "A/m"}), (Names{"m", "m"}));
    }

    void htmlIsSelfContainedAndWellFormed() {
        const auto html = rendered("html", report(3));
        QXmlStreamReader xml(html);
        int svg = 0, scripts = 0;
        QByteArray data;
        while (!xml.atEnd()) {
            if (xml.readNext() != QXmlStreamReader::StartElement) continue;
            svg += xml.name() == u"svg";
            for (const auto& attribute : xml.attributes()) {
                if (attribute.name() != u"src" && attribute.name() != u"href") continue;
                QFAIL(qPrintable(QStringLiteral("an address: ") + attribute.value().toString()));
            }
            if (xml.name() == u"script") {
                ++scripts;
                const bool json = xml.attributes().value(QStringLiteral("type")) == u"application/json";
                const auto text = xml.readElementText();
                if (json) data = text.toUtf8();
            }
        }
        QVERIFY2(!xml.hasError(), qPrintable(xml.errorString()));
        QCOMPARE(svg, 1);
        QCOMPARE(scripts, 2);
        QVERIFY(!html.contains("@import") && !html.contains("url("));
        QVERIFY(html.contains("not measured"));
        QVERIFY(html.contains("a screening proxy, not accuracy"));
        QVERIFY(!html.contains('\x1b')); // names are escaped
        const auto root = QJsonDocument::fromJson(data).object();
        QCOMPARE(
            root[QStringLiteral("rows")].toArray()[0].toObject()[QStringLiteral("tensor")].toString().toStdString(),
            kHostile);
        QCOMPARE(root[QStringLiteral("plots")].toArray().size(), 1);
    }

    void htmlLimitsItsTablesButNotItsData() {
        const auto html = rendered("html", report(6000));
        QVERIFY(html.contains("The first 5000 of 6000 rows"));
        QVERIFY(html.contains("layers.5999.weight"));
        QVERIFY(html.contains("<td class=\"k\">layers.4999.weight"));
        QVERIFY(!html.contains("<td class=\"k\">layers.5999.weight"));
    }

    void markdownIsShort() {
        const auto md = rendered("md", report(3000));
        QVERIFY(md.size() < 4000);
        QVERIFY(md.contains("### Summary") && !md.contains("All tensors"));
        QVERIFY(md.contains("\\|"));                            // a pipe in a name does not start a new cell
        QCOMPARE(md.count("<script>"), md.count("\\<script>")); // never as a tag
        QVERIFY(md.contains("Input SHA-256"));
    }

    /// However wide other columns are, names keep the role and the numbers of layer and expert.
    void pdfKeepsTheNumbersOfNames() {
        const QString tool = QStandardPaths::findExecutable(QStringLiteral("pdftotext"));
        if (tool.isEmpty()) QSKIP("pdftotext (poppler-utils) is not installed, so the text of the PDF is not read.");
        Table t;
        t.columns = {{"tensor", "Tensor", "", Show::Name, 0, Direction::None, "Name"}};
        for (int c = 0; c < 9; ++c)
            t.columns.push_back({"c" + std::to_string(c), "Column", "", Show::Fixed, 4, Direction::None, ""});
        for (int i = 0; i < 40; ++i) {
            auto& row = t.rows.emplace_back();
            row.push_back("model.layers." + std::to_string(i) + ".mlp.experts." + std::to_string(100 + i) +
                          ".down_proj.weight");
            for (int c = 0; c < 9; ++c) row.push_back(123456.25);
        }
        Report r;
        r.title = "names";
        r.sections.push_back({"Tensors", {}, {}, {}, {t}, {}, false});
        QTemporaryDir dir;
        QFile file(dir.filePath(QStringLiteral("r.pdf")));
        QVERIFY(file.open(QIODevice::WriteOnly) && file.write(rendered("pdf", r)) > 0);
        file.close();
        QProcess process;
        process.start(tool, {QStringLiteral("-layout"), file.fileName(), QStringLiteral("-")});
        QVERIFY(process.waitForFinished());
        const auto text = QString::fromUtf8(process.readAllStandardOutput());
        QVERIFY(text.contains(QStringLiteral("Names are without")));
        for (int i = 0; i < 40; ++i) {
            const QRegularExpression row(QStringLiteral("\\b%1\\..*\\b%2\\.down").arg(i).arg(100 + i));
            QVERIFY2(text.contains(row), qPrintable(text.left(3000)));
        }
    }
    void pdfHasPagesAndText() {
        const auto pdf = rendered("pdf", report(200));
        QVERIFY(pdf.startsWith("%PDF-"));
        QVERIFY(pdf.trimmed().endsWith("%%EOF"));
        const QString tool = QStandardPaths::findExecutable(QStringLiteral("pdftotext"));
        if (tool.isEmpty()) QSKIP("pdftotext (poppler-utils) is not installed, so the text of the PDF is not read.");
        QTemporaryDir dir;
        QFile file(dir.filePath(QStringLiteral("r.pdf")));
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(pdf);
        file.close();
        QProcess process;
        process.start(tool, {QStringLiteral("-layout"), file.fileName(), QStringLiteral("-")});
        QVERIFY(process.waitForFinished());
        const auto text = process.readAllStandardOutput();
        QVERIFY(text.contains("layers.199.weight"));
        QVERIFY(text.contains("not measured"));
        QVERIFY(text.contains("Provenance"));
        const QRegularExpression footer(QStringLiteral("1 of (\\d+)"));
        const auto match = footer.match(QString::fromUtf8(text));
        QVERIFY(match.hasMatch());
        QCOMPARE(text.count('\f'), match.captured(1).toInt());
        // The header is on each page of the table.
        QVERIFY(text.count("SQNR dB") >= match.captured(1).toInt() - 1);
    }
};

QS_TEST(TestWriters)
#include "writers_test.moc"
