// SPDX-License-Identifier: GPL-3.0-or-later
// A checkpoint that is stored quantized runs as what it decodes to: exported by this program, it has the output of its
// spec on the original.
#include "core/eval/run/evaluate.h"
#include "core/eval/run/report.h"
#include "core/eval/tokenizer/token_file.h"
#include "core/export/export_model.h"
#include "core/layouts/serve.h"
#include "core/layouts/taken_tensors.h"
#include "core/model/quantized_source.h"
#include "core/quant/encode/quantizer.h"
#include "tests/support/test_program.h"

#include <QFile>
#include <QRegularExpression>
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
    void withoutALayoutTooASpecIsWhatQuantizeWrites();
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
    row("qwen3_moe", "mlx", "int4:dialect=mlx:block=32:scaletype=f16", "layers.*(q|k|v|o|gate|up)_proj.weight");
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

namespace {

/// Networks of all families.
constexpr const char* kStoredNetworks[] = {"gemma",   "gemma2",    "gemma3", "gpt2",           "llama", "llama3_tied",
                                           "mistral", "mixtral",   "olmo2",  "phi3",           "qwen2", "qwen3",
                                           "smollm3", "qwen3_moe", "bert",   "qwen3_moe_fused"};

struct LayoutAndSpec {
    const char *id, *spec;
};
constexpr LayoutAndSpec kFolderLayouts[] = {{"eformer", "nf4:block=64"},
                                            {"native", "int4:block=16"},
                                            {"native", "int4:sym=no:block=16:scaletype=f16"},
                                            {"plain", "int8:scale=channel"},
                                            {"npz", "int4:block=16"},
                                            {"hdf5", "int4:block=16"},
                                            {"bnb", "nf4:dialect=bnb:block=64"},
                                            {"bnb", "nf4:dialect=bnb:block=64:scaletype=u8dq"},
                                            {"llm-int8", "int8:dialect=bnb"},
                                            {"compressed-tensors", "int8:scale=channel:dialect=ct"},
                                            {"compressed-tensors", "mxfp4:dialect=ct"},
                                            {"compressed-tensors", "nvfp4"},
                                            {"gptq", "int4:dialect=ct:block=32:scaletype=f16"},
                                            {"mlx", "int4:dialect=mlx:block=32:scaletype=f16"},
                                            {"mlx", "int4:sym=no:block=32:scaletype=bf16"}};
constexpr LayoutAndSpec kGgufLayouts[] = {{"gguf", "q4_0"}, {"gguf", "bf16"}, {"native", "q8_0"}};

/// What quantize takes without a filter. Where the layout refuses one of these, filters for those that it holds, by
/// their full names.
TensorChoice heldBy(const Model& model, const QuantSpec& spec, const Layout& layout) {
    TensorChoice all, held;
    bool isAll = true;
    for (const TensorInfo& tensor : model.tensors) {
        if (!tensor.isWeight() || !leftAlone(&model, {&tensor, &spec, false}, layout)) continue;
        const bool holds = bool(checkWritable(tensor, spec, layout));
        isAll = isAll && holds;
        if (holds)
            held.filters.push_back(QStringLiteral("^%1$")
                                       .arg(QRegularExpression::escape(QString::fromStdString(tensor.name.text())))
                                       .toStdString());
    }
    return isAll ? all : held;
}

/// The values of a written tensor in the shape of the original, whose matrix may have been turned.
std::vector<float> valuesIn(const Model& written, const TensorInfo& original) {
    const TensorInfo* tensor = written.find(original.name);
    if (!tensor) return {};
    std::vector<float> values(tensor->elements), turned;
    loadF32(*written.view(*tensor), 0, values.size(), values.data());
    if (!original.outputLast || tensor->outputLast || !isStoredQuantized(*tensor)) return values;
    const auto rows = std::size_t(tensor->shape[0]), columns = std::size_t(tensor->shape[1]);
    for (std::size_t c = 0; c < columns; ++c)
        for (std::size_t r = 0; r < rows; ++r) turned.push_back(values[r * columns + c]);
    return turned;
}

} // namespace

/// `quantize --spec` and `eval --spec` take the same matrices: embedding and head too, and no router. What is evaluated
/// is what the file holds, value for value.
void StoredTest::aSpecIsWhatQuantizeWrites_data() {
    QTest::addColumn<QString>("network");
    QTest::addColumn<QString>("layout");
    QTest::addColumn<QString>("spec");
    const auto row = [](const char* network, const LayoutAndSpec& layout, const char* folder) {
        QTest::addRow("%s%s %s %s", folder, network, layout.id, layout.spec)
            << QString::fromLatin1(folder) + QString::fromLatin1(network) << QString::fromLatin1(layout.id)
            << QString::fromLatin1(layout.spec);
    };
    // Conv1D, experts of other kinds than transformers stacks, and experts under names that gptqmodel does not look for
    // are refused. Stacks of experts as mlx_lm has them are not compared tensor by tensor.
    const auto isRefused = [](const std::string& network, const LayoutAndSpec& layout) {
        if (std::string_view(layout.id) == "gptq") return network == "mixtral";
        if (std::string_view(layout.id) == "mlx") return network == "qwen3_moe";
        if (std::string_view(layout.id) != "compressed-tensors") return false;
        const bool isMixture = network == "mixtral" || network == "qwen3_moe";
        return network == "gpt2" || (isMixture && !std::string_view(layout.spec).starts_with("int8"));
    };
    for (const char* network : kStoredNetworks)
        for (const LayoutAndSpec& layout : kFolderLayouts)
            if (!isRefused(network, layout)) row(network, layout, "");
    for (const char* network : kStoredNetworks)
        for (const LayoutAndSpec& layout : kGgufLayouts)
            if (QFile::exists(QStringLiteral("tests/data/eval/gguf/%1.gguf").arg(QLatin1String(network))))
                row(network, layout, "gguf/");
}

void StoredTest::aSpecIsWhatQuantizeWrites() {
    QFETCH(QString, network);
    QFETCH(QString, layout);
    QFETCH(QString, spec);
    const bool isGguf = network.startsWith(QLatin1String("gguf/"));
    const QString source = QStringLiteral("tests/data/eval/") + network;
    const auto model = openModel((isGguf ? source + QStringLiteral(".gguf") : source).toStdString());
    QVERIFY(model);
    const QTemporaryDir dir;
    QuantizeRequest request;
    request.spec = *parseSpec(spec.toStdString()), request.layout = layout.toStdString();
    const Layout& written = *findLayout(request.layout);
    request.choice = heldBy(**model, request.spec, written);
    const bool isFile = written.fileEnding || isGguf;
    request.output = dir.filePath(isFile ? QStringLiteral("out") +
                                               QLatin1String(written.fileEnding ? written.fileEnding : ".safetensors")
                                         : QStringLiteral("out/"))
                         .toStdString();
    const auto done = quantizeModel(**model, request, Job());
    QVERIFY2(done, done ? "" : done.error().message.c_str());
    if (written.fileEnding && !isGguf) // it says how the tensors make a network
        QVERIFY(QFile::copy(source + QStringLiteral("/config.json"), dir.filePath(QStringLiteral("config.json"))));
    const auto stored = openModel(request.output);
    QVERIFY2(stored, stored ? "" : stored.error().message.c_str());
    const auto decoded = servedModel(*stored, Job());
    QVERIFY2(decoded, decoded ? "" : decoded.error().message.c_str());

    EvaluationPlan plan;
    const QString name = network.mid(network.indexOf(QLatin1Char('/')) + 1);
    plan.text.tokens = *readTokens("tests/data/eval/" + name.toStdString() + "/tokens.npy");
    plan.context = 12, plan.scored = Scored::All;
    const auto scope = scopeOf(**model, request.choice.filters, request.layout);
    QVERIFY(scope);
    plan.changes = {quantizedAs(request.spec, *scope)};
    QVERIFY(measureSizes(**model, plan.changes, Job()));
    const WeightChange& change = plan.changes[0];
    QVERIFY(change.size);
    QCOMPARE(std::uint64_t(change.size->matrices), done->quantizedTensors);
    std::size_t matrices = 0;
    for (const TensorInfo& tensor : (*model)->tensors) {
        if (!change.touches(tensor)) continue;
        ++matrices;
        const auto asked = change.values(tensor, *(*model)->view(tensor), Job());
        QVERIFY2(asked, asked ? "" : asked.error().message.c_str());
        QVERIFY2(*asked == valuesIn(**decoded, tensor), tensor.name.c_str());
    }
    QCOMPARE(matrices, change.size->matrices);
    const bool isDecoded = layout == QLatin1String("plain") || layout == QLatin1String("npz");
    if (!isDecoded && spec != QLatin1String("bf16")) {
        const ChangedSize size = storedSizeOf(**stored, **decoded);
        QCOMPARE(size.matrices, change.size->matrices);
        QCOMPARE(size.elements, change.size->elements);
        QCOMPARE(size.bytes, change.size->bytes);
    }
    // An encoder has no other network to compare with, and our own layouts keep no keys of GGUF.
    if (name == QLatin1String("bert") || (isGguf && layout != QLatin1String("gguf"))) return;
    plan.changes.push_back(replacedBy(*decoded, "written"));
    const auto result = evaluate(*model, plan, Job());
    QVERIFY2(result, result ? "" : result.error().message.c_str());
    for (const auto& reason : result->reasons) QCOMPARE(QString::fromStdString(reason), QString());
    const double asked = summarize(result->scores[0])->divergence.mean,
                 found = summarize(result->scores[1])->divergence.mean;
    QVERIFY(asked > 0 || spec == QLatin1String("bf16")); // weights of some files are in bf16 already
    QVERIFY2(std::fabs(found - asked) <= 1e-6 * asked + 1e-11,
             qPrintable(QStringLiteral("%1 %2").arg(asked).arg(found)));
}

/// A spec of another program's dialect is stored in its layout, and evaluated so, where that holds all matrices.
void StoredTest::withoutALayoutTooASpecIsWhatQuantizeWrites() {
    const std::string folder = "tests/data/eval/llama";
    const auto model = openModel(folder);
    QVERIFY(model);
    const auto any = scopeOf(**model, {}, "");
    QVERIFY(any);
    const std::pair<const char*, const char*> rows[] = {{"nf4:block=64", "eformer"},
                                                        {"int4:block=16", "native"},
                                                        {"bf16", "plain"},
                                                        {"nf4:dialect=bnb:block=64", "bnb"},
                                                        {"int8:dialect=bnb", "llm-int8"},
                                                        {"int8:scale=channel:dialect=ct", "compressed-tensors"}};
    for (const auto& [spec, layout] : rows) {
        const QTemporaryDir dir;
        QuantizeRequest request;
        request.spec = *parseSpec(spec), request.output = dir.filePath(QStringLiteral("out/")).toStdString();
        QCOMPARE(std::string((*requestedLayout(request))->id), std::string(layout));
        const auto done = quantizeModel(**model, request, Job());
        QVERIFY2(done, done ? "" : done.error().message.c_str());
        const auto written = openModel(request.output);
        QVERIFY(written);
        const auto decoded = servedModel(*written, Job());
        QVERIFY(decoded);
        const WeightChange change = quantizedAs(request.spec, *scopeOfSpec(**model, *any, request.spec));
        std::size_t matrices = 0;
        for (const TensorInfo& tensor : (*model)->tensors) {
            if (!change.touches(tensor)) continue;
            ++matrices;
            const auto asked = change.values(tensor, *(*model)->view(tensor), Job());
            QVERIFY2(asked && *asked == valuesIn(**decoded, tensor), tensor.name.c_str());
        }
        QCOMPARE(std::uint64_t(matrices), done->quantizedTensors);
    }
    // The layout of its dialect refuses the matrices of a Conv1D: they are evaluated as the spec says.
    const auto conv1d = openModel("tests/data/eval/gpt2");
    QVERIFY(conv1d);
    const auto all = scopeOf(**conv1d, {}, "");
    QVERIFY(all && !scopeOfSpec(**conv1d, *all, *parseSpec("int8:scale=channel:dialect=ct"))->layout);
}

QS_TEST(StoredTest)
#include "stored_test.moc"
