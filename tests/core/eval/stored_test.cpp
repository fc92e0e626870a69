// SPDX-License-Identifier: GPL-3.0-or-later
// A checkpoint that is stored quantized runs as what it decodes to: exported by this program, it has the output of its
// spec on the original.
#include "core/eval/run/evaluate.h"
#include "core/eval/run/report.h"
#include "core/eval/tokenizer/token_file.h"
#include "core/export/export_model.h"
#include "tests/support/test_program.h"

#include <QTemporaryDir>
#include <QtTest>

#include <cmath>
#include <regex>

using namespace qs;
using namespace qs::eval;

class StoredTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void exportsHaveTheOutputOfTheirSpec_data();
    void exportsHaveTheOutputOfTheirSpec();
};

void StoredTest::exportsHaveTheOutputOfTheirSpec_data() {
    QTest::addColumn<QString>("network");
    QTest::addColumn<QString>("layout");
    QTest::addColumn<QString>("spec");
    QTest::addColumn<QString>("tensors");
    const auto row = [](const char* network, const char* layout, const char* spec, const char* tensors) {
        QTest::addRow("%s %s", network, layout) << QString::fromLatin1(network) << QString::fromLatin1(layout)
                                                << QString::fromLatin1(spec) << QString::fromLatin1(tensors);
    };
    row("llama", "gptq", "int4:dialect=ct:block=32:scaletype=f16", "self_attn.*_proj.weight");
    row("qwen2", "bnb", "nf4:dialect=bnb:block=64", "layers.*_proj.weight");
    row("qwen3_moe", "bnb", "nf4:dialect=bnb:block=64", "layers.*_proj.weight");
    row("mistral", "compressed-tensors", "int8:scale=channel:dialect=ct", "layers.*_proj.weight");
}

void StoredTest::exportsHaveTheOutputOfTheirSpec() {
    QFETCH(QString, network);
    QFETCH(QString, layout);
    QFETCH(QString, spec);
    QFETCH(QString, tensors);
    const std::string folder = "tests/data/eval/" + network.toStdString();
    const auto model = openModel(folder);
    QVERIFY(model);
    QTemporaryDir dir;
    QuantizeRequest request;
    request.spec = *parseSpec(spec.toStdString());
    request.layout = layout.toStdString(), request.tensorRegex = tensors.toStdString();
    request.output = dir.filePath(QStringLiteral("out/")).toStdString();
    const auto done = exportModel(**model, request, Job());
    QVERIFY2(done, done ? "" : done.error().message.c_str());
    const auto stored = openModel(request.output);
    QVERIFY2(stored, stored ? "" : stored.error().message.c_str());

    EvaluationPlan plan;
    plan.text.tokens = *readTokens(folder + "/tokens.npy");
    plan.context = 12, plan.scored = Scored::All;
    const std::regex taken(tensors.toStdString());
    plan.changes.push_back(quantizedBy("spec", "", [&](const TensorInfo& tensor) {
        return std::regex_search(tensor.name.c_str(), taken) ? &request.spec : nullptr;
    }));
    plan.changes.push_back(replacedBy(*stored, "stored"));
    const auto result = evaluate(*model, plan, Job());
    QVERIFY2(result, result ? "" : result.error().message.c_str());
    for (const auto& reason : result->reasons) QCOMPARE(QString::fromStdString(reason), QString());
    const double ofSpec = summarize(result->scores[0])->divergence.mean,
                 ofStored = summarize(result->scores[1])->divergence.mean;
    QVERIFY(ofSpec > 1e-5);
    // Readers of these layouts compute values in 16 bits, as the programs do that wrote them first.
    QVERIFY2(std::fabs(ofStored - ofSpec) < 0.05 * ofSpec,
             qPrintable(QStringLiteral("%1 %2").arg(ofSpec).arg(ofStored)));
    QVERIFY(referenceRemark(*result).empty());

    // As a reference it says what it is.
    plan.changes = {quantizedAs(*parseSpec("f32"))};
    const auto self = evaluate(*stored, plan, Job());
    QVERIFY2(self, self ? "" : self.error().message.c_str());
    QCOMPARE(summarize(self->scores[0])->divergence.mean, 0.0);
    QVERIFY(referenceRemark(*self).find("itself quantized") != std::string::npos);
}

QS_TEST(StoredTest)
#include "stored_test.moc"
