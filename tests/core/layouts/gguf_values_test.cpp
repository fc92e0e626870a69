// SPDX-License-Identifier: GPL-3.0-or-later
// Tensors of GGUF files as originals: their values must be those of ggml, in whole and in pieces.
#include "core/analysis/analysis.h"
#include "core/layouts/layout.h"
#include "core/model/gguf/packed_type.h"
#include "tests/core/model/made_gguf.h"
#include "tests/core/quant/made_model.h"
#include "tests/support/test_program.h"

#include <random>

using namespace qs;
using namespace qs::test;

class GgufValuesTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void equalGgmls_data();
    void equalGgmls();
    void inPieces();
    void analysedLikeTheirValues();
    void quantizedAndCopied();
    void listedTypesAreRefused();
};

namespace {

std::shared_ptr<const Model> file(const std::string& name) {
    const auto model = openModel(QS_TEST_DATA "/gguf/" + name);
    if (!model) qFatal("%s", model.error().message.c_str());
    return *model;
}

std::vector<float> loaded(const Model& model, const TensorInfo& tensor) {
    std::vector<float> values(tensor.elements);
    loadF32(*model.view(tensor), 0, values.size(), values.data());
    return values;
}

} // namespace

void GgufValuesTest::equalGgmls_data() {
    QTest::addColumn<QByteArray>("access");
    QTest::newRow("mapped") << QByteArray("map");
    QTest::newRow("read") << QByteArray("pread");
}

void GgufValuesTest::equalGgmls() {
    QFETCH(QByteArray, access);
    qputenv("QS_READ", access);
    const auto model = file("types.gguf"), values = file("types_values.safetensors");
    qunsetenv("QS_READ");
    int compared = 0;
    for (const auto& tensor : model->tensors) {
        if (!info(tensor.dtype).quantizable) continue;
        QVERIFY2(values->find(tensor.name), tensor.name.c_str());
        QCOMPARE(tensor.shape, values->find(tensor.name)->shape);
        const auto ours = loaded(*model, tensor), theirs = valuesOf<float>(*values, tensor.name);
        // Zeros may differ in sign: code 0 times a negative scale.
        for (std::size_t i = 0; i < ours.size(); ++i)
            QVERIFY2(ours[i] == theirs[i], qPrintable(QStringLiteral("%1[%2]: %3, not %4")
                                                          .arg(text(tensor.name))
                                                          .arg(i)
                                                          .arg(double(ours[i]))
                                                          .arg(double(theirs[i]))));
        compared += tensor.packed != nullptr;
    }
    QCOMPARE(compared, 40); // 20 types, each with weights and with random blocks
}

// Any range, as requested by group sizes that do not match the blocks.
void GgufValuesTest::inPieces() {
    const auto model = file("types.gguf");
    std::mt19937 engine(5);
    for (const auto& tensor : model->tensors) {
        if (!tensor.packed || !tensor.packed->decode) continue;
        const auto whole = loaded(*model, tensor);
        const auto view = model->view(tensor);
        for (int i = 0; i < 40; ++i) {
            const std::size_t begin = engine() % whole.size(), n = 1 + engine() % (whole.size() - begin);
            std::vector<float> part(n + 1, -7.0f);
            loadF32(*view, begin, n, part.data());
            QVERIFY(std::memcmp(part.data(), whole.data() + begin, 4 * n) == 0 && part[n] == -7.0f);
        }
        QVERIFY(directF32(*view) == nullptr);
    }
}

void GgufValuesTest::analysedLikeTheirValues() {
    const auto model = file("types.gguf"), values = file("types_values.safetensors");
    for (const char* name : {"weights.Q4_K", "weights.Q8_0", "weights.NVFP4", "weights.Q1_0", "plain.BF16"})
        for (const char* spec : {"nf4:block=64", "int8:axis=0", "int4:block=96", "q4_k", "ternary"}) {
            const auto a = analyseTensor(*model, *model->find(name), *parseSpec(spec), {}, Job{});
            const auto b = analyseTensor(*values, *values->find(name), *parseSpec(spec), {}, Job{});
            QVERIFY(a && b);
            QCOMPARE(int(a->status), int(b->status));
            QCOMPARE(a->sums.se, b->sums.se);
            QCOMPARE(a->bytesBefore, model->find(name)->bytes);
        }
}

void GgufValuesTest::quantizedAndCopied() {
    MadeGguf made;
    const auto all = bytesOf(QStringLiteral(QS_TEST_DATA "/gguf/types.gguf"));
    const auto types = file("types.gguf");
    const auto bytesOfTensor = [&](const char* name) {
        const auto* tensor = types->find(name);
        return all.mid(qsizetype(tensor->offset), qsizetype(tensor->bytes));
    };
    made.keys = {kv("general.architecture", String, str("llama"))};
    made.tensors = {{"w", {512, 2}, 12, 0}, {"norm", {512}, 8, 576}};
    made.data = bytesOfTensor("weights.Q4_K") + bytesOfTensor("weights.Q8_0").left(16 * 34);
    QTemporaryDir folder;
    const auto model = openModel(put(folder.path(), QStringLiteral("m.gguf"), made.bytes()).toStdString());
    QVERIFY2(model, model ? "" : model.error().message.c_str());
    const auto spec = *parseSpec("int8");
    const std::string out = folder.filePath(QStringLiteral("out.safetensors")).toStdString();
    const auto written = quantizeModel(**model, {spec, {}, "plain", out}, Job{});
    QVERIFY2(written, written ? "" : written.error().message.c_str());
    QCOMPARE(written->copiedTensors, 1u);
    const auto back = openModel(out);
    QVERIFY(back);
    QCOMPARE(valuesOf<float>(**back, "norm"), loaded(**model, *(*model)->find("norm")));
    const auto codes = quantizeTensor(*(*model)->view(*(*model)->find("w")), spec, Job{});
    QVERIFY(codes);
    QCOMPARE(valuesOf<float>(**back, "w"), materialize(*codes));
    QCOMPARE((*back)->files[0].metadata.at("general.architecture"), std::string("llama"));
    // Into a folder: the shard gets the extension .safetensors.
    const auto into =
        quantizeModel(**model, {spec, {}, "eformer", folder.filePath(QStringLiteral("hf")).toStdString()}, Job{});
    QVERIFY2(into, into ? "" : into.error().message.c_str());
    QVERIFY(QFile::exists(folder.filePath(QStringLiteral("hf/m.safetensors"))));
}

void GgufValuesTest::listedTypesAreRefused() {
    const auto model = file("types.gguf");
    const auto* tensor = model->find("listed.IQ2_XXS");
    const auto row = analyseTensor(*model, *tensor, *parseSpec("nf4"), {}, Job{});
    QVERIFY(row && row->status == Status::Refused);
    QVERIFY(text(row->reason).contains(QStringLiteral("is IQ2_XXS, which this program lists but does not decode")));
    QTemporaryDir folder;
    const auto written = quantizeModel(
        *model, {*parseSpec("int8"), {}, "plain", folder.filePath(QStringLiteral("o.safetensors")).toStdString()},
        Job{});
    QVERIFY(!written && text(written.error().message).contains(QStringLiteral("cannot be written to safetensors")));
    QCOMPARE(namesIn(folder.path()), QStringList());
}

QS_TEST(GgufValuesTest)
#include "gguf_values_test.moc"
