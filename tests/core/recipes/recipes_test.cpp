// SPDX-License-Identifier: GPL-3.0-or-later
// Recipes of other programs: what each says for the tensors of a Llama, by its own rules of matching.
#include "tests/core/recipes/made_llama.h"
#include "tests/support/test_program.h"

#include <QtTest>

#include <set>

using namespace qs;
using namespace qs::test;

namespace {

const std::string kQ0 = "model.layers.0.self_attn.q_proj.weight", kK0 = "model.layers.0.self_attn.k_proj.weight",
                  kV1 = "model.layers.1.self_attn.v_proj.weight", kDown0 = "model.layers.0.mlp.down_proj.weight",
                  kDown1 = "model.layers.1.mlp.down_proj.weight", kDown11 = "model.layers.11.mlp.down_proj.weight",
                  kUp0 = "model.layers.0.mlp.up_proj.weight", kHead = "lm_head.weight",
                  kEmbed = "model.embed_tokens.weight";

struct Case {
    const char* name;
    const char* format;
    const char* text;
    std::vector<std::pair<std::string, const char*>> specs; ///< tensor, spec
    const char* remark = "";                                ///< a part of one of the remarks; "": any
};

const std::vector<Case>& cases() {
    static const std::vector<Case> all = {
        {"own",
         "quantscope",
         R"({"version":1,"default":"nf4:block=64","rules":[{"tensor":"down_proj","spec":"int8"},{"tensor":"layers\\.0","spec":"keep"}]})",
         {{kDown0, "int8"}, {kQ0, "keep"}, {kV1, "nf4:block=64"}}},
        {"llama.cpp, the first wins",
         "llama.cpp",
         "blk\\.0\\.ffn_down\\.weight=q6_K\nblk\\.(0|1|2)\\.ffn_down=q8_0\ntoken_embd\\.weight=Q8_0 attn_v=q4_k",
         {{kDown0, "q8_0"}, // 544 columns are no whole blocks of 256
          {kDown1, "q8_0"},
          {kEmbed, "q8_0"},
          {kV1, "q4_k"},
          {kQ0, "keep"}}},
        {"llama.cpp in lower case",
         "llama.cpp",
         "attn_q=iq2_xxs BLK\\.\\D+=q8_0",
         {{kQ0, "no spec: the type iq2_xxs, which no format here encodes"}, {kV1, "q8_0"}},
         "lower case"},
        {"Thireus",
         "thireus",
         "## made by hand\n^blk\\.([0-9]|1[01])\\.attn_q\\.weight$=q8_0\n^blk\\.0\\.ffn_up\\.weight$=iq6_k\n# sha\n",
         {{kQ0, "q8_0"}, {kUp0, "no spec: the type iq6_k, which no format here encodes"}, {kV1, "keep"}}},
        {"MaxText, the last wins",
         "maxtext",
         R"({"__default__":{"w_bits":8,"a_bits":8},".*/query":{"w_bits":4,"tile_size":128},".*/layers_0/.*":{"w_bits":2,"w_scale":0.5},".*/wo":{"w_bits":null}})",
         {{kQ0, "int2:axis=-1:calib=absmax,0.5:dialect=aqt"},
          {"model.layers.1.self_attn.q_proj.weight", "int4:block=128:dialect=aqt"},
          {kV1, "int8:axis=-1:dialect=aqt"},
          {kDown1, "keep"},
          {kEmbed, "keep"}},
         "activations"},
        {"MaxText, the output layer, and a scale that only narrows",
         "maxtext",
         R"({"__default__":{"w_bits":8,"w_scale":2.0},".*/query":{"w_scale":0.75}})",
         {{kV1, "int8:axis=-1:dialect=aqt"},
          {kQ0, "int8:axis=-1:calib=absmax,0.75:dialect=aqt"},
          {kHead, "keep"},
          {kEmbed, "keep"}},
         "below 1"},
        {"MaxText, old words",
         "maxtext",
         R"({"__default__":{"bits":8},".*/query":{"w_bits":4}})",
         {{kV1, "keep"}, {kQ0, "int4:axis=-1:dialect=aqt"}},
         "ignores"},
        {"qwix, the first wins",
         "qwix",
         "qwix:\n  use_abstract_model: True\n  rules:\n    - {module_path: '.*/(query|q_proj)', weight_qtype: 'int4', "
         "tile_size: 128}\n    - {module_path: '.*/layers_?/?0/.*', weight_qtype: nf4, tile_size: 0.25}\n    - "
         "{module_path: '.*', weight_qtype: 'float8_e4m3fn', act_qtype: 'int8', weight_calibration_method: 'rms,7'}\n",
         {{kQ0, "int4:block=128:dialect=qwix"},
          {kK0, "nf4:block=64:dialect=qwix"},
          {kV1, "fp8_e4m3:axis=-1:calib=rms,7:dialect=qwix"}},
         "activations"},
        {"qwix as a list",
         "qwix",
         R"([{"module_path":".*","weight_qtype":"int8","weight_calibration_method":"minmax"},{"op_names":["add"],"weight_qtype":"int4"}])",
         {{kQ0, "int8:axis=-1:sym=no:dialect=qwix"}},
         "without weights"},
        {"compressed-tensors",
         "compressed-tensors",
         R"({"quantization_config":{"quant_method":"compressed-tensors","format":"mixed-precision","ignore":["lm_head","re:.*layers\\.11\\..*"],
           "config_groups":{"group_0":{"targets":["re:.*self_attn\\.(q|k|v|o)_proj$"],"weights":{"num_bits":8,"type":"float","symmetric":true,"strategy":"channel"}},
           "group_1":{"targets":["Linear"],"weights":{"num_bits":4,"type":"int","symmetric":false,"strategy":"group","group_size":128}},
           "group_2":{"targets":["model.layers.0.self_attn.q_proj"],"weights":{"num_bits":4,"type":"float","strategy":"tensor_group","group_size":16}}}}})",
         {{kQ0, "nvfp4:dialect=ct"}, // its own name before the pattern
          {kK0, "fp8_e4m3:axis=-1"},
          {kDown0, "int4:block=128:sym=no:dialect=ct"},
          {kDown11, "keep"},
          {kHead, "keep"},
          {kEmbed, "keep"}}},
        {"compressed-tensors by scheme",
         "compressed-tensors",
         R"({"config_groups":{"W4A16":["re:.*down_proj"],"FP8_BLOCK":["Linear"]},"ignore":[]})",
         {{kDown0, "int4:block=128:dialect=ct"}, {kQ0, "fp8_e4m3:tile=0x128,1x128"}}},
        {"bitsandbytes",
         "bnb",
         R"({"quant_method":"bitsandbytes","load_in_4bit":true,"bnb_4bit_quant_type":"nf4","bnb_4bit_use_double_quant":true,"llm_int8_skip_modules":["lm_head","model.layers.1","up_proj"]})",
         {{kQ0, "nf4:scaletype=u8dq:dialect=bnb"},
          {kDown1, "keep"},
          {kDown11, "nf4:scaletype=u8dq:dialect=bnb"}, // the entry of layer 1 does not catch layer 11
          {kUp0, "keep"},
          {kHead, "keep"},
          {kEmbed, "keep"}}},
        {"bitsandbytes, no list",
         "bnb",
         R"({"load_in_8bit":true})",
         {{kQ0, "int8:axis=-1:dialect=bnb"}, {kHead, "keep"}},
         "keeps the head"},
        {"ModelOpt, the last wins",
         "modelopt",
         "metadata: {recipe_type: ptq}\nquantize:\n  algorithm: max\n  quant_cfg:\n  - {quantizer_name: '*', enable: "
         "false}\n"
         "  - {quantizer_name: '*weight_quantizer', cfg: {num_bits: 4, block_sizes: {-1: 128, type: static}}}\n"
         "  - quantizer_name: '*q_proj.weight_quantizer'\n    cfg: {num_bits: e2m1, block_sizes: {-1: 16, scale_bits: "
         "e4m3}}\n"
         "  - {quantizer_name: '*k_proj*', cfg: {num_bits: [4, 3], axis: 0}}\n"
         "  - {quantizer_name: '*input_quantizer', cfg: {num_bits: 8}}\n"
         "  - {quantizer_name: '*lm_head*', enable: false}\n  - {parent_class: nn.Embedding, quantizer_name: '*', "
         "enable: false}\n",
         {{kDown0, "int4:block=128"}, {kQ0, "nvfp4:block=16"}, {kK0, "fp8_e4m3:axis=-1"}, {kHead, "keep"}},
         "activations"},
        {"ModelOpt, imports of its own file",
         "modelopt",
         "imports:\n  nothing: [{quantizer_name: '*', enable: false}]\n  int4: units.w4\n"
         "units:\n  w4: {num_bits: 4, block_sizes: {-1: 128, type: static}}\n"
         "quantize:\n  quant_cfg:\n  - {$import: nothing}\n  - {quantizer_name: '*weight_quantizer', cfg: {$import: "
         "int4}}\n  - {quantizer_name: '*q_proj*', cfg: {$import: units/w4, block_sizes: {-1: 32}}}\n"
         "  - {quantizer_name: '*lm_head*', enable: false}\n",
         {{kDown0, "int4:block=128"}, {kQ0, "int4:block=32"}, {kHead, "keep"}}},
        {"ModelOpt, as it was",
         "modelopt",
         R"({"quant_cfg":{"*weight_quantizer":{"num_bits":8,"axis":0},"*lm_head*":{"enable":false},"default":{"enable":false}},"algorithm":"max"})",
         {{kQ0, "int8:axis=-1"}, {kHead, "keep"}}},
        {"hf_quant_config, mixed",
         "hf-quant-config",
         R"({"producer":{"name":"modelopt"},"quantization":{"quant_algo":"MIXED_PRECISION","exclude_modules":["lm_head","model.layers.1.*"],"quantized_layers":{"model.layers.0.self_attn.q_proj":{"quant_algo":"NVFP4","group_size":16},"model.layers.1.mlp.down_proj":{"quant_algo":"FP8"},"model.layers.0.mlp.up_proj":{"quant_algo":"W4A8_AWQ","group_size":128}}}})",
         {{kQ0, "nvfp4:block=16"}, {kDown1, "keep"}, {kUp0, "int4:block=128"}, {kK0, "keep"}}},
        {"hf_quant_config, one",
         "hf-quant-config",
         R"({"producer":{"name":"modelopt"},"quantization":{"quant_algo":"FP8","kv_cache_quant_algo":"FP8","exclude_modules":["lm_head"]}})",
         {{kQ0, "fp8_e4m3:scale=tensor"}, {kHead, "keep"}},
         "cache"},
        {"AutoRound",
         "autoround",
         R"({"quantization_config":{"quant_method":"auto-round","bits":4,"group_size":128,"sym":true,"data_type":"int","extra_config":{"model.layers.0.self_attn.q_proj":{"bits":8},".*layers\\.0\\.self_attn.*":{"bits":2,"group_size":64},"model.layers.1.mlp.down_proj":{"bits":16}}}})",
         {{kQ0, "int8:block=128"}, // its own name before the pattern
          {kK0, "int2:block=64"},
          {kDown1, "keep"},
          {kDown0, "int4:block=128"},
          {kHead, "keep"}},
         "rounds to the nearest"},
    };
    return all;
}

} // namespace

class TestRecipes : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void rowsAreWhole();
    void say_data();
    void say();
    void rulesThatDoNothingAreNamed();
    void ggufModelsUnderOtherNames();
    void problemsAreNoSilence();
};

void TestRecipes::rowsAreWhole() {
    std::set<std::string> ids, read;
    for (const RecipeFormat* row : recipeFormats()) {
        QVERIFY(ids.insert(row->id).second);
        QVERIFY(findRecipeFormat(row->id) == row);
        QVERIFY(*row->title && *row->summary && *row->matching && row->ending[0] == '.');
        QVERIFY(row->recognises && row->read && row->write);
    }
    for (const Case& one : cases()) read.insert(one.format);
    QCOMPARE(read, ids); // every row has a case
    QVERIFY(!findRecipeFormat("none"));
}

void TestRecipes::say_data() {
    QTest::addColumn<int>("index");
    for (std::size_t i = 0; i < cases().size(); ++i) QTest::newRow(cases()[i].name) << int(i);
}

void TestRecipes::say() {
    QFETCH(int, index);
    const Case& one = cases()[std::size_t(index)];
    const auto model = llama();
    const auto recipe = parseForeignRecipe(one.text, "recipe");
    QVERIFY2(recipe, recipe ? "" : recipe.error().message.c_str());
    QCOMPARE(std::string(recipe->format->id), std::string(one.format));
    const auto resolved = resolveRecipe(*recipe, *model);
    QVERIFY2(resolved, resolved ? "" : resolved.error().message.c_str());
    for (const auto& [tensor, spec] : one.specs)
        QVERIFY2(meansSame(specOf(*resolved, tensor), spec),
                 (tensor + ": " + specOf(*resolved, tensor) + " by " + ruleOf(*resolved, tensor)).c_str());
    bool isSaid = !*one.remark;
    for (const std::string& remark : resolved->remarks) isSaid = isSaid || remark.find(one.remark) != remark.npos;
    QVERIFY2(isSaid, one.remark);
}

void TestRecipes::rulesThatDoNothingAreNamed() {
    const auto model = llama();
    const auto recipe = parseForeignRecipe(
        "^blk.0.attn_q.weight$=q4_0 attn_q=q8_0 ffn_x=q8_0 blk.*attn_q=q5_0 blk.0.attn=q4_1", "recipe");
    QVERIFY(recipe);
    const auto resolved = resolveRecipe(*recipe, *model);
    QVERIFY(resolved);
    QCOMPARE(resolved->rules[1].matches, std::size_t(12));
    QCOMPARE(resolved->rules[1].decides, std::size_t(11));
    QString all;
    for (const auto& remark : resolved->remarks) all += QString::fromStdString(remark) + u'\n';
    QVERIFY2(all.contains(QStringLiteral("'ffn_x' matches no matrix")), qPrintable(all));
    QVERIFY2(all.contains(QStringLiteral("'blk.*attn_q' decides nothing")), qPrintable(all));
    QVERIFY2(all.contains(QStringLiteral("'attn_q', 'blk.0.attn' overlap")), qPrintable(all));
    for (const ResolvedTensor& row : resolved->tensors)
        if (row.tensor->name == kQ0) {
            QCOMPARE(row.matchedBy, std::string("^blk.0.attn_q.weight$"));
            QCOMPARE(row.others, (std::vector<std::size_t>{1, 3, 4}));
        }
}

void TestRecipes::ggufModelsUnderOtherNames() {
    auto model = std::make_shared<Model>();
    addTensor(*model, "blk.3.attn_q.weight", {256, 256});
    addTensor(*model, "blk.3.ffn_down.weight", {256, 256});
    addTensor(*model, "output.weight", {256, 256});
    sortByName(*model);
    const auto by = [&](const char* text) {
        const auto recipe = parseForeignRecipe(text, "recipe");
        return recipe ? resolveRecipe(*recipe, *model) : Result<ResolvedRecipe>(tl::unexpected(recipe.error()));
    };
    const auto names = by(
        R"({"load_in_4bit":true,"bnb_4bit_quant_type":"nf4","llm_int8_skip_modules":["model.layers.3.self_attn.q_proj"]})");
    QVERIFY(names);
    QVERIFY(meansSame(specOf(*names, "blk.3.attn_q.weight"), "keep"));
    QVERIFY(meansSame(specOf(*names, "blk.3.ffn_down.weight"), "nf4:dialect=bnb"));
    const auto paths =
        by(R"({"decoder/layers/mlp/wo":{"w_bits":4},"decoder/layers_3/self_attention/query":{"w_bits":8}})");
    QVERIFY(paths);
    QVERIFY(meansSame(specOf(*paths, "blk.3.ffn_down.weight"), "int4:axis=-1:dialect=aqt"));
    QVERIFY(meansSame(specOf(*paths, "blk.3.attn_q.weight"), "int8:axis=-1:dialect=aqt"));
}

void TestRecipes::problemsAreNoSilence() {
    const auto recipe = parseForeignRecipe("attn_q=iq1_s attn_v=q8_0", "r.txt");
    QVERIFY(recipe);
    const auto model = llama();
    const auto resolved = resolveRecipe(*recipe, *model);
    QVERIFY(resolved);
    QCOMPARE(resolved->problems, std::size_t(12));
    const auto own = recipeOf(*resolved, "r.txt");
    QVERIFY(!own);
    QVERIFY2(own.error().message.find("iq1_s") != std::string::npos &&
                 own.error().message.find("11 other tensors") != std::string::npos,
             own.error().message.c_str());
}

QS_TEST(TestRecipes)
#include "recipes_test.moc"
