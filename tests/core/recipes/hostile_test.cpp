// SPDX-License-Identifier: GPL-3.0-or-later
// Recipes that mean harm or are broken: each is an error of one sentence, in little time.
#include "core/recipes/matcher.h"
#include "core/recipes/yaml_tree.h"
#include "tests/core/recipes/made_llama.h"
#include "tests/support/test_program.h"

#include <QElapsedTimer>
#include <QtTest>

using namespace qs;
using namespace qs::test;

class TestHostileRecipes : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void texts_data();
    void texts();
    void patternsThatNeverEnd();
    void globs();
    void yaml();
};

void TestHostileRecipes::texts_data() {
    QTest::addColumn<QByteArray>("text");
    const auto add = [](const char* name, QByteArray text) { QTest::newRow(name) << std::move(text); };
    add("empty", {});
    add("a word", "hello");
    add("binary", QByteArray("\x80\x04\x95\x00\xff", 5));
    add("NUL", QByteArray("a=q8_0\0b", 8));
    add("deep JSON", QByteArray(100, '[') + QByteArray(100, ']'));
    add("deep YAML", "qwix:\n  rules:\n    - " + QByteArray(100, '[') + QByteArray(100, ']'));
    add("key twice", R"({"__default__":{"w_bits":8},"__default__":{"w_bits":4}})");
    add("YAML bomb", "a: &a [x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a]\nquant_cfg: [*b,*b,*b]\n");
    add("YAML tag", "quant_cfg: !!python/object/apply:os.system ['true']\n");
    add("imports", "quantize: {quant_cfg: [{$import: configs/ptq/units/base_disable_all}]}");
    add("import of a cfg", "quant_cfg: [{quantizer_name: '*', cfg: {$import: nvfp4}}]");
    add("import of itself", "quant_cfg: [{$import: a}]\na: [{$import: b}]\nb: [{$import: a}]");
    add("import of a number", "quant_cfg: [{$import: 7}]");
    QByteArray bomb = "quant_cfg: [{$import: a0}]\n";
    for (int i = 0; i < 14; ++i) {
        const QByteArray next = "{$import: a" + QByteArray::number(i + 1) + "}";
        bomb += "a" + QByteArray::number(i) + ": [" + QByteArrayList(8, next).join(",") + "]\n";
    }
    add("import bomb", bomb + "a14: [{quantizer_name: '*', enable: false}]\n");
    add("searches", "auto_quantize: {constraints: {effective_bits: 5.4}}");
    add("no list", R"({"quant_cfg": 7})");
    add("rule of numbers", R"({"quant_cfg": [1, 2]})");
    add("both widths", R"({"load_in_4bit": true, "load_in_8bit": true})");
    add("skip of numbers", R"({"load_in_4bit": true, "llm_int8_skip_modules": [1]})");
    add("group without targets", R"({"config_groups": {"g": {"weights": {}}}})");
    add("targets of numbers", R"({"config_groups": {"g": {"targets": [1]}}})");
    add("mixed without layers",
        R"({"producer":{},"quantization":{"quant_algo":"MIXED_PRECISION","exclude_modules":[]}})");
    add("extra of numbers", R"({"quant_method":"auto-round","extra_config":{"a":1}})");
    add("version 2", R"({"version":2,"rules":[]})");
    add("too long", QByteArray(5 << 20, 'a'));
}

void TestHostileRecipes::texts() {
    QFETCH(QByteArray, text);
    const auto recipe = parseForeignRecipe(text.toStdString(), "bad\n.json");
    QVERIFY2(!recipe, recipe ? recipe->format->id : "");
    QVERIFY(!recipe.error().message.empty());
    QVERIFY(recipe.error().message.find('\n') == std::string::npos);
    QVERIFY2(recipe.error().message.size() < 600, recipe.error().message.c_str());
}

void TestHostileRecipes::patternsThatNeverEnd() {
    const auto model = std::make_shared<Model>();
    addTensor(*model, "blk.0.attn_q." + std::string(60, 'a') + "!weight", {256, 256});
    addTensor(*model, std::string(60, 'a') + "!.weight", {256, 256});
    for (const char* text :
         {R"({"(a+)+$":{"w_bits":8}})", R"({"((a|aa)+)+b":{"w_bits":8}})", R"({"(?:(?:a*)*)*c":{"w_bits":8}})"}) {
        const auto recipe = parseForeignRecipe(text, "r");
        QVERIFY(recipe);
        QElapsedTimer timer;
        timer.start();
        const auto resolved = resolveRecipe(*recipe, *model);
        QVERIFY2(timer.elapsed() < 5000, qPrintable(QString::number(timer.elapsed())));
        if (!resolved)
            QVERIFY2(resolved.error().message.find("steps") != std::string::npos, resolved.error().message.c_str());
    }
    for (const char* text : {"(=q8_0", "[=q8_0", "*x=q8_0", "(?P<a=q8_0"}) {
        const auto recipe = parseForeignRecipe(text, "r");
        QVERIFY(recipe);
        const auto resolved = resolveRecipe(*recipe, *model);
        QVERIFY(!resolved);
        QVERIFY2(resolved.error().message.find("regular expression") != std::string::npos,
                 resolved.error().message.c_str());
    }
}

void TestHostileRecipes::globs() {
    QVERIFY(globMatches("*", "") && globMatches("*", "a") && globMatches("a?c", "abc") && globMatches("[ab]x", "bx"));
    QVERIFY(globMatches("[!ab]x", "cx") && !globMatches("[!ab]x", "ax") && globMatches("[a-c]*z", "bz"));
    QVERIFY(!globMatches("a", "") && !globMatches("", "a") && !globMatches("*a", "ab") && globMatches("[", "["));
    QVERIFY(globMatches("[]]", "]") && globMatches("*a*b*c*", "xaybzc"));
    // Many stars take no longer than the product of both lengths.
    QElapsedTimer timer;
    timer.start();
    std::string stars;
    for (int i = 0; i < 200; ++i) stars += "*a";
    QVERIFY(!globMatches(stars + "b", std::string(5000, 'a')));
    QVERIFY(timer.elapsed() < 5000);
}

void TestHostileRecipes::yaml() {
    const auto tree = readYamlTree("a: 1\nb: [yes, no, ~, '1', 1.5, -2, text, 1e3, '']\nc: {-1: 128}\n");
    QVERIFY2(tree, tree ? "" : tree.error().message.c_str());
    QCOMPARE(QString::fromStdString(tree->dump()),
             QStringLiteral(R"({"a":1,"b":[true,false,null,"1",1.5,-2,"text","1e3",""],"c":{"-1":128}})"));
    for (const char* text :
         {"a: 1\na: 2\n", "a: *b\n", "--- a\n--- b\n", "a: !t b\n", "? [a]\n: b\n", "a: [\n", "\t- a"}) {
        const auto bad = readYamlTree(text);
        QVERIFY2(!bad, text);
        QVERIFY2(bad.error().message.find("line") != std::string::npos, bad.error().message.c_str());
    }
}

QS_TEST(TestHostileRecipes)
#include "hostile_test.moc"
