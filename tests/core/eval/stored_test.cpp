// SPDX-License-Identifier: GPL-3.0-or-later
// A checkpoint that is stored quantized runs as what it decodes to: exported by this program, it has the output of its
// spec on the original.
#include "core/eval/run/evaluate.h"
#include "core/eval/run/report.h"
#include "core/eval/tokenizer/token_file.h"
#include "core/export/export_model.h"
#include "core/layouts/serve.h"
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
    void aSpecIsWhatQuantizeWrites_data();
    void aSpecIsWhatQuantizeWrites();
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
    row("qwen3_moe", "bnb", "nf4:dialect=bnb:block=64", "layers.*attn.*_proj.weight");
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
    request.layout = layout.toStdString(), request.choice = tensors.toStdString();
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

/// `quantize --spec` and `eval --spec` take the same matrices: embedding and head too, and no router.
void StoredTest::aSpecIsWhatQuantizeWrites_data() {
    QTest::addColumn<QString>("network");
    QTest::addColumn<QString>("layout");
    QTest::addColumn<QString>("spec");
    struct Layout {
        const char *id, *spec;
    };
    const Layout ofSingles[] = {{"bnb", "nf4:dialect=bnb:block=64"},
                                {"compressed-tensors", "int8:scale=channel:dialect=ct"}};
    const Layout ofAll[] = {{"eformer", "nf4:block=64"}, {"native", "int4:block=16"}, {"plain", "int8:scale=channel"}};
    const auto row = [](const char* network, const Layout& layout) {
        QTest::addRow("%s %s", network, layout.id)
            << QString::fromLatin1(network) << QString::fromLatin1(layout.id) << QString::fromLatin1(layout.spec);
    };
    for (const char* network : {"gemma", "gemma2", "gemma3", "gpt2", "llama", "llama3_tied", "mistral", "mixtral",
                                "olmo2", "phi3", "qwen2", "qwen3", "qwen3_moe", "qwen3_moe_fused", "smollm3", "bert"}) {
        for (const Layout& layout : ofAll) row(network, layout);
        const bool isConv1d = std::string_view(network) == "gpt2";
        const std::string_view name = network;
        if (name == "qwen3_moe_fused") continue; // refused: stacked experts
        const bool isMixture = name == "mixtral" || name == "qwen3_moe";
        for (const Layout& layout : ofSingles) {
            const bool isBnb = std::string_view(layout.id) == "bnb";
            if (isBnb ? !isMixture : !isConv1d) row(network, layout); // the others are refused
        }
    }
}

void StoredTest::aSpecIsWhatQuantizeWrites() {
    QFETCH(QString, network);
    QFETCH(QString, layout);
    QFETCH(QString, spec);
    const std::string folder = "tests/data/eval/" + network.toStdString();
    const auto model = openModel(folder);
    QVERIFY(model);
    const QTemporaryDir dir;
    QuantizeRequest request;
    request.spec = *parseSpec(spec.toStdString()), request.layout = layout.toStdString();
    request.output = dir.filePath(QStringLiteral("out/")).toStdString();
    const auto done = quantizeModel(**model, request, Job());
    QVERIFY2(done, done ? "" : done.error().message.c_str());
    const auto written = openModel(request.output);
    QVERIFY2(written, written ? "" : written.error().message.c_str());
    const auto decoded = servedModel(*written, Job());
    QVERIFY2(decoded, decoded ? "" : decoded.error().message.c_str());

    EvaluationPlan plan;
    plan.text.tokens = *readTokens(folder + "/tokens.npy");
    plan.context = 12, plan.scored = Scored::All;
    const auto scope = scopeOf(**model, {}, layout.toStdString());
    QVERIFY(scope);
    plan.changes = {quantizedAs(request.spec, *scope)};
    QVERIFY(measureSizes(**model, plan.changes, Job()));
    QVERIFY(plan.changes[0].size);
    QCOMPARE(std::uint64_t(plan.changes[0].size->matrices), done->quantizedTensors);
    if (layout != QLatin1String("plain")) {
        const ChangedSize stored = storedSizeOf(**written, **decoded);
        QCOMPARE(stored.matrices, plan.changes[0].size->matrices);
        QCOMPARE(stored.elements, plan.changes[0].size->elements);
        QCOMPARE(stored.bytes, plan.changes[0].size->bytes);
    }
    // An encoder has no other network to compare with; a Conv1D that was written [out, in] is none to our reader of gpt2.
    if (network == QLatin1String("bert") || (network == QLatin1String("gpt2") && layout == QLatin1String("bnb")))
        return;
    plan.changes.push_back(replacedBy(*decoded, "written"));
    const auto result = evaluate(*model, plan, Job());
    QVERIFY2(result, result ? "" : result.error().message.c_str());
    for (const auto& reason : result->reasons) QCOMPARE(QString::fromStdString(reason), QString());
    const double asked = summarize(result->scores[0])->divergence.mean,
                 found = summarize(result->scores[1])->divergence.mean;
    QVERIFY(asked > 1e-6);
    QVERIFY2(std::fabs(found - asked) <= 1e-6 * asked, qPrintable(QStringLiteral("%1 %2").arg(asked).arg(found)));
}

QS_TEST(StoredTest)
#include "stored_test.moc"
