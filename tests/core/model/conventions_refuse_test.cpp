// SPDX-License-Identifier: GPL-3.0-or-later
// Layers whose fields contradict each other: one layer of a committed checkpoint with one change. Its tensors are
// listed as stored, and a warning gives the reason.
#include "core/base/text.h"
#include "core/model/derived_tensor.h"
#include "core/model/model.h"
#include "made_layer.h"
#include "tests/support/test_program.h"

#include <functional>
#include <memory>
#include <sys/stat.h>

using namespace qs;

namespace {

using Change = std::function<void(Layer&)>;

constexpr const char* kQ = "model.layers.0.self_attn.q_proj.weight";
constexpr const char* kK = "model.layers.0.self_attn.k_proj.weight";
constexpr const char* kV = "model.layers.0.self_attn.v_proj.weight";

} // namespace

class ConventionsRefuseTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void lies_data();
    void lies();
    void unchangedIsALayer();
    void configThatIsNoFile();
    void configTooLong();
    void oneBadLayerAmongGoodOnes();
};

void ConventionsRefuseTest::lies_data() {
    QTest::addColumn<QByteArray>("folder");
    QTest::addColumn<QByteArray>("layer");
    QTest::addColumn<Change>("change");
    QTest::addColumn<QByteArray>("says");
    const char *folder = "bnb_4bit", *name = kK;
    const auto row = [&](const char* title, const char* says, Change change) {
        QTest::newRow(qPrintable(QString::fromLatin1(folder) + QStringLiteral(": ") + QLatin1String(title)))
            << QByteArray(folder) << QByteArray(name) << change << QByteArray(says);
    };
    const QByteArray four = zeros(4);

    row("no absmax", "absmax\" is missing", [](Layer& l) { l.drop(".absmax"); });
    row("absmax of fewer blocks", "absmax\" is F32 [1]", [&](Layer& l) { l.set(".absmax", "F32", "[1]", zeros(4)); });
    row("absmax U8 without nesting", "absmax\" is U8 [72]",
        [](Layer& l) { l.set(".absmax", "U8", "[72]", zeros(72)); });
    row("no quant_map", "quant_map\" is missing", [](Layer& l) { l.drop(".quant_map"); });
    row("another quant_map", "is not that of nf4", [](Layer& l) { l.set(".quant_map", "F32", "[16]", zeros(64)); });
    row("no quant_state", "quant_state.bitsandbytes__nf4 or __fp4 is missing", [](Layer& l) { l.drop("__nf4"); });
    row("two quant_states", "two quant_states", [](Layer& l) {
        auto other = l.field("__nf4");
        other.name.replace("__nf4", "__fp4");
        l.fields.push_back(other);
    });
    row("quant_state of floats", "is no text", [](Layer& l) { l.set("__nf4", "F32", "[1]", zeros(4)); });
    row("quant_state of 65537 bytes", "is no text",
        [](Layer& l) { l.set("__nf4", "U8", "[65537]", QByteArray(65537, ' ')); });
    row("quant_state is not JSON", "is not JSON", [](Layer& l) { l.state("{", "["); });
    row("quant_state is a list", "is no object", [](Layer& l) { l.set("__nf4", "U8", "[2]", "[]"); });
    row("quant_state with a key twice", "key \"blocksize\" twice",
        [](Layer& l) { l.state("\"blocksize\"", "\"blocksize\": 64, \"blocksize\""); });
    row("quant_state with a mark", "byte order mark", [](Layer& l) { l.state("{", "\xEF\xBB\xBF{"); });
    row("quant_state with NUL", "NUL", [](Layer& l) { l.field("__nf4").data.back() = '\0'; });
    row("quant_state of 60000 levels", "nested too deeply",
        [](Layer& l) { l.set("__nf4", "U8", "[60000]", QByteArray(60000, '[')); });
    row("no blocks", "no usable blocksize", [](Layer& l) { l.state("\"blocksize\": 64", "\"blocksize\": 0"); });
    row("blocks of 65", "no usable blocksize", [](Layer& l) { l.state("\"blocksize\": 64", "\"blocksize\": 65"); });
    row("blocks of -64", "no usable blocksize", [](Layer& l) { l.state("\"blocksize\": 64", "\"blocksize\": -64"); });
    row("blocks of 2^64", "no usable blocksize",
        [](Layer& l) { l.state("\"blocksize\": 64", "\"blocksize\": 18446744073709551616"); });
    row("negative shape", "no usable shape", [](Layer& l) { l.state("[24", "[-24"); });
    row("shape of fractions", "no usable shape", [](Layer& l) { l.state("[24", "[24.5"); });
    row("shape of 2^63", "no usable shape", [](Layer& l) { l.state("[24", "[9223372036854775808"); });
    row("shape that overflows", "no usable shape",
        [](Layer& l) { l.state("[24, 192", "[281474976710656, 281474976710656"); });
    row("shape of more elements", "has 2304 bytes", [](Layer& l) { l.state("[24", "[25"); });
    row("values of integers", "no usable dtype", [](Layer& l) { l.state("float32", "int8"); });
    row("type differs from its name", "another type", [](Layer& l) { l.state("\"nf4\"", "\"fp4\""); });
    name = kV;
    row("no nested_absmax", "nested_absmax\" is missing", [](Layer& l) { l.drop("nested_absmax"); });
    row("no nested map", "nested_quant_map\" is missing", [](Layer& l) { l.drop("nested_quant_map"); });
    row("nested offset is text", "no usable nested_offset",
        [](Layer& l) { l.state("\"nested_offset\": ", "\"nested_offset\": \"x\", \"y\": "); });
    row("nested blocks of 0", "no usable nested_blocksize",
        [](Layer& l) { l.state("\"nested_blocksize\": 256", "\"nested_blocksize\": 0"); });

    folder = "bnb_int8", name = kK;
    row("no weight", "k_proj.weight\" is missing", [](Layer& l) { l.drop(".weight"); });
    row("SCB of fewer rows", "SCB\" is F32 [1]", [](Layer& l) { l.set(".SCB", "F32", "[1]", zeros(4)); });
    row("weight of unsigned bytes", "not a matrix of I8", [](Layer& l) { l.field(".weight").dtype = "U8"; });
    row("an order of tiles", "only 0 (rows)", [](Layer& l) { l.field("weight_format").data[0] = 3; });

    folder = "gptq_v1", name = kQ;
    row("no config.json", "could be stored as", [](Layer& l) { l.config.clear(); });
    row("config.json is not JSON", "could be stored as", [](Layer& l) { l.config = "{"; });
    row("config.json with a key twice", "could be stored as",
        [](Layer& l) { l.config.replace("\"torch_dtype\"", "\"architectures\": 1, \"torch_dtype\""); });
    row("another format", "is not gptq or gptq_v2",
        [](Layer& l) { l.config.replace("\"desc_act\"", "\"checkpoint_format\": \"marlin\", \"desc_act\""); });
    row("other bits in the config", "says 5 bits",
        [](Layer& l) { l.config.replace("\"sym\"", "\"bits\": 5, \"sym\""); });
    row("another method", "says it is 'bitsandbytes'",
        [](Layer& l) { l.config.replace("\"gptq\"", "\"bitsandbytes\""); });
    row("no zero points", ".qzeros is missing", [](Layer& l) { l.drop(".qzeros"); });
    row("no scales", ".scales is missing", [](Layer& l) { l.drop(".scales"); });
    row("scales of other outputs", "do not belong together",
        [](Layer& l) { l.set(".scales", "F16", "[2,31]", zeros(124)); });
    row("zero points of 5 bits", "2, 3, 4 or 8 bits", [](Layer& l) { l.set(".qzeros", "I32", "[2,5]", zeros(40)); });
    row("scales of other groups", "do not belong together",
        [](Layer& l) { l.set(".scales", "F16", "[3,32]", zeros(192)); });
    row("group size that does not fit", "in groups of 16",
        [](Layer& l) { l.config.replace("\"group_size\": 32", "\"group_size\": 16"); });
    row("g_idx beyond the groups", "names group 2 for column 7", [](Layer& l) { l.put32(".g_idx", 7, 2); });
    row("g_idx negative", "names group -1 for column 0", [](Layer& l) { l.put32(".g_idx", 0, ~0u); });
    row("g_idx of fewer inputs", "g_idx\" is I32 [1]", [](Layer& l) { l.set(".g_idx", "I32", "[1]", zeros(4)); });
    row("no g_idx", "g_idx is missing", [](Layer& l) { l.drop(".g_idx"); });
    row("codes of bytes", "are not matrices of I32", [](Layer& l) { l.set(".qweight", "U8", "[4,32]", zeros(128)); });
    row("a weight beside it", "there is a tensor", [](Layer& l) { l.fields.push_back({kQ, "F32", "[1]", zeros(4)}); });

    folder = "awq_gemm";
    row("version gemv", "is not gemm", [](Layer& l) { l.config.replace("\"gemm\"", "\"gemv\""); });
    row("8 bits", "says 8 bits", [](Layer& l) { l.config.replace("\"bits\": 4", "\"bits\": 8"); });
    row("scales of fewer outputs", "do not belong together",
        [](Layer& l) { l.set(".scales", "F16", "[2,8]", zeros(32)); });

    folder = "mlx_modes";
    row("no config.json", "does not say its bits", [](Layer& l) { l.config.clear(); });
    row("7 bits", "which MLX does not have", [](Layer& l) { l.config.replace("\"bits\": 2", "\"bits\": 7"); });
    row("groups of 0", "which MLX does not have",
        [](Layer& l) { l.config.replace("\"group_size\": 32", "\"group_size\": 0"); });
    row("no biases", ".biases\" is missing", [](Layer& l) { l.drop(".biases"); });
    row("scales of other groups", "scales\" is BF16 [8, 1]",
        [](Layer& l) { l.set(".scales", "BF16", "[8,1]", zeros(16)); });

    folder = "hqq_linear", name = "model.layers.3.mlp.down_proj.weight"; // 4 bits, axis 1, groups of 32, 24 x 64
    row("no scale", "down_proj.scale\" is missing", [](Layer& l) { l.drop(".scale"); });
    row("no zero points", "down_proj.zero\" is missing", [](Layer& l) { l.drop(".zero"); });
    row("no packing", "down_proj.packing\" is missing", [](Layer& l) { l.drop(".packing"); });
    row("another packing", "packing is \"5bit_u8\"", [](Layer& l) { l.field(".packing").data[0] = '5'; });
    row("packing of numbers", "not the letters of a word",
        [](Layer& l) { l.set(".packing", "I32", "[7]", zeros(28)); });
    row("a packing of 65 letters", "not the letters of a word",
        [](Layer& l) { l.set(".packing", "U8", "[65]", QByteArray(65, '4')); });
    row("no compute_dtype", "compute_dtype\" is missing", [](Layer& l) { l.drop(".compute_dtype"); });
    row("another compute_dtype", "compute_dtype is \"torch.floa_16\"",
        [](Layer& l) { l.field(".compute_dtype").data[10] = '_'; });
    row("no shape", "down_proj.shape\" is missing", [](Layer& l) { l.drop(".shape"); });
    row("a shape of three", "shape\" is I64 [3]", [](Layer& l) { l.set(".shape", "I64", "[3]", zeros(24)); });
    row("a shape of nothing", "no sizes of a matrix", [](Layer& l) { l.set(".shape", "I64", "[2]", zeros(16)); });
    row("a shape that overflows", "no sizes of a matrix",
        [](Layer& l) { l.set(".shape", "I64", "[2]", QByteArray(16, '\x7f')); });
    row("a shape of other rows", "W_q\" is U8 [24, 32], not U8 [26, 32]", [](Layer& l) { l.put32(".shape", 0, 26); });
    row("axis 2", "axis is 2, neither 0 nor 1", [](Layer& l) { l.put32(".axis", 0, 2); });
    row("axis -1", "axis is -1, neither 0 nor 1", [](Layer& l) { l.put32(".axis", 0, ~0u); });
    row("the other axis", "W_q\" is U8 [24, 32], not U8 [16, 48]", [](Layer& l) { l.put32(".axis", 0, 0); });
    row("no axis", "down_proj.axis\" is missing", [](Layer& l) { l.drop(".axis"); });
    row("groups of 0", "group_size is 0", [](Layer& l) { l.put32(".group_size", 0, 0); });
    row("groups of -1", "group_size is -1", [](Layer& l) { l.put32(".group_size", 0, ~0u); });
    row("groups of 31", "group_size is 31, of which 24 x 64 are not whole groups",
        [](Layer& l) { l.put32(".group_size", 0, 31); });
    row("groups of 512, whose rows are odd", "3 rows are not packed in 4 bits",
        [](Layer& l) { l.put32(".group_size", 0, 512); });
    row("scales of other groups", "scale\" is F16 [24, 1], not F16 [48, 1]",
        [](Layer& l) { l.set(".scale", "F16", "[24,1]", zeros(48)); });
    row("zero points of another type", "zero\" is BF16 [48, 1], not F16 [48, 1]",
        [](Layer& l) { l.field(".zero").dtype = "BF16"; });
    row("codes of another type", "W_q\" is I8 [24, 32], not U8 [24, 32]",
        [](Layer& l) { l.field(".W_q").dtype = "I8"; });
    row("codes of fewer rows", "W_q\" is U8 [23, 32], not U8 [24, 32]",
        [](Layer& l) { l.set(".W_q", "U8", "[23,32]", zeros(23 * 32)); });
    row("scales that are quantized", "its scales or zero points are quantized themselves",
        [](Layer& l) { l.field(".quant_scale").data[0] = 1; });
    row("zero points that are quantized", "its scales or zero points are quantized themselves",
        [](Layer& l) { l.field(".quant_zero").data[0] = 1; });
    row("a flag of 4 bytes", "quant_zero\" is I32 [], not U8 []",
        [](Layer& l) { l.set(".quant_zero", "I32", "[]", zeros(4)); });

    folder = "modelopt_nvfp4", name = "model.layers.0.mlp.down_proj.weight";
    row("no weight", "down_proj.weight\" is missing", [](Layer& l) { l.drop(".weight"); });
    row("weight of floats", "not a matrix of U8", [](Layer& l) { l.field(".weight").dtype = "F8_E4M3"; });
    row("rows of half a block", "rows of 72 are not whole blocks of 16",
        [](Layer& l) { l.set(".weight", "U8", "[24,36]", zeros(24 * 36)); });
    row("no scales", "weight_scale\" is missing", [](Layer& l) { l.drop(".weight_scale"); });
    row("scales of other blocks", "weight_scale\" is F8_E4M3 [24, 2], not F8_E4M3 [24, 4]",
        [](Layer& l) { l.set(".weight_scale", "F8_E4M3", "[24,2]", zeros(48)); });
    row("two scales of the tensor", "not one F32", [](Layer& l) { l.set(".weight_scale_2", "F32", "[2]", zeros(8)); });
    row("a scale of the tensor in halves", "not one F32",
        [](Layer& l) { l.set(".weight_scale_2", "F16", "[]", zeros(2)); });

    folder = "fp8_blocks", name = "model.layers.0.mlp.up_proj.weight";
    row("scales of other blocks", "_scale_inv\" is F32 [1, 1]",
        [](Layer& l) { l.set("_scale_inv", "F32", "[1,1]", zeros(4)); });
    row("blocks of 0", "is not two sizes", [](Layer& l) { l.config.replace("16,", "0,"); });
    row("one block size", "is not two sizes", [](Layer& l) { l.config.replace("16,", ""); });
    row("no weight", "up_proj.weight\" is missing", [](Layer& l) { l.drop(".weight"); });
    row("weight of bfloats", "not a matrix of F8_E4M3",
        [](Layer& l) { l.set(".weight", "BF16", "[64,96]", zeros(2 * 64 * 96)); });

    folder = "gptoss_mxfp4", name = "model.layers.0.mlp.experts.down_proj";
    row("blocks of 15", "not U8 in blocks of 16",
        [](Layer& l) { l.set("_blocks", "U8", "[3,10,3,15]", zeros(3 * 10 * 3 * 15)); });
    row("scales of fewer rows", "_scales\" is U8 [3, 9, 3]",
        [](Layer& l) { l.set("_scales", "U8", "[3,9,3]", zeros(81)); });

    folder = "ct_groups", name = "model.layers.1.self_attn.o_proj.weight"; // int2 with zero points, groups of 32, 96
                                                                           // columns
    row("no weight_shape", "weight_shape\" is missing", [](Layer& l) { l.drop("weight_shape"); });
    row("weight_shape of other rows", "is not what weight_shape", [](Layer& l) { l.put32("weight_shape", 0, 15); });
    row("weight_shape negative", "is not what weight_shape", [](Layer& l) {
        l.put32("weight_shape", 0, ~0u);
        l.put32("weight_shape", 1, ~0u);
    });
    row("weight_shape of other columns", "has not the bits", [](Layer& l) { l.put32("weight_shape", 2, 500); });
    row("weight_shape of no columns", "is not what weight_shape", [](Layer& l) { l.put32("weight_shape", 2, 0); });
    row("no scales", "weight_scale is missing", [](Layer& l) { l.drop("weight_scale"); });
    row("no zero points", "weight_zero_point is missing", [](Layer& l) { l.drop("weight_zero_point"); });
    row("zero points of fewer rows", "weight_zero_point\" is I32 [1, 1]",
        [](Layer& l) { l.set("weight_zero_point", "I32", "[1,1]", zeros(4)); });
    row("scales of other rows", "do not cover", [](Layer& l) { l.set("weight_scale", "BF16", "[15,3]", zeros(90)); });
    row("scales of bytes", "not F32, F16 or BF16", [](Layer& l) { l.set("weight_scale", "I8", "[16,3]", zeros(48)); });
    row("codes of floats", "not I32 or U8", [](Layer& l) { l.field("weight_packed").dtype = "F32"; });
    name = "model.layers.1.mlp.up_proj.weight"; // int4 with g_idx
    row("g_idx beyond the groups", "names group 9 for column 3", [](Layer& l) { l.put32("weight_g_idx", 3, 9); });
    row("g_idx of fewer columns", "weight_g_idx\" is I32 [1]",
        [](Layer& l) { l.set("weight_g_idx", "I32", "[1]", zeros(4)); });
    name = "model.layers.5.self_attn.q_proj.weight"; // nvfp4
    row("no global scale", "weight_global_scale\" is missing", [](Layer& l) { l.drop("weight_global_scale"); });
    row("scales for other groups", "are not one for 16",
        [](Layer& l) { l.set("weight_scale", "F8_E4M3", "[16,1]", zeros(16)); });
    row("scales of floats", "not F8_E4M3 (nvfp4) or U8",
        [](Layer& l) { l.set("weight_scale", "F32", "[16,4]", zeros(256)); });
    name = kQ; // int8
    row("weight of floats", "has no meaning beside",
        [](Layer& l) { l.set(".weight", "BF16", "[16,64]", zeros(2048)); });
    row("weight of rank 1", "is no matrix", [](Layer& l) { l.set(".weight", "I8", "[1024]", zeros(1024)); });
    row("no weight", ".weight is missing", [](Layer& l) { l.drop(".weight"); });
}

void ConventionsRefuseTest::lies() {
    QFETCH(QByteArray, folder);
    QFETCH(QByteArray, layer);
    QFETCH(Change, change);
    QFETCH(QByteArray, says);
    Layer made = layerOf(folder.constData(), layer.constData());
    change(made);
    QTemporaryDir at;
    const auto model = openModel(write(at.path(), made).toStdString());
    QVERIFY2(model, model ? "" : model.error().message.c_str());
    QCOMPARE((*model)->tensors.size(), made.fields.size());
    for (const auto& tensor : (*model)->tensors) QVERIFY2(!tensor.derived, tensor.name.c_str());
    std::string all;
    for (const auto& warning : (*model)->warnings) all += warning + "\n";
    QVERIFY2(all.find(says.toStdString()) != std::string::npos, all.c_str());
    QVERIFY(all.find("is listed as it is stored") != std::string::npos);
}

void ConventionsRefuseTest::unchangedIsALayer() {
    QTemporaryDir at;
    for (const auto& [folder, layer] :
         {std::pair("bnb_4bit", kK), std::pair("gptq_v1", kQ), std::pair("ct_groups", kQ)}) {
        const auto model = openModel(write(at.path(), layerOf(folder, layer)).toStdString());
        QVERIFY(model);
        QCOMPARE((*model)->tensors.size(), std::size_t(1));
        QVERIFY((*model)->tensors.front().derived);
        QVERIFY((*model)->warnings.empty());
        QFile::remove(at.path() + QStringLiteral("/config.json"));
    }
}

// config.json as a pipe must not hang the opening; as a folder it must not end it.
void ConventionsRefuseTest::configThatIsNoFile() {
    for (const bool pipe : {true, false}) {
        QTemporaryDir at;
        Layer made = layerOf("gptq_v1", kQ);
        made.config.clear();
        const QString path = write(at.path(), made), config = at.path() + QStringLiteral("/config.json");
        QVERIFY(pipe ? mkfifo(qPrintable(config), 0600) == 0 : QDir().mkdir(config));
        const auto model = openModel(path.toStdString());
        QVERIFY(model);
        QCOMPARE((*model)->tensors.size(), made.fields.size());
        QCOMPARE((*model)->warnings.size(), std::size_t(2));
    }
}

void ConventionsRefuseTest::configTooLong() {
    QTemporaryDir at;
    Layer made = layerOf("gptq_v1", kQ);
    made.config += QByteArray(5 << 20, ' ');
    const auto model = openModel(write(at.path(), made).toStdString());
    QVERIFY(model);
    QCOMPARE((*model)->tensors.size(), made.fields.size());
    QVERIFY((*model)->warnings.back().find("longer than") != std::string::npos);
}

void ConventionsRefuseTest::oneBadLayerAmongGoodOnes() {
    QTemporaryDir at;
    Layer both = layerOf("bnb_4bit", kK), good = layerOf("bnb_4bit", kV);
    both.drop(".absmax");
    both.fields.insert(both.fields.end(), good.fields.begin(), good.fields.end());
    const auto model = openModel(write(at.path(), both).toStdString());
    QVERIFY(model);
    QCOMPARE((*model)->warnings.size(), std::size_t(1));
    QVERIFY((*model)->find(kV)->derived);
    QVERIFY(!(*model)->find(kK)->derived);
}

QS_TEST(ConventionsRefuseTest)
#include "conventions_refuse_test.moc"
