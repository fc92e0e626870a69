// SPDX-License-Identifier: GPL-3.0-or-later
// Importance matrices of llama.cpp: valid files, faulty files, and the column weights from both layouts.
#include "core/model/gguf/imatrix.h"
#include "core/solve/inputs.h"
#include "made_file.h"
#include "made_gguf.h"
#include "tests/support/test_program.h"

#include <cstring>

using namespace qs;

class ImatrixTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void opensUnderAnyName();
    void lies_data();
    void lies();
    void everyPrefixOfAFile();
    void weightsAreMeans();
    void expertsAreAddedUp();
    void namesOfHuggingFace();
};

namespace {

QByteArray i32(std::int32_t value) { return QByteArray(reinterpret_cast<const char*>(&value), 4); }
QByteArray floats(const std::vector<float>& values) {
    return QByteArray(reinterpret_cast<const char*>(values.data()), int(values.size() * 4));
}
QByteArray entryOf(const QByteArray& name, std::int32_t calls, const std::vector<float>& values) {
    return i32(std::int32_t(name.size())) + name + i32(calls) + i32(std::int32_t(values.size())) + floats(values);
}
QByteArray twoLayers() {
    return i32(2) + entryOf("blk.0.attn_q.weight", 4, {4, 8, 0, 2}) + entryOf("blk.0.ffn_up.weight", 2, {1, 3}) +
           i32(4) + i32(4) + "text"; // number of chunks, and the name of the text
}
TensorInfo layer(const char* name, std::vector<std::int64_t> shape) {
    TensorInfo tensor;
    tensor.name = name;
    tensor.shape = std::move(shape);
    return tensor;
}

} // namespace

void ImatrixTest::opensUnderAnyName() {
    QTemporaryDir folder;
    for (const char* name : {"imatrix.dat", "a.bin", "b"}) {
        const auto model = openModel(put(folder.path(), QString::fromLatin1(name), twoLayers()).toStdString());
        QVERIFY2(model, model ? "" : model.error().message.c_str());
        QCOMPARE((*model)->format, std::string("imatrix"));
        QCOMPARE((*model)->tensors.size(), std::size_t(4));
        const auto* sums = (*model)->find("blk.0.ffn_up.weight.in_sum2");
        QVERIFY(sums);
        QCOMPARE(sums->shape, std::vector<std::int64_t>{2});
        QCOMPARE(sums->dtype, DType::F32);
        QVERIFY((*model)->find("blk.0.ffn_up.weight.counts"));
    }
}

void ImatrixTest::lies_data() {
    QTest::addColumn<QByteArray>("bytes");
    QTest::addColumn<QString>("says");
    const auto good = entryOf("blk.0.a.weight", 1, {1, 2});
    const auto row = [](const char* name, const QByteArray& bytes, const char* says) {
        QTest::newRow(name) << bytes << QString::fromLatin1(says);
    };
    row("no entries", i32(0) + good, "0 entries");
    row("more entries than there can be", i32(1 << 30) + good, "1073741824 entries");
    row("fewer entries than are said", i32(2) + good, "ends before the length of a name");
    row("an empty name", i32(1) + i32(0) + i32(1) + i32(1) + floats({1}), "has 0 bytes");
    row("a long name", i32(1) + entryOf(QByteArray(300, 'a'), 1, {1}), "has 300 bytes");
    row("a negative length", i32(1) + i32(-5) + zeros(20), "has -5 bytes");
    row("a name past the end", i32(1) + i32(200) + "blk", "ends within a name");
    row("a name that is no text", i32(1) + entryOf("a\nb.c", 1, {1}), "is no text");
    row("a name twice", i32(2) + good + good, "twice");
    row("negative calls", i32(1) + entryOf("a.b", -1, {1}), "was called -1 times");
    row("no columns", i32(1) + entryOf("a.b", 1, {}), "has 0 columns");
    row("columns past the end", i32(1) + i32(3) + "a.b" + i32(1) + i32(1 << 30) + floats({1}), "end after the file");
}

void ImatrixTest::lies() {
    QFETCH(const QByteArray, bytes);
    QFETCH(const QString, says);
    QTemporaryDir folder;
    const auto opened = openImatrix(put(folder.path(), QStringLiteral("x.dat"), bytes).toStdString());
    QVERIFY(!opened);
    QVERIFY2(text(opened.error().message).contains(says), opened.error().message.c_str());
    QVERIFY(text(opened.error().message).contains(QLatin1String("x.dat")));
}

void ImatrixTest::everyPrefixOfAFile() {
    const QByteArray bytes = twoLayers();
    const int needed = int(bytes.size()) - 12;
    QTemporaryDir folder;
    for (int n = 1; n <= bytes.size(); ++n) {
        const auto opened = openImatrix(put(folder.path(), QStringLiteral("x.dat"), bytes.left(n)).toStdString());
        QCOMPARE(bool(opened), n >= needed);
    }
}

void ImatrixTest::weightsAreMeans() {
    QTemporaryDir folder;
    const auto model = openModel(put(folder.path(), QStringLiteral("x.dat"), twoLayers()).toStdString());
    QVERIFY(model);
    const auto weights = solve::columnWeightsOf(**model, layer("blk.0.attn_q.weight", {8, 4}));
    QVERIFY(weights && *weights);
    QCOMPARE(**weights, (std::vector<float>{1, 2, 0, 0.5f}));
    const auto missing = solve::columnWeightsOf(**model, layer("blk.1.attn_q.weight", {8, 4}));
    QVERIFY(missing && !*missing);
    const auto other = solve::columnWeightsOf(**model, layer("blk.0.attn_q.weight", {8, 5}));
    QVERIFY(!other);
    QVERIFY2(text(other.error().message).contains(QLatin1String("last axis of 5")), other.error().message.c_str());
    const auto rows = solve::inputsOf(model->get(), layer("blk.0.attn_q.weight", {8, 4}));
    QVERIFY(!rows);
    QVERIFY2(text(rows.error().message).contains(QLatin1String("importance matrix")), rows.error().message.c_str());
}

/// In GGUF, a layer of experts has a row of sums and a count for each expert.
void ImatrixTest::expertsAreAddedUp() {
    MadeGguf file = smallGguf();
    file.tensors = {{"blk.0.ffn_up_exps.weight.in_sum2", {3, 2}, 0, 0},
                    {"blk.0.ffn_up_exps.weight.counts", {1, 2}, 0, 32}};
    file.data = floats({1, 2, 3, 5, 4, 3}) + zeros(8) + floats({2, 4}) + zeros(24);
    QTemporaryDir folder;
    const auto model = openModel(put(folder.path(), QStringLiteral("imatrix.gguf"), file.bytes()).toStdString());
    QVERIFY2(model, model ? "" : model.error().message.c_str());
    const auto weights = solve::columnWeightsOf(**model, layer("blk.0.ffn_up_exps.weight", {2, 8, 3}));
    QVERIFY2(weights, weights ? "" : weights.error().message.c_str());
    QCOMPARE(**weights, (std::vector<float>{1, 1, 1}));
}

void ImatrixTest::namesOfHuggingFace() {
    QCOMPARE(ggufNameOf("model.layers.11.self_attn.o_proj.weight"), std::string("blk.11.attn_output.weight"));
    QCOMPARE(ggufNameOf("lm_head.weight"), std::string("output.weight"));
    const GgufPlace expert = ggufPlaceOf("model.layers.3.mlp.experts.17.up_proj.weight");
    QCOMPARE(expert.name, std::string("blk.3.ffn_up_exps.weight"));
    QCOMPARE(expert.expert, 17);
    QCOMPARE(ggufPlaceOf("model.layers.3.mlp.experts.down_proj").name, std::string("blk.3.ffn_down_exps.weight"));
    QCOMPARE(ggufPlaceOf("model.layers.3.mlp.experts.down_proj").expert, -1);
    QCOMPARE(ggufNameOf("model.layers.3.mlp.experts.x.up_proj.weight"), std::string());
    QCOMPARE(ggufNameOf("language_model.model.layers.3.mlp.up_proj.weight"), std::string("blk.3.ffn_up.weight"));
    for (const char* none : {"model.layers..mlp.up_proj.weight", "model.layers.x.mlp.up_proj.weight", "w",
                             "model.layers.1.mlp.up_proj.bias", "model.layers.1"})
        QCOMPARE(ggufNameOf(none), std::string());
    QTemporaryDir folder;
    const auto model = openModel(put(folder.path(), QStringLiteral("x.dat"), twoLayers()).toStdString());
    QVERIFY(model);
    const auto weights = solve::columnWeightsOf(**model, layer("model.layers.0.mlp.up_proj.weight", {8, 2}));
    QVERIFY(weights && *weights);
    QCOMPARE(**weights, (std::vector<float>{0.5f, 1.5f}));
}

QS_TEST(ImatrixTest)
#include "imatrix_test.moc"
