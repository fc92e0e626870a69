// SPDX-License-Identifier: GPL-3.0-or-later
// The plan of an export, and that the export writes exactly that. Also rules in the syntax of the user.
#include "core/export/export_plan.h"
#include "core/export/recipe.h"
#include "core/layouts/offers.h"
#include "core/quant/encode/quantizer.h"
#include "tests/core/export/made_export.h"
#include "tests/support/test_program.h"

#include <set>

using namespace qs;
using namespace qs::test;

class PlanTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void planIsWhatIsWritten_data();
    void planIsWhatIsWritten();
    void everyLayoutIsPlanned();
    void rulesAndWhatStays();
    void refusalsAreRows();
    void refusalsOfferWhatFits_data();
    void refusalsOfferWhatFits();
    void refusalsOfferTheirLayout();
    void refusedMeasurementsOfferWhatFits();
    void whatIsMissingIsAProblem();
    void aRuleForOneTensor();
    void whatTheLayoutCannotSayTogether();
    void decodedLayersAreSaid();
    void whatIsStoredOtherwise();
    void bothBitsPerWeight();
    void rulesAsLines();
    void linesThatAreNoRules_data();
    void linesThatAreNoRules();
    void recipesGoOutAndComeBack();
};

namespace {

const std::pair<const char*, const char*> kCases[] = {{"eformer", "nf4"},
                                                      {"eformer", "ternary"},
                                                      {"plain", "int8"},
                                                      {"native", "int4:sym=no:block=32"},
                                                      {"native", "nvfp4"},
                                                      {"bnb", "nf4:dialect=bnb:scaletype=u8dq"},
                                                      {"llm-int8", "int8:dialect=bnb"},
                                                      {"compressed-tensors", "int4:dialect=ct:block=64"},
                                                      {"compressed-tensors", "nvfp4"},
                                                      {"gptq", "int4:block=32:scaletype=f16:sym=no"},
                                                      {"mlx", "int4:sym=no:block=64:scaletype=bf16"},
                                                      {"mlx", "int4:block=32:dialect=mlx"},
                                                      {"hdf5", "nf4"},
                                                      {"npz", "nf4"},
                                                      {"gguf", "q4_0"}};

QString sampleFolder() { return QStringLiteral(QS_SOURCE_DIR "/resources/samples/tiny-llama"); }

} // namespace

void PlanTest::planIsWhatIsWritten_data() {
    QTest::addColumn<QString>("layout");
    QTest::addColumn<QString>("spec");
    for (const auto& [layout, spec] : kCases)
        QTest::addRow("%s %s", layout, spec) << QString::fromLatin1(layout) << QString::fromLatin1(spec);
}

/// Names, bytes and the action for each tensor, before and after. Tests of layouts compare these with the files.
void PlanTest::planIsWhatIsWritten() {
    QFETCH(QString, layout);
    QFETCH(QString, spec);
    const QTemporaryDir folder, outputs;
    const auto model = layout == QStringLiteral("gguf")
                           ? *openModel(QStringLiteral(QS_TEST_DATA "/diff/layer0_attention.gguf").toStdString())
                           : opened(folder, {made("a.weight", DType::F32, {64, 320}, wavy(64 * 320)),
                                             made("b.weight", DType::F32, {32, 256}, wavy(32 * 256)),
                                             made("b.bias", DType::F32, {16}, wavy(16))});
    const Layout& as = *findLayout(layout.toStdString());
    QuantizeRequest asked{*parseSpec(spec.toStdString()), {}, as.id, {}};
    const auto plan = planExport(*model, asked);
    QVERIFY2(plan, plan ? "" : plan.error().message.c_str());
    QCOMPARE(QString::fromStdString(plan->problem), QString());
    asked.output =
        outputs.filePath(QStringLiteral("out") + QLatin1String(as.fileEnding ? as.fileEnding : ".safetensors"))
            .toStdString();
    const auto done = exportModel(*model, asked, Job{});
    QVERIFY2(done, done ? "" : done.error().message.c_str());
    const auto proofs = *done->certificate.proof.tensors.all();
    QCOMPARE(plan->tensors.size(), proofs.size());
    for (std::size_t i = 0; i < proofs.size(); ++i) {
        const PlannedTensor& row = plan->tensors[i];
        QCOMPARE(row.name, proofs[i].name);
        QVERIFY2(row.bytes == proofs[i].bytesWritten, row.name.c_str());
        QCOMPARE(row.becomes == Becomes::Quantized, !proofs[i].spec.empty());
    }
    QCOMPARE(plan->bytes, done->certificate.proof.bytesWritten);
    QCOMPARE(plan->quantized, done->written.quantizedTensors);
    QCOMPARE(plan->stays, done->written.kept.size());
}

void PlanTest::everyLayoutIsPlanned() {
    std::set<std::string> planned;
    for (const auto& [layout, spec] : kCases) planned.insert(layout);
    for (const Layout& layout : layouts()) QVERIFY2(planned.contains(layout.id), layout.id);
}

void PlanTest::rulesAndWhatStays() {
    const auto model = *openModel(sampleFolder().toStdString());
    QuantizeRequest asked{*parseSpec("int4:dialect=ct:block=64"), {}, "compressed-tensors", {}};
    asked.rules = *parseRules("down_proj=int8:dialect=ct\nlayers\\.0\\.=keep\nno_such=int8\n");
    const auto plan = planExport(*model, asked);
    QVERIFY2(plan, plan ? "" : plan.error().message.c_str());
    QCOMPARE(QString::fromStdString(plan->problem), QString());
    const auto row = [&](const char* name) {
        for (const auto& one : plan->tensors)
            if (one.name == name) return one;
        qFatal("no row %s", name);
    };
    QCOMPARE(row("model.layers.0.mlp.down_proj.weight").spec, specText(*parseSpec("int8:dialect=ct")));
    QVERIFY(row("model.layers.0.mlp.up_proj.weight").becomes == Becomes::Copied);
    QCOMPARE(row("model.layers.1.mlp.up_proj.weight").spec, specText(asked.spec));
    const auto embedding = row("model.embed_tokens.weight");
    QVERIFY(embedding.becomes == Becomes::Stays && !embedding.reason.empty() && embedding.spec.empty());
    QCOMPARE(plan->unmatched, std::vector<std::string>{"no_such"});
    const auto text = summaryText(*plan);
    QVERIFY2(text.find("stay as they are in this layout") != text.npos && text.find("'no_such'") != text.npos,
             text.c_str());
    asked.keepsRest = true;
    const auto fewer = planExport(*model, asked);
    QVERIFY(fewer && fewer->quantized < plan->quantized && fewer->quantized > 0 && fewer->stays == 0);
}

/// All other tensors are still planned, and the error names the first refused one.
void PlanTest::refusalsAreRows() {
    const auto model = *openModel(sampleFolder().toStdString());
    QuantizeRequest asked{*parseSpec("int4:block=32:scaletype=f16:sym=no"), {}, "gptq", {}};
    asked.rules = *parseRules("up_proj=nf4\n");
    const auto plan = planExport(*model, asked);
    QVERIFY(plan && plan->refused > 1 && plan->quantized > 0);
    const auto text = summaryText(*plan);
    QVERIFY2(text.find("cannot be written this way, so nothing would be") != text.npos, text.c_str());
    const auto written = quantizeModel(
        *model,
        [&] {
            auto writing = asked;
            writing.output = (QDir::tempPath() + QStringLiteral("/never")).toStdString();
            return writing;
        }(),
        Job{});
    QVERIFY(!written && written.error().message.find(plan->problem) != std::string::npos);
    for (const auto& row : plan->tensors)
        QCOMPARE(row.becomes == Becomes::Refused, row.bytes == 0 && !row.reason.empty());
}

void PlanTest::refusalsOfferWhatFits_data() {
    QTest::addColumn<QString>("layout");
    QTest::addColumn<QString>("spec");
    QTest::addColumn<QString>("offer");
    const auto row = [](const char* layout, const char* spec, const char* offer) {
        QTest::addRow("%s %s", layout, spec)
            << QString::fromLatin1(layout) << QString::fromLatin1(spec) << QString::fromLatin1(offer);
    };
    row("bnb", "nf4:block=64", "nf4:block=64:dialect=bnb");
    // The columns of the sample are not multiples of 128.
    row("compressed-tensors", "int4:dialect=ct:block=128:scaletype=bf16", "int4:block=32:dialect=ct:scaletype=bf16");
    row("mlx", "int4:sym=no:block=64:scaletype=bf16", "int4:block=32:scaletype=bf16:sym=no");
    row("mlx", "int4:dialect=mlx", "int4:block=32:dialect=mlx");
    row("mlx", "nf4", "");
}

/// First the layout in which `quantize` stores the spec.
void PlanTest::refusalsOfferTheirLayout() {
    const auto model = *openModel(sampleFolder().toStdString());
    const auto plan = planExport(*model, {*parseSpec("nf4:dialect=bnb"), {}, "eformer", {}});
    QVERIFY(plan && plan->refused > 0 && !plan->offers.empty() && plan->offers.front().layout);
    QCOMPARE(plan->offers.front().layout->id, "bnb");
}

/// With each offered spec the whole model can be written. The command line offers the same.
void PlanTest::refusalsOfferWhatFits() {
    QFETCH(QString, layout);
    QFETCH(QString, spec);
    QFETCH(QString, offer);
    const auto model = *openModel(sampleFolder().toStdString());
    QuantizeRequest asked{*parseSpec(spec.toStdString()), {}, layout.toStdString(), {}};
    const auto plan = planExport(*model, asked);
    QVERIFY(plan && plan->refused > 0 && !plan->offers.empty());
    // Layout native takes every spec; but this dialect takes whole blocks only.
    QVERIFY(plan->offers.front().layout || spec == QStringLiteral("int4:dialect=mlx"));
    const auto isSpec = [](const PlanOffer& one) { return !one.layout; };
    const auto first = std::ranges::find_if(plan->offers, isSpec);
    if (!offer.isEmpty())
        QCOMPARE(QString::fromStdString(canonicalText(first->spec)),
                 QString::fromStdString(canonicalText(*parseSpec(offer.toStdString()))));
    for (const PlannedTensor& row : plan->tensors) // the row shows the name already
        QVERIFY2(row.reason.find(row.name) == std::string::npos, row.reason.c_str());
    asked.output = (QDir::tempPath() + QStringLiteral("/never")).toStdString();
    const auto written = quantizeModel(*model, asked, Job{});
    QVERIFY(!written);
    for (const auto& [other, rule, one, missing] : plan->offers) {
        QVERIFY(!rule && !missing);
        if (other) { // under the spec that was asked for
            QuantizeRequest elsewhere = asked;
            elsewhere.layout = other->id;
            const auto again = planExport(*model, elsewhere);
            QVERIFY2(again && again->problem.empty() && again->refused == 0 && again->quantized > 0, other->id);
            continue;
        }
        QVERIFY2(written.error().message.find(specText(one)) != std::string::npos, written.error().message.c_str());
        asked.spec = one;
        const auto again = planExport(*model, asked);
        QVERIFY2(again && again->problem.empty() && again->offers.empty(), specText(one).c_str());
    }
    // The same for a rule, beside a spec that fits.
    asked.rules = {{"down_proj", *parseSpec(spec.toStdString())}};
    const auto ruled = planExport(*model, asked);
    QVERIFY(ruled && ruled->refused > 0 && !ruled->offers.empty());
    for (const auto& [other, rule, one, missing] : ruled->offers) {
        if (other) continue;
        QCOMPARE(rule, std::optional<std::size_t>(0));
        asked.rules[0].spec = one;
        const auto again = planExport(*model, asked);
        QVERIFY2(again && again->refused == 0 && again->offers.empty(), specText(one).c_str());
    }
}

void PlanTest::refusedMeasurementsOfferWhatFits() {
    const auto model = *openModel(sampleFolder().toStdString());
    const TensorInfo* tensor = model->find("model.layers.0.mlp.down_proj.weight");
    const auto offers = [&](const char* spec, bool nonFinite) {
        std::vector<std::string> texts;
        for (const auto& one : specsForRefused(*parseSpec(spec), {&tensor, 1}, nonFinite))
            texts.push_back(specText(one));
        return texts;
    };
    using Texts = std::vector<std::string>;
    QCOMPARE(offers("nf4", true), Texts{"nf4:nan=skip"});
    QCOMPARE(offers("int8:dialect=bnb", false), Texts{"int8"}); // values overflow in f16
    const auto blocks = offers("q6_k", false);                  // rows of the sample are not whole blocks of 256
    QVERIFY(!blocks.empty());
    for (const auto& text : blocks) QVERIFY2(scaleGrid(*parseSpec(text), tensor->shape).has_value(), text.c_str());
    QVERIFY(specsForRefused(*parseSpec("nf4"), {}, false).empty());
    TensorInfo numbers = *tensor;
    numbers.dtype = DType::I64; // no spec applies to this dtype
    const TensorInfo* none = &numbers;
    QVERIFY(specsForRefused(*parseSpec("nf4"), {&none, 1}, false).empty());
}

/// A model that lacks a shard: nothing is planned until that is allowed, and one offer allows it.
void PlanTest::whatIsMissingIsAProblem() {
    const QTemporaryDir folder;
    Model model = *opened(folder, {made("a.weight", DType::F32, {64, 320}, wavy(64 * 320))});
    model.missing = {2, "b.weight", {"two.safetensors"}};
    QuantizeRequest asked{*parseSpec("int8"), {}, "plain", {}};
    const auto plan = planExport(model, asked);
    QVERIFY(plan && plan->problem.find("missing: 1 file (\"two.safetensors\"), 2 tensors") != std::string::npos);
    QVERIFY(!plan->offers.empty() && plan->offers.front().allowsMissing);
    asked.allowMissing = true;
    const auto again = planExport(model, asked);
    QVERIFY(again && again->problem.empty() && again->offers.empty() && again->quantized == 1);
}

void PlanTest::aRuleForOneTensor() {
    const std::string name = "model.layers.1.mlp.down_proj.weight", other = "model.layers.11.mlp.down_proj.weight";
    auto rules = *parseRules("down_proj=int8\n");
    QCOMPARE(firstRule(rules, name), &rules[0]);
    QVERIFY(!ruleFor(rules, name));
    rules = withRuleFor(rules, name, std::nullopt);
    QCOMPARE(rules.size(), std::size_t(2));
    QCOMPARE(firstRule(rules, name), &rules[0]);
    QVERIFY(!rules[0].spec && ruleFor(rules, name) == &rules[0]);
    QCOMPARE(firstRule(rules, other), &rules[1]);
    rules = withRuleFor(rules, name, *parseSpec("nf4")); // replaces the earlier rule
    QCOMPARE(rules.size(), std::size_t(2));
    const auto lines = rulesText(rules);
    QVERIFY(lines && parseRules(*lines));
    QCOMPARE(withoutRuleFor(rules, name).size(), std::size_t(1));
}

/// bitsandbytes has a single setting for a model: it cannot mix 4 and 8 bits, or two kinds of 4 bits.
void PlanTest::whatTheLayoutCannotSayTogether() {
    const auto model = *openModel(sampleFolder().toStdString());
    QuantizeRequest asked{*parseSpec("nf4:dialect=bnb"), {}, "bnb", {}};
    asked.rules = *parseRules("up_proj=fp4:dialect=bnb");
    const auto plan = planExport(*model, asked);
    QVERIFY(plan && plan->refused == 0 && !plan->problem.empty());
    asked.output = (QDir::tempPath() + QStringLiteral("/never")).toStdString();
    const auto written = quantizeModel(*model, asked, Job{});
    QVERIFY(!written);
    QCOMPARE(written.error().message, plan->problem);
}

void PlanTest::decodedLayersAreSaid() {
    const auto model = openModel(QStringLiteral(QS_TEST_DATA "/conventions/bnb_4bit").toStdString());
    QVERIFY(model);
    QuantizeRequest asked{*parseSpec("nf4"), {}, "native", {}};
    asked.keepsRest = true;
    const auto stored = std::find_if((*model)->tensors.begin(), (*model)->tensors.end(),
                                     [](const TensorInfo& tensor) { return tensor.derived != nullptr; });
    QVERIFY(stored != (*model)->tensors.end());
    const auto name = QRegularExpression::escape(QString::fromStdString(stored->name)).toStdString();
    asked.rules = *parseRules('^' + name + "$=int8");
    const auto plan = planExport(**model, asked);
    QVERIFY2(plan, plan ? "" : plan.error().message.c_str());
    QCOMPARE(plan->quantized, std::uint64_t(1));
    const auto derived = std::count_if((*model)->tensors.begin(), (*model)->tensors.end(),
                                       [](const TensorInfo& tensor) { return tensor.derived != nullptr; });
    QVERIFY(derived > 1);
    QCOMPARE(plan->decoded, std::uint64_t(derived - 1));
    QVERIFY(summaryText(*plan).find("written as the values that they decode to") != std::string::npos);
}

/// For an F32 source mlx keeps scales and biases in f32, whatever the scaletype. The plan says so, and names tensors
/// that get larger.
void PlanTest::whatIsStoredOtherwise() {
    const QTemporaryDir folder;
    const auto model = opened(folder, {made("a.weight", DType::F32, {64, 320}, wavy(64 * 320))});
    QuantizeRequest asked{*parseSpec("int4:sym=no:block=32:scaletype=bf16"), {}, "mlx", {}};
    const auto plan = planExport(*model, asked);
    QVERIFY(plan && plan->remarks.size() == 1);
    QCOMPARE(
        plan->remarks[0],
        std::string("Layout mlx, 1 tensor: scales and biases are stored as F32, not bf16, because the source is F32 "
                    "and readers compute in their type; 6.0000 bits per weight."));
    QCOMPARE(8.0 * double(plan->bytes) / double(plan->elements), 6.0);
    QVERIFY(summaryText(*plan).find(plan->remarks[0]) != std::string::npos);
    asked.output = folder.filePath(QStringLiteral("out.safetensors")).toStdString();
    const auto done = exportModel(*model, asked, Job{});
    QVERIFY(done && done->written.remarks == plan->remarks);

    const auto half =
        opened(folder, {made("a.weight", DType::BF16, {64, 320}, std::vector<std::uint16_t>(64 * 320, 0x3f80))},
               "half.safetensors");
    QVERIFY(planExport(*half, asked)->remarks.empty());
    const auto conv =
        opened(folder, {made("c.weight", DType::F16, {16, 8, 3, 3}, std::vector<std::uint16_t>(1152, 0x3c00))},
               "conv.safetensors");
    const auto larger = planExport(*conv, {*parseSpec("int8"), {}, "eformer", {}});
    QVERIFY(larger && larger->remarks.size() == 1);
    QCOMPARE(
        larger->remarks[0],
        std::string("1 of 1 quantized tensors take more bytes than in the source; the first, c.weight stores 18.6667 "
                    "bits per weight, more than the 16.0000 of the source (F16): use int8:axis=out."));
    QVERIFY(planExport(*conv, {*parseSpec("int8:axis=out"), {}, "eformer", {}})->remarks.empty());
}

/// Bits per weight of the quantized tensors, and of the whole file; each is labelled.
void PlanTest::bothBitsPerWeight() {
    const QTemporaryDir folder;
    const auto model = opened(folder, {made("a.weight", DType::F32, {64, 320}, wavy(64 * 320)),
                                       made("b.bias", DType::F32, {1024}, wavy(1024))});
    QuantizeRequest asked{
        *parseSpec("nf4"), {}, "eformer", folder.filePath(QStringLiteral("out.safetensors")).toStdString()};
    const auto plan = planExport(*model, asked);
    const auto done = exportModel(*model, asked, Job{});
    QVERIFY(plan && done);
    const double all = 8.0 * (64 * 320 * 4.5 / 8 + 4096) / (64 * 320 + 1024);
    QCOMPARE(done->certificate.bitsPerWeight(), 4.5);
    QCOMPARE(done->certificate.bitsPerWeightOfAll(), all);
    const auto has = [](const std::string& text, const std::string& part) { return text.find(part) != text.npos; };
    QVERIFY(has(summaryText(*plan), "quantized at 4.5000 bpw; 5.8095 bpw over all tensors of the file"));
    QVERIFY(has(summaryText(done->certificate),
                "4.5000 bpw in 1 quantized tensor, 5.8095 bpw over all 2 tensors of the file"));
    QVERIFY(has(certificateText(done->certificate), "\"bpw_all\": 5.80952380952"));
}

void PlanTest::rulesAsLines() {
    const auto rules = parseRules("down_proj=int8\n\n  \nlayers\\.[0-3]\\.=keep\nx=y=nf4:block=32\n");
    QVERIFY2(rules, rules ? "" : rules.error().message.c_str());
    QCOMPARE(rules->size(), std::size_t(3));
    QCOMPARE((*rules)[0].regex, std::string("down_proj"));
    QVERIFY(!(*rules)[1].spec);
    QCOMPARE((*rules)[2].regex, std::string("x=y"));
    const auto text = rulesText(*rules);
    QVERIFY(text);
    const auto again = parseRules(*text);
    QVERIFY(again && *rulesText(*again) == *text);
    QVERIFY(!rulesText({{"a\nb", std::nullopt}}));
    QVERIFY(!rulesText({{"", std::nullopt}}));
}

void PlanTest::linesThatAreNoRules_data() {
    QTest::addColumn<QString>("lines");
    QTest::addColumn<QString>("says");
    QTest::newRow("a spec alone") << QStringLiteral("a=keep\nnf4") << QStringLiteral("Line 2: it does not say which");
    QTest::newRow("no spec") << QStringLiteral("down_proj=nf5") << QStringLiteral("nf5");
    QTest::newRow("no rule") << QStringLiteral("\ndown_proj") << QStringLiteral("Line 2: it is not REGEX=SPEC");
    QTest::newRow("no regex") << QStringLiteral("(=int8") << QStringLiteral("Line 1: '(' is not a regular expression");
    QTest::newRow("empty regex") << QStringLiteral("=int8") << QStringLiteral("Line 1: it is not REGEX=SPEC");
}

void PlanTest::linesThatAreNoRules() {
    QFETCH(QString, lines);
    QFETCH(QString, says);
    const auto rules = parseRules(lines.toStdString());
    QVERIFY(!rules);
    const auto said = QString::fromStdString(rules.error().message);
    QVERIFY2(said.contains(says), qPrintable(said));
}

void PlanTest::recipesGoOutAndComeBack() {
    for (const bool keeps : {true, false}) {
        Recipe recipe{keeps ? std::nullopt : std::optional(*parseSpec("int4:block=32")),
                      *parseRules("down_\"proj=int8\na=keep")};
        const auto text = recipeText(recipe);
        const auto back = parseRecipe(text, "r.json");
        QVERIFY2(back, back ? "" : back.error().message.c_str());
        QCOMPARE(back->rest.has_value(), !keeps);
        QCOMPARE(recipeText(*back), text);
    }
}

QS_TEST(PlanTest)
#include "plan_test.moc"
