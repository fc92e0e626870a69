// SPDX-License-Identifier: GPL-3.0-or-later
// Figures of other programs and of other runs beside a model: names, specs, floors, and what is refused.
#include "core/eval/files/imports/imported_columns.h"
#include "core/eval/trust/evidence_files.h"
#include "core/eval/trust/trust_tables.h"
#include "tests/support/files.h"
#include "tests/support/test_program.h"

#include <QFile>
#include <QTemporaryDir>
#include <QtTest>

#include <cmath>

using namespace qs;
using namespace qs::eval;
using namespace qs::test;

namespace {

std::string layerName(int layer, const char* role) {
    return "model.layers." + std::to_string(layer) + "." + role + ".weight";
}

} // namespace

class EvidenceFilesTest : public QObject {
    Q_OBJECT
    QTemporaryDir folder_;
    std::shared_ptr<const Model> model_;

    std::string write(const char* name, const QByteArray& bytes) {
        QFile file(folder_.filePath(QLatin1String(name)));
        if (!file.open(QIODevice::WriteOnly) || file.write(bytes) != bytes.size()) qFatal("cannot write");
        return file.fileName().toStdString();
    }
    QString refusal(const std::string& path) {
        OutputEffects effects;
        const auto done = addEvidenceFile(model_, path, effects);
        return done ? QString() : q(done.error().message);
    }

private Q_SLOTS:
    void initTestCase();
    void namesOfGgufAndOfModules();
    void floorsAreGivenOrEstimated();
    void wholeModels();
    void importsAreProxies();
    void reportsOfSensitivityAndEval();
    void whatIsRefused();
};

void EvidenceFilesTest::initTestCase() {
    const auto model = openModel("resources/samples/tiny-llama");
    QVERIFY(model);
    model_ = *model;
}

void EvidenceFilesTest::namesOfGgufAndOfModules() {
    const auto table = importColumns(
        model_, {write("kld_results.csv", "QTYPE,blk.0.attn_q.weight,blk.7.ffn_down.weight,blk.9.attn_q.weight\n"
                                          "q4_K,0.25,404,1\niq2_ks,0,1,2\n"),
                 {},
                 {}});
    QVERIFY2(table, table ? "" : table.error().message.c_str());
    QCOMPARE(table->size(), std::size_t(2));
    const ImportedColumn &four = (*table)[0], &two = (*table)[1];
    QCOMPARE(four.tensors.at(layerName(0, "self_attn.q_proj")), 0.25);
    QCOMPARE(four.tensors.size(), std::size_t(1));
    QCOMPARE(four.notMeasured, std::size_t(1)); // 404 is no figure, and 0 is one
    QCOMPARE(four.others, std::size_t(1));
    QCOMPARE(two.tensors.at(layerName(0, "self_attn.q_proj")), 0.0);
    QVERIFY(!four.floor && four.floorIs == FloorSource::Unknown);
    OutputEffects effects;
    addEffects(*table, effects);
    const auto known = effects.of(layerName(0, "self_attn.q_proj"), *parseSpec("q4_k"));
    QVERIFY(known && known->importedKl);
    QCOMPARE(*known->importedKl, 0.25);
    QVERIFY(!effects.of(layerName(0, "self_attn.q_proj"), *parseSpec("q6_k"))); // iq2_ks is no spec here

    const auto losses =
        importColumns(model_, {write("quant_log.csv", "layer,module,loss\n3,mlp.down_proj,0.5\n"), {}, {}});
    QVERIFY(losses);
    OutputEffects loss;
    addEffects(*losses, loss);
    QCOMPARE(*loss.of(layerName(3, "mlp.down_proj"), *parseSpec("nf4"))->importedLoss, 0.5);
}

void EvidenceFilesTest::floorsAreGivenOrEstimated() {
    QByteArray header = "QTYPE", values = "\nq4_K";
    int i = 0;
    for (int layer = 0; layer < 8; ++layer)
        for (const char* role : {"attn_q", "attn_k", "ffn_down"}) {
            header += QByteArray(",blk.") + QByteArray::number(layer) + "." + role + ".weight";
            values += "," + QByteArray::number(1 + 0.01 * i++);
        }
    const auto path = write("kld_results.csv", header + values + "\n");
    const auto estimated = importColumns(model_, {path, {}, {}});
    QVERIFY(estimated && estimated->front().floor);
    QCOMPARE(estimated->front().floorIs, FloorSource::Estimated);
    QVERIFY(std::fabs(estimated->front().floor->value - (1 + 0.01 * 0.05 * 23)) < 1e-12);
    QVERIFY(estimated->front().saysLittle());
    const auto given = importColumns(model_, {path, {}, 0.1});
    QVERIFY(given);
    QCOMPARE(given->front().floorIs, FloorSource::Given);
    QCOMPARE(given->front().floor->value, 0.1);
    QVERIFY(!given->front().saysLittle());
    QVERIFY(!importColumns(model_, {path, {}, -1.0}));
}

void EvidenceFilesTest::wholeModels() {
    const auto path = write("q4.log", "====== KL divergence statistics ======\nMean    KLD:   0.031250 ±   0.000500\n"
                                      "Same top p: 90.000 ± 0.300 %\n");
    const auto columns = importColumns(model_, {path, "int4:block=32", {}});
    QVERIFY(columns);
    OutputEffects effects;
    addEffects(*columns, effects);
    const auto kl = effects.ofModel(*parseSpec("int4:block=32"));
    QVERIFY(kl);
    QCOMPARE(kl->mean, 0.03125);
    QCOMPARE(*kl->error, 0.0005);
    QVERIFY(!importColumns(model_, {path, "int4:blok=32", {}}));
}

void EvidenceFilesTest::importsAreProxies() {
    std::vector<SensitivityRow> rows;
    QByteArray header = "QTYPE", values = "\nq4_K";
    for (int layer = 0; layer < 6; ++layer) {
        SensitivityRow row;
        row.unit = layerName(layer, "self_attn.q_proj"), row.spec = "nf4:block=64";
        row.divergence = Estimate{0.1 * layer, {}, {}}, row.nmse = 1.0 / (layer + 1);
        rows.push_back(row);
        header += QByteArray(",blk.") + QByteArray::number(layer) + ".attn_q.weight";
        values += "," + QByteArray::number(layer);
    }
    const auto columns = importColumns(model_, {write("kld.csv", header + values + "\n"), {}, {}});
    QVERIFY(columns);
    const auto meter = trustRows(tensorTrusts(rows, *columns).front());
    QCOMPARE(meter.size(), std::size_t(2));
    QCOMPARE(meter[0].agreement->tau, -1.0); // NMSE
    QCOMPARE(q(meter[1].proxyTitle), QStringLiteral("Imported kl_mean, q4_K (kld.csv)"));
    QCOMPARE(meter[1].agreement->tau, 1.0);
    QVERIFY(meter[1].misjudged.empty());

    std::vector<EvaluationRow> specs;
    std::vector<SpecProxies> proxies;
    std::vector<ImportedColumn> whole;
    for (const char* spec : {"q4_0", "q4_1", "q5_0", "q8_0"}) {
        ScoreSummary summary;
        summary.divergence.mean = 1.0 / double(specs.size() + 1);
        proxies.push_back({spec, 4.0, 0.1, {}, {}});
        ImportedColumn column;
        column.column = "kl_mean", column.spec = spec, column.whole = OutputFigure{summary.divergence.mean, {}};
        whole.push_back(column);
        specs.push_back({spec, summary, ""});
    }
    bool found = false;
    for (const TrustRow& row : trustRows(specTrust(proxies, specs, whole)))
        if (row.proxyTitle == "Imported kl_mean" && row.measuredTitle == "Mean KL")
            found = row.agreement && row.agreement->tau == 1;
    QVERIFY(found);
}

void EvidenceFilesTest::reportsOfSensitivityAndEval() {
    const QByteArray tensor = QByteArray::fromStdString(layerName(2, "mlp.up_proj"));
    OutputEffects effects;
    const auto path = write("s.json", R"({"rows": [
      {"tensor": ")" + tensor + R"(", "spec": "nf4:block=64", "how": "a", "kl": 0.5, "kl_se_chunk": 0.1, "gain": null},
      {"tensor": ")" + tensor + R"(", "spec": null, "how": "b", "slope": 7, "slope_se": 1}]})");
    QVERIFY(addEvidenceFile(model_, path, effects));
    const auto known = effects.of(tensor.toStdString(), *parseSpec("nf4:block=64"));
    QVERIFY(known && known->alone && known->slope && !known->saved);
    QCOMPARE(known->alone->mean, 0.5);
    QCOMPARE(*known->alone->error, 0.1);
    QCOMPARE(known->slope->mean, 7.0);
    const auto evaluation = write("e.json", R"({"rows": [{"spec": "int8", "kl_mean": 0.25, "kl_se_chunk": 0.5},
      {"spec": "int8", "served_by": "cpu, int8 activations", "kl_mean": 9}]})");
    QVERIFY(addEvidenceFile(model_, evaluation, effects));
    QCOMPARE(effects.ofModel(*parseSpec("int8"))->mean, 0.25);
}

void EvidenceFilesTest::whatIsRefused() {
    QVERIFY(refusal(folder_.filePath(QStringLiteral("none")).toStdString()).contains(u"none"));
    QVERIFY(refusal(write("a.json", "{\"rows\": [")).contains(u"JSON"));
    QVERIFY(refusal(write("b.json", "{\"rows\": []}")).contains(u"holds no figures"));
    QVERIFY(refusal(write("c.json", R"({"rows": [{"tensor": "x", "kl": 1}]})")).contains(u"another model"));
    QVERIFY(refusal(write("d.json", R"({"rows": [], "provenance": {"input_bytes": "5"}})")).contains(u"another model"));
    QVERIFY(refusal(write("e.txt", "hello")).contains(u"none of what can be imported"));
    QVERIFY(refusal(write("f.csv", "QTYPE,blk.99.attn_q.weight\nq4_K,1\n")).contains(u"blk.99.attn_q.weight"));
    QVERIFY(refusal(write("g.json", std::string(100, '{').c_str())).contains(u"deep"));
}

QS_TEST(EvidenceFilesTest)
#include "evidence_files_test.moc"
