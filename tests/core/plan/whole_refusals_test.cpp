// SPDX-License-Identifier: GPL-3.0-or-later
// Where a layout refuses a model as a whole, `quantize`, an evaluation, a sensitivity and a plan refuse in one sentence.
#include "core/eval/sensitivity/sensitivity.h"
#include "core/export/recipe.h"
#include "core/layouts/serve.h"
#include "core/layouts/taken_tensors.h"
#include "sample_plan.h"
#include "tests/support/test_program.h"

#include <QTemporaryDir>
#include <QtTest>

using namespace qs;
using namespace qs::plan;

namespace {

constexpr const char* kFolder = "tests/data/eval/";
constexpr const char* kNetworks[] = {"llama",           "gpt2",           "bert", "mixtral", "qwen3_moe",
                                     "qwen3_moe_fused", "gguf/llama.gguf"};
/// Specs of which every layout holds one.
constexpr const char* kSpecsOfLayouts[] = {"nf4:block=32",
                                           "int4:scale=channel:scaletype=f16",
                                           "int8:scale=channel:dialect=ct",
                                           "int4:dialect=ct:block=32",
                                           "nvfp4:dialect=ct",
                                           "nf4:dialect=bnb",
                                           "int8:dialect=bnb",
                                           "int4:dialect=mlx:block=32",
                                           "q4_0"};

std::string messageOf(const Result<WrittenFiles>& done) { return done ? std::string() : done.error().message; }
/// Of a refusal that is not of single tensors.
bool isWhole(const std::string& message) {
    return !message.empty() && message.find("tensors cannot be quantized, nothing was written") == message.npos;
}
std::string outputIn(const QTemporaryDir& dir, const Layout& layout) {
    return dir.filePath(QStringLiteral("out")).toStdString() + (layout.fileEnding ? layout.fileEnding : "/");
}

} // namespace

class WholeRefusalsTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void everyCommandRefusesAlike_data();
    void everyCommandRefusesAlike();
    void aRecipeIsRefusedAlike_data() { everyCommandRefusesAlike_data(); }
    void aRecipeIsRefusedAlike();
    void aPlanCanBeWritten_data();
    void aPlanCanBeWritten();

private:
    static std::string evaluated(const Model& model, const QuantizeRequest& request) {
        const auto scope = eval::scopeOf(model, {}, request.layout);
        if (!scope) return scope.error().message;
        const auto own = eval::scopeOfSpec(model, *scope, request.spec);
        return own ? std::string() : own.error().message;
    }
    static std::string sensitive(const std::shared_ptr<const Model>& model, const QuantizeRequest& request) {
        eval::SensitivityPlan asked;
        asked.specs = {request.spec}, asked.context = 4;
        asked.text.tokens = {1, 2, 3, 4, 5, 6, 7, 8};
        asked.scope = *eval::scopeOf(*model, {}, request.layout);
        const auto rows = eval::sensitivity(model, asked, Job());
        return rows ? std::string() : rows.error().message;
    }
    static std::string planned(const std::shared_ptr<const Model>& model, const QuantizeRequest& request) {
        OptionRequest asked{model, {}, {request.spec}, request.layout, {}, {}};
        for (const TensorInfo& tensor : model->tensors)
            if (tensor.isWeight()) asked.tensors.push_back(&tensor);
        const auto options = sizedOptions(asked, lossesOf(asked));
        return options ? std::string() : options.error().message;
    }
};

void WholeRefusalsTest::everyCommandRefusesAlike_data() {
    QTest::addColumn<QString>("layout");
    for (const Layout& layout : layouts()) QTest::newRow(layout.id) << QString::fromLatin1(layout.id);
}

void WholeRefusalsTest::everyCommandRefusesAlike() {
    QFETCH(QString, layout);
    const Layout& row = *findLayout(layout.toStdString());
    for (const char* network : kNetworks) {
        const auto model = openModel(std::string(kFolder) + network);
        QVERIFY2(model, network);
        const auto served = *servedModel(*model, Job());
        int specs = 0;
        for (const char* text : kSpecsOfLayouts) {
            const QTemporaryDir dir;
            QuantizeRequest request{*parseSpec(text), {}, row.id, outputIn(dir, row)};
            if (!row.accepts(request.spec, std::vector<std::int64_t>{96, 32})) continue;
            if (!row.config && specs++ > 0) break;
            if (row.id == std::string_view("hdf5") && !refusalOf(**model, request, row).any())
                continue; // needs a worker
            const std::string refused = messageOf(quantizeModel(**model, request, Job()));
            const std::string wanted = isWhole(refused) ? refused : std::string();
            const auto where = std::string(network) + " " + text + ": " + refused;
            QVERIFY2(evaluated(*served, request) == wanted, where.c_str());
            if (wanted.empty()) continue;
            if (eval::scopeOf(*served, {}, request.layout)) // else the command ends here, as above
                QVERIFY2(sensitive(served, request) == wanted, where.c_str());
            const std::string plan = planned(served, request);
            QVERIFY2(plan.find(wanted) != plan.npos, (where + "\nplan: " + plan).c_str());
        }
    }
}

/// All but one of a stack of experts, and two specs where some layouts hold one.
void WholeRefusalsTest::aRecipeIsRefusedAlike() {
    QFETCH(QString, layout);
    const Layout& row = *findLayout(layout.toStdString());
    for (const char* network : {"llama", "mixtral", "qwen3_moe"}) {
        const auto model = openModel(std::string(kFolder) + network);
        QVERIFY2(model, network);
        for (const char* text : kSpecsOfLayouts)
            for (const std::string rule : {"experts\\.1\\.=keep", "q_proj=fp4:dialect=bnb"}) {
                QuantizeRequest request;
                recipeOfSpecs({rule, text})->applyTo(request);
                request.layout = row.id;
                const RefusedRequest refused = refusalOf(**model, request, row);
                if (!refused.whole) continue;
                const QTemporaryDir dir;
                request.output = outputIn(dir, row);
                QCOMPARE(messageOf(quantizeModel(**model, request, Job())), refused.whole->message);
                const auto scope = eval::scopeOf(**model, {}, row.id);
                const auto change = scope ? eval::quantizedAsAsked(**model, "recipe", "", request, *scope)
                                          : Result<eval::WeightChange>(tl::unexpected(scope.error()));
                QVERIFY(!change);
                QCOMPARE(change.error().message, refused.whole->message);
                request.layout.clear();
                if (followedLayout(**model, request) != &row) continue;
                const auto followed =
                    eval::quantizedAsAsked(**model, "recipe", "", request, *eval::scopeOf(**model, {}, ""));
                QVERIFY(followed && followed->layout == nullptr);
                QCOMPARE(followed->remark, refusedBy(row, *refused.whole));
            }
    }
}

void WholeRefusalsTest::aPlanCanBeWritten_data() {
    QTest::addColumn<QString>("network");
    QTest::addColumn<QString>("layout");
    QTest::addColumn<QString>("specs");
    const auto row = [](const char* network, const char* layout, const char* specs) {
        QTest::addRow("%s %s", network, layout)
            << QString::fromLatin1(network) << QString::fromLatin1(layout) << QString::fromLatin1(specs);
    };
    for (const char* network : {"mixtral", "qwen3_moe", "llama"}) {
        row(network, "compressed-tensors", "int8:scale=channel:dialect=ct fp8_e4m3");
        row(network, "gptq", "int4:scale=channel:scaletype=f16 int8:scale=channel:scaletype=f16");
        row(network, "mlx", "int4:dialect=mlx:block=32 int8:dialect=mlx:block=32");
    }
}

/// Experts that a layout wants under one spec are one choice of the plan.
void WholeRefusalsTest::aPlanCanBeWritten() {
    QFETCH(QString, network);
    QFETCH(QString, layout);
    QFETCH(QString, specs);
    const auto model = *openModel(kFolder + network.toStdString());
    OptionRequest asked{model, {}, {}, layout.toStdString(), {}, {}};
    for (const QString& text : specs.split(u' ')) asked.specs.push_back(*parseSpec(text.toStdString()));
    const Layout& row = *findLayout(asked.layout);
    for (const TensorInfo& tensor : model->tensors)
        if (tensor.isWeight()) asked.tensors.push_back(&tensor);
    const bool refuses = [&] {
        QuantizeRequest request{asked.specs[0], {}, asked.layout, {}};
        return refusalOf(*model, request, row).whole.has_value();
    }();
    const auto options = sizedOptions(asked, lossesOf(asked));
    QCOMPARE(!options, refuses);
    if (!options) return;
    QuantizeRequest request;
    request.layout = asked.layout, request.keepsRest = true;
    std::size_t others = 0;
    for (std::size_t u = 0; u < options->units.size(); ++u) { // every second unit has the other spec
        const auto choices = options->of[u];
        const QuantSpec* spec = options->specOf(choices[u % choices.size()]);
        others += *spec == options->specs[1];
        for (const TensorInfo* tensor : options->units.tensors(u)) {
            const auto name = QRegularExpression::escape(QString::fromStdString(tensor->name)).toStdString();
            request.rules.push_back({'^' + name + '$', *spec});
        }
    }
    QVERIFY((others > 0 && others < options->units.size()) || layout == QLatin1String("gptq")); // it has one unit
    const RefusedRequest refused = refusalOf(*model, request, row);
    QVERIFY2(!refused.any(), refused.any() ? refused.any()->message.c_str() : "");
}

QS_TEST(WholeRefusalsTest)
#include "whole_refusals_test.moc"
