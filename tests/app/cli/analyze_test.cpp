// SPDX-License-Identifier: GPL-3.0-or-later
// Command analyze: rows, missing figures, provenance, and output files.
#include "cli_run.h"
#include "tests/support/test_program.h"

#include <QCryptographicHash>
#include <QTemporaryDir>
#include <cmath>

using namespace clitest;

class TestAnalyze : public QObject {
    Q_OBJECT
    QTemporaryDir dir_;
    QString file_;

private Q_SLOTS:
    void initTestCase() {
        file_ = put(dir_.filePath(s("m.safetensors")),
                    safetensors({{"good.weight", "F32", "[4,64]", ramp(256)},
                                 {"nan.weight", "F32", "[1,4]", floats({1, NAN, 2, 3})},
                                 {"zero.weight", "F32", "[2,4]", floats(std::vector<float>(8, 0))},
                                 {"bias", "F32", "[4]", ramp(4)},
                                 {"ids", "I32", "[2,2]", QByteArray(16, '\1')}}));
        QVERIFY(!file_.isEmpty());
    }

    void aRefusalNamesWhatFits() {
        const QString sample = s(QS_SOURCE_DIR "/resources/samples/tiny-llama");
        const auto ran = run({s("analyze"), sample, s("--spec"), s("q4_0"), s("--spec"), s("q4_k")});
        QVERIFY2(ran.code == 0, ran.err.constData());
        const auto line = ran.out.mid(ran.out.indexOf(" refused: "));
        QVERIFY2(line.contains("; what fits: q4_0"), ran.out.constData());
        const auto holds = run({s("analyze"), file_, s("--spec"), s("nf4:block=64")});
        QVERIFY2(holds.out.contains("nan=skip") && !holds.out.contains("what fits"), holds.out.constData());
    }

    void rowsFollowTheContract() {
        const auto ran =
            run({s("analyze"), file_, s("--spec"), s("nf4:block=64"), s("--spec"), s("f32"), s("--json"), s("-")});
        QVERIFY2(ran.code == 0, ran.err.constData());
        const auto listed = rows(ran.out);
        QCOMPARE(listed.size(), 6); // three tensors of rank 2, two specs
        int refused = 0, exact = 0, quantized = 0;
        for (const auto& value : listed) {
            const auto row = value.toObject();
            for (const char* key : {"tensor", "shape", "spec", "spec_full", "status", "bpw", "mse", "nmse", "sqnr_db",
                                    "cosine", "max_abs", "reason"})
                QVERIFY2(row.contains(s(key)), key);
            QVERIFY(row[s("shape")].isArray());
            const auto status = row[s("status")].toString();
            QVERIFY(status == u"ok" || status == u"refused" || status == u"failed");
            bool missing = status != u"ok";
            for (const auto& figure : row) missing |= figure.isNull();
            if (missing) QVERIFY2(!row[s("reason")].toString().isEmpty(), qPrintable(row[s("tensor")].toString()));
            const bool nf4 = row[s("spec")] == s("nf4:block=64");
            if (row[s("tensor")] == s("nan.weight") && nf4) {
                QCOMPARE(status, s("refused"));
                QVERIFY(row[s("mse")].isNull());
                ++refused;
            }
            if (row[s("tensor")] == s("good.weight") && !nf4) {
                QVERIFY(row[s("sqnr_db")].isNull()); // exact: SQNR is infinite, so it is null
                QCOMPARE(row[s("mse")].toDouble(), 0.0);
                QCOMPARE(row[s("bpw")].toDouble(), 32.0);
                ++exact;
            }
            if (row[s("tensor")] == s("good.weight") && nf4) {
                QCOMPARE(row[s("bpw")].toDouble(), 4.5);
                QVERIFY(row[s("sqnr_db")].toDouble() > 15 && row[s("sqnr_db")].toDouble() < 30);
                QVERIFY(std::fabs(row[s("sqnr_db")].toDouble() + 10 * std::log10(row[s("nmse")].toDouble())) < 1e-9);
                ++quantized;
            }
        }
        QCOMPARE(refused + exact + quantized, 3);
        const auto provenance = QJsonDocument::fromJson(ran.out).object()[s("provenance")].toObject();
        QCOMPARE(provenance[s("input_sha256")].toString().toLatin1(),
                 QCryptographicHash::hash(bytesOf(file_), QCryptographicHash::Sha256).toHex());
        for (const char* key : {"version", "formats_version", "machine", "seeds", "date"})
            QVERIFY2(!provenance[s(key)].toString().isEmpty(), key);
    }

    void allRefusedIsOne() {
        const auto ran =
            run({s("analyze"), file_, s("--spec"), s("nf4:block=4"), s("--tensor"), s("^nan"), s("--json"), s("-")});
        QCOMPARE(ran.code, 1);
        QVERIFY2(isSentence(ran.err), ran.err.constData());
        QCOMPARE(rows(ran.out).size(), 1); // the row and its reason are written anyway
    }

    void nanIsSkippedWhenAsked() {
        const auto ran = run({s("analyze"), file_, s("--spec"), s("nf4:block=4:nan=skip"), s("--tensor"), s("^nan"),
                              s("--json"), s("-")});
        QVERIFY2(ran.code == 0, ran.err.constData());
        QCOMPARE(rows(ran.out)[0].toObject()[s("nan")].toInt(), 1);
    }

    void filtersAreJoined() {
        const auto ran = run({s("analyze"), file_, s("--spec"), s("int8"), s("--tensor"), s("^zero"), s("--tensor"),
                              s("^good|^zero"), s("--json"), s("-")});
        QStringList names;
        for (const auto& row : rows(ran.out)) names << row.toObject()[s("tensor")].toString();
        QCOMPARE(names, (QStringList{s("good.weight"), s("zero.weight")}));
    }

    void writesEveryReportAndReplacesOldOnes() {
        QTemporaryDir out;
        QStringList arguments = {s("analyze"), file_, s("--spec"), s("nf4:block=64"), s("--force")};
        const QStringList ids = {s("json"), s("csv"), s("html"), s("pdf"), s("md")};
        for (const auto& id : ids) {
            put(out.filePath(s("r.") + id), "old");
            arguments << s("--") + id << out.filePath(s("r.") + id);
        }
        const auto ran = run(arguments);
        QVERIFY2(ran.code == 0, ran.err.constData());
        for (const auto& id : ids) {
            QVERIFY(QFileInfo(out.filePath(s("r.") + id)).size() > 100);
            QVERIFY(ran.out.contains((s("Wrote ") + out.filePath(s("r.") + id)).toUtf8()));
        }
        QCOMPARE(entries(out.path()).size(), 5);
        QVERIFY(bytesOf(out.filePath(s("r.pdf"))).startsWith("%PDF"));
        QCOMPARE(bytesOf(out.filePath(s("r.csv"))).count("\r\n"), 4);
        const auto md = bytesOf(out.filePath(s("r.md")));
        QVERIFY(md.contains("a screening proxy, not accuracy") && md.contains("SHA-256"));
    }

    /// Remarks: specs with more bits than the source, and the dtype of the errors. They appear below the table, in JSON
    /// and in the report.
    void whatMustBeKnownIsSaid() {
        QByteArray halves;
        for (int i = 0; i < 1152; ++i) halves += QByteArray("\x00\x3c", 2);
        const QString conv =
            put(dir_.filePath(s("conv.safetensors")), safetensors({{"c.weight", "F16", "[16,8,3,3]", halves}}));
        const QString html = dir_.filePath(s("conv.html"));
        const auto ran = run({s("analyze"), conv, s("--spec"), s("int8"), s("--html"), html});
        QVERIFY2(ran.code == 0, ran.err.constData());
        QVERIFY2(
            ran.out.contains("int8 stores more bits than the source in 1 of 1 tensors; the first, c.weight, stores "
                             "18.6667 bits per weight, more than the 16.0000 of the source (F16): use int8:axis=out."),
            ran.out.constData());
        QVERIFY2(ran.out.contains("--decoded source"), ran.out.constData());
        QVERIFY(bytesOf(html).contains("Larger than the source"));
        const auto other = run(
            {s("analyze"), conv, s("--spec"), s("int8:axis=out"), s("--decoded"), s("source"), s("--json"), s("-")});
        QVERIFY2(other.code == 0, other.err.constData());
        const auto row = rows(other.out).at(0).toObject();
        QCOMPARE(row[s("decoded_as")].toString(), s("F16"));
        QCOMPARE(row[s("source_bpw")].toDouble(), 16.0);
        QVERIFY(row[s("bpw")].toDouble() < 9 && !row[s("reason")].toString().contains(s("more than")));
        QCOMPARE(run({s("analyze"), conv, s("--spec"), s("int8"), s("--decoded"), s("f16")}).code, 2);
    }

    void failureLeavesOldOutputs() {
        QTemporaryDir out;
        const QString json = put(out.filePath(s("r.json")), "old");
        const auto ran = run({s("analyze"), file_, s("--spec"), s("nf4:block=64"), s("--json"), json, s("--html"),
                              out.filePath(s("none/x.html")), s("--force")});
        QCOMPARE(ran.code, 1);
        QCOMPARE(bytesOf(json), QByteArray("old"));
    }

    void sampleUnderFourSpecs() {
        const auto ran = run({s("analyze"), s(QS_SOURCE_DIR "/resources/samples/tiny-llama"), s("--spec"),
                              s("nf4:block=64"), s("--spec"), s("int8"), s("--spec"), s("ternary:scale=channel"),
                              s("--spec"), s("binary:scale=channel"), s("--json"), s("-")});
        QVERIFY2(ran.code == 0, ran.err.constData());
        const auto listed = rows(ran.out);
        QVERIFY(listed.size() >= 4 * 20);
        for (const auto& row : listed) QCOMPARE(row.toObject()[s("status")].toString(), s("ok"));
    }
};

QS_TEST(TestAnalyze)
#include "analyze_test.moc"
