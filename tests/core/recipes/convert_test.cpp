// SPDX-License-Identifier: GPL-3.0-or-later
// Recipes written for other programs: each reads back as what it was, the texts are stored, and what a format cannot say
// is refused. QS_UPDATE_GOLDEN=1 writes the texts in tests/data/recipes again; tests/peers/compare_recipes.py gives them to
// the programs.
#include "tests/core/recipes/made_llama.h"
#include "tests/support/files.h"
#include "tests/support/test_program.h"

#include <QFile>
#include <QtTest>

using namespace qs;
using namespace qs::test;

namespace {

/// A mixture that a format can say: what most matrices get, what layer 0 gets, and what down_proj gets.
struct Mixture {
    const char *format, *common, *first, *down;
};
constexpr Mixture kMixtures[] = {
    {"quantscope", "nf4:block=32", "keep", "int4:block=128:sym=no:scaletype=f16"},
    {"llama.cpp", "q4_k", "q5_0", "q8_0"},
    {"thireus", "q4_0", "q8_0", "q5_1"},
    {"maxtext", "int8:scale=channel", "int4:block=64", "keep"},
    {"qwix", "int8:scale=channel", "nf4:block=64", "fp8_e4m3:scale=channel:calib=rms,7"},
    {"compressed-tensors", "int4:block=32:dialect=ct", "keep", "fp8_e4m3:scale=channel"},
    {"bnb", "nf4:dialect=bnb:scaletype=u8dq", "keep", "nf4:dialect=bnb:scaletype=u8dq"},
    {"modelopt", "int4:block=32", "nvfp4:block=16", "fp8_e4m3:scale=tensor"},
    {"hf-quant-config", "nvfp4:block=16", "keep", "fp8_e4m3:scale=tensor"},
    {"autoround", "int4:block=32", "int8:block=32", "int2:block=32:sym=no"},
};

Recipe recipeFor(const Mixture& mixture) {
    const auto spec = [](const char* text) {
        return std::string(text) == "keep" ? std::optional<QuantSpec>() : std::optional(*parseSpec(text));
    };
    Recipe recipe;
    recipe.rules = {{"embed|lm_head", {}},
                    {"layers\\.0\\.", spec(mixture.first)},
                    {"down_proj", spec(mixture.down)},
                    {"proj", spec(mixture.common)}};
    return recipe;
}

Result<WrittenRecipe> convertOwn(const Recipe& recipe, const RecipeFormat& to, const Model& model) {
    auto foreign = parseForeignRecipe(recipeText(recipe), "the recipe");
    if (!foreign) return tl::unexpected(foreign.error());
    return convertRecipe(*foreign, to, &model);
}

} // namespace

class TestConvert : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void textsAreStored_data();
    void textsAreStored();
    void fromEachToEach();
    void withoutAModel();
    void whatCannotBeSaid_data();
    void whatCannotBeSaid();
    void maxTextKeepsItsHead();
    void dialectsAreNamed();
};

void TestConvert::textsAreStored_data() {
    QTest::addColumn<int>("index");
    for (std::size_t i = 0; i < std::size(kMixtures); ++i) QTest::newRow(kMixtures[i].format) << int(i);
}

void TestConvert::textsAreStored() {
    QFETCH(int, index);
    const Mixture& mixture = kMixtures[index];
    const RecipeFormat* to = findRecipeFormat(mixture.format);
    QVERIFY(to);
    const auto written = convertOwn(recipeFor(mixture), *to, *llama(3));
    QVERIFY2(written, written ? "" : written.error().sentence().c_str());
    const QString golden =
        QStringLiteral(QS_TEST_DATA "/recipes/%1%2").arg(QString::fromLatin1(to->id), QString::fromLatin1(to->ending));
    if (qEnvironmentVariableIsSet("QS_UPDATE_GOLDEN")) {
        QFile file(golden);
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(written->text.data(), qint64(written->text.size()));
    }
    QCOMPARE(QString::fromStdString(written->text), QString::fromUtf8(bytesOf(golden)));
}

void TestConvert::fromEachToEach() {
    const auto model = llama(3);
    // One spec that many can say, but for what its program decides itself.
    Recipe recipe;
    recipe.rules = {{"embed|lm_head", {}}, {"proj", *parseSpec("int4:block=32")}};
    std::size_t pairs = 0;
    for (const RecipeFormat* from : recipeFormats()) {
        const auto first = convertOwn(recipe, *from, *model);
        if (!first) continue;
        const auto read = parseForeignRecipe(first->text, "recipe");
        QVERIFY(read);
        QCOMPARE(read->format->id, from->id);
        for (const RecipeFormat* to : recipeFormats()) {
            const auto second = convertRecipe(*read, *to, model.get());
            if (second)
                ++pairs;
            else
                QVERIFY(!second.error().message.empty());
        }
    }
    QVERIFY2(pairs >= 36, std::to_string(pairs).c_str());
}

void TestConvert::withoutAModel() {
    const auto exact =
        parseForeignRecipe("^blk\\.0\\.attn_q\\.weight$=q8_0\n^blk\\.1\\.ffn_up\\.weight$=q4_k\n# end\n", "r");
    QVERIFY(exact);
    QCOMPARE(exact->format->id, kThireusRecipes.id);
    const auto written = convertRecipe(*exact, kLlamaRecipes, nullptr);
    QVERIFY2(written, written ? "" : written.error().message.c_str());
    QCOMPARE(written->text, std::string("^blk\\.0\\.attn_q\\.weight$=q8_0\n^blk\\.1\\.ffn_up\\.weight$=q4_k\n"));
    for (const char* text : {"attn_q=q8_0", R"({"load_in_4bit":true,"llm_int8_skip_modules":[]})"}) {
        const auto pattern = parseForeignRecipe(text, "r");
        QVERIFY(pattern);
        const auto refused = convertRecipe(*pattern, kThireusRecipes, nullptr);
        QVERIFY(!refused);
        QVERIFY2(refused.error().message.find("--model") != std::string::npos, refused.error().message.c_str());
    }
}

void TestConvert::whatCannotBeSaid_data() {
    QTest::addColumn<QString>("format");
    QTest::addColumn<QString>("spec");
    const std::pair<const char*, const char*> rows[] = {{"maxtext", "nf4:block=64"},
                                                        {"maxtext", "int8:sym=no"},
                                                        {"maxtext", "int4:scaletype=e8m0"},
                                                        {"maxtext", "int8:scale=channel:calib=absmax,2"},
                                                        {"qwix", "q4_k"},
                                                        {"qwix", "int8:scale=tensor"},
                                                        {"qwix", "int4:calib=mse"},
                                                        {"llama.cpp", "nf4:block=64"},
                                                        {"thireus", "int8"},
                                                        {"compressed-tensors", "nf4:block=64"},
                                                        {"bnb", "int4:block=64"},
                                                        {"bnb", "nf4:block=128:dialect=bnb"},
                                                        {"modelopt", "nf4:block=64"},
                                                        {"modelopt", "int4:block=64:sym=no"},
                                                        {"hf-quant-config", "int3:block=64"},
                                                        {"autoround", "int5:block=64"},
                                                        {"autoround", "int4:sparse=2/4"}};
    for (const auto& [format, spec] : rows)
        QTest::addRow("%s %s", format, spec) << QString::fromLatin1(format) << QString::fromLatin1(spec);
}

void TestConvert::whatCannotBeSaid() {
    QFETCH(QString, format);
    QFETCH(QString, spec);
    Recipe recipe;
    const auto parsed = parseSpec(spec.toStdString());
    QVERIFY2(parsed, parsed ? "" : parsed.error().sentence().c_str());
    recipe.rules = {{"q_proj", *parsed}};
    const auto written = convertOwn(recipe, *findRecipeFormat(format.toStdString()), *llama(2));
    QVERIFY2(!written, written ? written->text.c_str() : "");
    QVERIFY(!written.error().message.empty());
    QVERIFY2(!written.error().works.empty(), written.error().message.c_str()); // what would work is named
}

void TestConvert::dialectsAreNamed() {
    Recipe recipe;
    recipe.rules = {{"q_proj", *parseSpec("int4:block=64")}};
    const auto written = convertOwn(recipe, kMaxTextRecipes, *llama(2));
    QVERIFY(written);
    QVERIFY(!written->remarks.empty());
    QVERIFY2(written->remarks.back().find("dialect=aqt") != std::string::npos, written->remarks.back().c_str());
}

void TestConvert::maxTextKeepsItsHead() {
    Recipe recipe;
    recipe.rules = {{"proj|lm_head", *parseSpec("int8:scale=channel")}};
    const auto refused = convertOwn(recipe, kMaxTextRecipes, *llama(3));
    QVERIFY(!refused);
    const std::string said = refused.error().sentence();
    QVERIFY2(said.find("lm_head") != said.npos && said.find("never quantizes the output layer") != said.npos,
             said.c_str());
}

QS_TEST(TestConvert)
#include "convert_test.moc"
