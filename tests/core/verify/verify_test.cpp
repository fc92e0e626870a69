// SPDX-License-Identifier: GPL-3.0-or-later
// Exports against their originals: our own in every layout, those of other programs, a flipped bit, claims that are wrong.
#include "core/layouts/certificate_path.h"
#include "core/layouts/serve.h"
#include "core/model/file_format.h"
#include "core/verify/candidates.h"
#include "core/verify/verify.h"
#include "tests/core/export/made_export.h"
#include "tests/core/model/made_file.h"
#include "tests/core/model/made_gguf.h"
#include "tests/support/test_program.h"

#include <QDir>
#include <QFile>
#include <QtTest>
#include <fmt/format.h>

using namespace qs;
using namespace qs::test;

namespace {

constexpr const char* kSample = "resources/samples/tiny-llama";

/// Tensors of the sample whose names and shapes a checkpoint of another program has: it was made of their first rows and
/// columns.
std::shared_ptr<const Model> cutLike(const QTemporaryDir& folder, const Model& exported) {
    const auto sample = openModel(kSample);
    if (!sample) qFatal("%s", sample.error().message.c_str());
    std::vector<TensorToWrite> tensors;
    for (const TensorInfo& tensor : exported.tensors) {
        const TensorInfo* whole = (*sample)->find(tensor.name);
        if (!whole || whole->shape.size() != tensor.shape.size()) continue;
        const auto all = valuesOf<std::uint16_t>(**sample, tensor.name);
        const std::int64_t columns = tensor.shape.back(), stride = whole->shape.back();
        const std::int64_t rows = tensor.shape.size() == 1 ? 1 : tensor.shape[0];
        if (columns > stride || (tensor.shape.size() == 2 && rows > whole->shape[0])) continue;
        std::vector<std::uint16_t> part;
        for (std::int64_t r = 0; r < rows; ++r)
            part.insert(part.end(), all.begin() + r * stride, all.begin() + r * stride + columns);
        tensors.push_back(made(tensor.name, DType::BF16, tensor.shape, part));
    }
    return opened(folder, std::move(tensors), "original.safetensors");
}

Verification verified(std::shared_ptr<const Model> original, const std::string& path) {
    auto exported = openModel(path);
    if (!exported) qFatal("%s", exported.error().message.c_str());
    auto found = verifyExport({std::move(original), *exported, path}, Job{});
    if (!found) qFatal("%s", found.error().message.c_str());
    return std::move(*found);
}

constexpr const char* kTensor = "model.layers.0.self_attn.v_proj.weight";

std::shared_ptr<const Model> smallModel(const QTemporaryDir& folder) {
    return opened(folder, {made(kTensor, DType::F32, {64, 256}, wavy(64 * 256)),
                           made("model.layers.1.self_attn.v_proj.weight", DType::F32, {96, 256}, wavy(96 * 256)),
                           made("model.norm.weight", DType::F32, {16}, wavy(16))});
}

/// The same tensors in a GGUF file, which the gguf layout takes alone.
std::shared_ptr<const Model> smallGgufModel(const QTemporaryDir& folder) {
    const auto from = smallModel(folder);
    MadeGguf file;
    file.keys = {kv("general.architecture", Kind::String, str("llama"))};
    for (const TensorInfo& tensor : from->tensors) {
        MadeTensor one{QByteArray::fromStdString(tensor.name), {}, 0, std::uint64_t(file.data.size())};
        for (std::size_t axis = tensor.shape.size(); axis-- > 0;) one.dims.push_back(tensor.shape[axis]);
        file.tensors.push_back(one);
        const auto values = valuesOf<float>(*from, tensor.name);
        file.data.append(reinterpret_cast<const char*>(values.data()), int(values.size() * sizeof(float)));
    }
    QFile out(folder.filePath(QStringLiteral("in.gguf")));
    if (!out.open(QIODevice::WriteOnly) || out.write(file.bytes()) <= 0) qFatal("no file");
    out.close();
    auto model = openModel(out.fileName().toStdString());
    if (!model) qFatal("%s", model.error().message.c_str());
    return *model;
}

const VerifiedTensor* rowOf(const Verification& found, const std::string& tensor) {
    for (const VerifiedTensor& row : found.tensors)
        if (row.tensor == tensor) return &row;
    return nullptr;
}

std::string told(const Verification& found) {
    std::string text = verificationText(found);
    for (const VerifiedTensor& row : found.tensors)
        text +=
            fmt::format("\n{} as {}: {} {} {}", row.tensor, row.storedAs, row.spec, derivesId(row.derives), row.reason);
    for (const Claim& claim : found.claims)
        if (!claim.holds) text += fmt::format("\n{} says {}, found {}", claim.who, claim.says, claim.found);
    return text;
}

/// Changes a byte at a distance from the end of a file.
void flip(const QString& path, qint64 fromEnd) {
    QFile file(path);
    QVERIFY(file.exists() && file.open(QIODevice::ReadWrite));
    QVERIFY(file.seek(file.size() - fromEnd));
    char byte = 0;
    QVERIFY(file.getChar(&byte));
    QVERIFY(file.seek(file.size() - fromEnd));
    file.putChar(char(byte ^ 0x20));
}

} // namespace

class TestVerify : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void everyLayout_data();
    void everyLayout();
    void claimsOfEveryLayout_data();
    void claimsOfEveryLayout();
    void otherPrograms_data();
    void otherPrograms();
    void aFlippedBit();
    void aWrongClaim();
    void missingAndAdded();
    void tensorsThatCannotBeRead();
    void signsOfZeros();
    void shapesWithoutValues();
    void ordersOfGateAndUp_data();
    void ordersOfGateAndUp();
    void limits();
};

void TestVerify::everyLayout_data() {
    QTest::addColumn<QString>("layout");
    QTest::addColumn<QString>("spec");
    QTest::addColumn<QString>("output");
    const std::tuple<const char*, const char*, const char*> rows[] = {
        {"eformer", "nf4:block=32", "x.safetensors"},
        {"eformer", "int8", "x.safetensors"},
        {"eformer", "ternary:scale=channel", "x.safetensors"},
        {"native", "int4:block=32:sym=no", "x.safetensors"},
        {"native", "codebook:block=32", "x.safetensors"},
        {"plain", "nf4:block=32", "x.safetensors"},
        {"plain", "f16", "x.safetensors"},
        {"bnb", "nf4:dialect=bnb", "folder"},
        {"bnb", "fp4:dialect=bnb:scaletype=u8dq", "folder"},
        {"llm-int8", "int8:dialect=bnb", "folder"},
        {"compressed-tensors", "int4:dialect=ct:block=32", "folder"},
        {"compressed-tensors", "fp8_e4m3:scale=channel", "folder"},
        {"compressed-tensors", "nvfp4:dialect=ct", "folder"},
        {"gptq", "int4:dialect=ct:block=32:scaletype=f16", "folder"},
        {"gptq", "int8:dialect=ct:block=32:scaletype=f16:sym=no", "folder"},
        {"mlx", "int4:dialect=mlx:block=32", "folder"},
        {"gguf", "q4_0", "x.gguf"},
        {"gguf", "q6_k", "x.gguf"},
        {"npz", "nf4:block=32", "x.npz"},
    };
    for (const auto& [layout, spec, output] : rows)
        QTest::addRow("%s %s", layout, spec)
            << QString::fromLatin1(layout) << QString::fromLatin1(spec) << QString::fromLatin1(output);
}

void TestVerify::everyLayout() {
    QFETCH(QString, layout);
    QFETCH(QString, spec);
    QFETCH(QString, output);
    QTemporaryDir folder;
    const auto model = layout == QStringLiteral("gguf") ? smallGgufModel(folder) : smallModel(folder);
    QuantizeRequest request{*parseSpec(spec.toStdString()), "v_proj", layout.toStdString(),
                            folder.filePath(output).toStdString()};
    const bool hasCertificate = spec.contains(QStringLiteral("nf4"));
    const auto exported = exportModel(*model, request, Job{}, hasCertificate ? Beside::Certificate : Beside::Nothing);
    QVERIFY2(exported, exported ? "" : exported.error().sentence().c_str());
    // A folder has a certificate always. Without it, what is stored must say how.
    if (const std::string beside = certificateOf(request.output); !hasCertificate && !beside.empty())
        QVERIFY(QFile::remove(QString::fromStdString(beside)));
    const Verification found = verified(model, request.output);
    QCOMPARE(found.tensors.size(), std::size_t(3));
    QCOMPARE(bool(found.certificate), hasCertificate);
    // What plain and npz hold is what the spec decodes to: floats, which do not say which spec that was.
    const bool holdsCodes = layout != QStringLiteral("plain") && layout != QStringLiteral("npz");
    const bool isKnown = holdsCodes || hasCertificate || spec == QStringLiteral("f16");
    if (isKnown) {
        QVERIFY2(found.count(Derives::Exact) == 3, told(found).c_str());
        QVERIFY2(found.falseClaims() == 0, told(found).c_str());
    }
    const VerifiedTensor* row = rowOf(found, kTensor);
    QVERIFY(row && row->nmse && *row->nmse > 0 && *row->nmse < 0.5 && row->bpw());
    QCOMPARE(rowOf(found, "model.norm.weight")->spec, std::string("keep"));
    if (hasCertificate) QVERIFY(found.certificate && found.certificate->holds());
    std::uint64_t bytes = 0;
    const auto proofs = *exported->certificate.proof.tensors.all();
    for (const TensorProof& proof : proofs)
        if (!proof.spec.empty()) bytes += proof.bytesWritten;
    QCOMPARE(found.quantizedBytes, holdsCodes ? bytes : 0); // true bits per weight are those of the proof
}

/// Every layout with the first of some specs that it takes, from safetensors and from GGUF with quantized blocks, whose
/// metadata says how that file stores its tensors.
void TestVerify::claimsOfEveryLayout_data() {
    QTest::addColumn<QString>("layout");
    QTest::addColumn<bool>("fromGguf");
    for (const Layout& layout : layouts())
        for (const bool fromGguf : {false, true})
            QTest::addRow("%s from %s", layout.id, fromGguf ? "gguf" : "safetensors")
                << QString::fromLatin1(layout.id) << fromGguf;
}

void TestVerify::claimsOfEveryLayout() {
    QFETCH(QString, layout);
    QFETCH(bool, fromGguf);
    QTemporaryDir folder, made;
    std::shared_ptr<const Model> model = fromGguf ? smallGgufModel(folder) : smallModel(folder);
    if (fromGguf) { // what llama-quantize would have made of it
        QuantizeRequest q4{*parseSpec("q4_1"), "v_proj", "gguf",
                           folder.filePath(QStringLiteral("q4.gguf")).toStdString()};
        QVERIFY(exportModel(*model, q4, Job{}, Beside::Nothing));
        model = *openModel(q4.output);
        QVERIFY(metadataOf(*model).contains("general.file_type"));
    }
    const Layout& wanted = *findLayout(layout.toStdString());
    const std::array<std::int64_t, 2> shape = {64, 256};
    std::optional<QuantSpec> spec;
    for (const char* text : {"q8_0", "int8:dialect=bnb", "nf4:dialect=bnb", "int4:dialect=ct:block=32:scaletype=f16",
                             "int4:dialect=mlx:block=32", "nf4:block=32", "int8"})
        if (auto parsed = parseSpec(text); !spec && parsed && wanted.accepts(*parsed, shape)) spec = *parsed;
    QVERIFY(spec);
    const QString name = wanted.fileEnding                  ? QStringLiteral("out") + QLatin1String(wanted.fileEnding)
                         : layout == QStringLiteral("gguf") ? QStringLiteral("out.gguf")
                                                            : QStringLiteral("out");
    const QuantizeRequest request{*spec, "v_proj", layout.toStdString(), made.filePath(name).toStdString()};
    const auto exported = exportModel(*model, request, Job{}, Beside::Certificate);
    if (!exported) { // names and rows of a GGUF file are those of its own programs, and the other way round
        const bool isForeign = wanted.config != nullptr || layout == QStringLiteral("gguf");
        QVERIFY2(isForeign && fromGguf != (layout == QStringLiteral("gguf")), exported.error().sentence().c_str());
        return;
    }
    const Verification found = verified(model, request.output);
    QVERIFY2(found.falseClaims() == 0 && !found.claims.empty(), told(found).c_str());
}

void TestVerify::otherPrograms_data() {
    QTest::addColumn<QString>("checkpoint");
    QTest::addColumn<int>("exact"); ///< quantized tensors that derive exactly
    QTest::newRow("bitsandbytes 4-bit") << QStringLiteral("bnb_4bit") << 3;
    QTest::newRow("LLM.int8") << QStringLiteral("bnb_int8") << 2;
    // All that it computed in f32, or with powers of two. Of the others it rounds x / scale to 16 bits before it rounds to
    // a code, which no spec does.
    QTest::newRow("compressed-tensors") << QStringLiteral("ct_groups") << 7;
    // Its affine mode in all widths, and mxfp8.
    QTest::newRow("MLX") << QStringLiteral("mlx_modes") << 7;
}

void TestVerify::otherPrograms() {
    QFETCH(QString, checkpoint);
    QFETCH(int, exact);
    QTemporaryDir folder;
    const std::string path = (QStringLiteral(QS_TEST_DATA "/conventions/") + checkpoint).toStdString();
    const auto exported = openModel(path);
    QVERIFY(exported);
    const Verification found = verified(cutLike(folder, **exported), path);
    int is = 0;
    for (const VerifiedTensor& row : found.tensors) is += row.isQuantized && row.derives == Derives::Exact;
    QVERIFY2(is >= exact, (std::to_string(is) + " exact: " + told(found)).c_str());
    for (const VerifiedTensor& row : found.tensors)
        if (row.status == VerifyStatus::Ok && row.derives == Derives::Differs)
            QVERIFY2(!row.reason.empty() && row.differing < row.elements / 8, told(found).c_str()); // the spec is right
}

void TestVerify::aFlippedBit() {
    QTemporaryDir folder;
    const auto model = opened(folder, {made(kTensor, DType::F32, {64, 256}, wavy(64 * 256))});
    QuantizeRequest request{*parseSpec("int4:dialect=ct:block=32"), "", "compressed-tensors",
                            folder.filePath(QStringLiteral("out")).toStdString()};
    QVERIFY(exportModel(*model, request, Job{}));
    const QDir out(folder.filePath(QStringLiteral("out")));
    const QStringList files = out.entryList({QStringLiteral("*.safetensors")});
    QCOMPARE(files.size(), 1);
    flip(out.filePath(files.front()), 5000);
    const Verification found = verified(model, request.output);
    const VerifiedTensor& row = found.tensors.front();
    QVERIFY2(row.derives == Derives::Differs, told(found).c_str());
    QVERIFY2(row.differing >= 1 && row.differing <= 32, told(found).c_str()); // a code, or a scale of 32
    QVERIFY2(row.spec.starts_with("int4:"), row.spec.c_str());
    QVERIFY(found.certificate && !found.certificate->holds());
    QVERIFY(found.falseClaims() >= 2); // the hash, and the spec of the tensor
    const auto limit = parseLimits({"differs"}, verifyLimits());
    QVERIFY(limit && !brokenLimit(found, *limit).empty());
}

void TestVerify::aWrongClaim() {
    QTemporaryDir folder;
    const auto model = opened(folder, {made(kTensor, DType::F32, {64, 256}, wavy(64 * 256))});
    QuantizeRequest request{*parseSpec("nf4:dialect=bnb"), "", "bnb",
                            folder.filePath(QStringLiteral("out")).toStdString()};
    QVERIFY(exportModel(*model, request, Job{}, Beside::Nothing));
    QFile config(folder.filePath(QStringLiteral("out/config.json")));
    if (!config.exists()) {
        QVERIFY(config.open(QIODevice::WriteOnly));
        config.write(
            R"({"quantization_config":{"quant_method":"bitsandbytes","load_in_4bit":true,"bnb_4bit_quant_type":"fp4","bnb_4bit_use_double_quant":true}})");
    } else {
        QVERIFY(config.open(QIODevice::ReadWrite));
        const QByteArray text =
            config.readAll()
                .replace("nf4", "fp4")
                .replace("\"bnb_4bit_use_double_quant\": false", "\"bnb_4bit_use_double_quant\": true")
                .replace("\"bnb_4bit_use_double_quant\":false", "\"bnb_4bit_use_double_quant\":true");
        config.resize(0), config.seek(0);
        config.write(text);
    }
    config.close();
    const Verification found = verified(model, request.output);
    QVERIFY2(found.falseClaims() == 3, told(found).c_str()); // both words, and the hash of the file
    QVERIFY(found.certificate && !found.certificate->holds());
    QCOMPARE(found.count(Derives::Exact), std::size_t(1)); // the weights are as good as ever
}

void TestVerify::missingAndAdded() {
    QTemporaryDir folder;
    const auto model = opened(folder, {made("a.weight", DType::F32, {64, 256}, wavy(64 * 256)),
                                       made("b.weight", DType::F32, {7, 3}, wavy(21))});
    const auto other = opened(
        folder, {made("a.weight", DType::F32, {64, 256}, wavy(64 * 256)), made("c.bias", DType::F32, {5}, wavy(5))},
        "other.safetensors");
    const Verification found = verified(model, other->path);
    QCOMPARE(found.count(VerifyStatus::Missing), std::size_t(1));
    QCOMPARE(found.count(VerifyStatus::Added), std::size_t(1));
    QCOMPARE(rowOf(found, "a.weight")->derives, Derives::Exact);
    const auto limit = parseLimits({"missing"}, verifyLimits());
    QVERIFY(limit && brokenLimit(found, *limit).find("1 tensors") != std::string::npos);
}

// A copy has the original's bits; a decoded zero has the sign that the reader's arithmetic gives it.
void TestVerify::signsOfZeros() {
    QTemporaryDir folder;
    auto values = wavy(64 * 256), other = values;
    values[3] = other[3] = -0.0f; // an integer code has no sign
    auto bias = wavy(9);
    bias[0] = 0.0f;
    const auto model =
        opened(folder, {made("a.weight", DType::F32, {64, 256}, values), made("c.bias", DType::F32, {9}, bias)},
               "a.safetensors");
    const QString path = folder.filePath(QStringLiteral("int8.safetensors"));
    QVERIFY(quantizeModel(*model, request("int8:block=64", "native", path), {}));
    const Verification exact = verified(model, path.toStdString());
    QVERIFY(rowOf(exact, "a.weight")->derives == Derives::Exact && exact.zeroSigns() == 0);
    bias[0] = -0.0f;
    const auto copy =
        opened(folder, {made("a.weight", DType::F32, {64, 256}, other), made("c.bias", DType::F32, {9}, bias)},
               "b.safetensors");
    const Verification found = verified(model, copy->path);
    QVERIFY(rowOf(found, "c.bias")->derives == Derives::Exact && rowOf(found, "c.bias")->zeroSigns == 1);
    QVERIFY(rowOf(found, "c.bias")->reason.find("1 zeros, which have another sign") != std::string::npos);
    QVERIFY(verificationText(found).find("1 zeros of copies have another sign.") != std::string::npos);
}

void TestVerify::shapesWithoutValues() {
    QTemporaryDir folder;
    const auto made0 = [&](std::int64_t columns, const char* name) {
        return opened(folder, {made("a.weight", DType::F32, {0, columns}, std::vector<float>())}, name);
    };
    const Verification found = verified(made0(64, "a.safetensors"), made0(32, "b.safetensors")->path);
    QCOMPARE(found.count(VerifyStatus::Refused), std::size_t(1));
    QVERIFY(found.count(Derives::Exact) == 0);
}

// Such a tensor is listed with no elements.
void TestVerify::tensorsThatCannotBeRead() {
    QTemporaryDir folder;
    const auto model = opened(folder, {made("norm.weight", DType::F32, {8}, wavy(8))});
    const QString path = folder.filePath(QStringLiteral("other.safetensors"));
    put(path, madeFile("{" + entry("norm.weight", "F32", "[0]", "[0,32]") + "}", zeros(32)));
    const Verification found = verified(model, path.toStdString());
    QCOMPARE(found.tensors.front().bytes, std::uint64_t(0));
    QVERIFY(found.count(VerifyStatus::Ok) == 0);
}

void TestVerify::ordersOfGateAndUp_data() {
    QTest::addColumn<bool>("columns"); ///< of the original are the outputs
    QTest::addColumn<bool>("turns");   ///< of the original: gate and up are in turns
    QTest::addColumn<bool>("apart");   ///< the export has two tensors
    QTest::addColumn<QByteArray>("reason");
    QTest::newRow("in turns") << false << true << false << QByteArray("values are not those of f32");
    QTest::newRow("in turns, transposed")
        << true << true << false << QByteArray("the export holds it transposed, so its groups are others");
    QTest::newRow("apart") << false << false << true << QByteArray("the original holds it as a part of a fused tensor");
}

/// An export that is not equal to its original, which has gate and up in one tensor.
void TestVerify::ordersOfGateAndUp() {
    QFETCH(bool, columns);
    QFETCH(bool, turns);
    QFETCH(bool, apart);
    QFETCH(QByteArray, reason);
    constexpr std::int64_t kRows = 48, kColumns = 64; // of the gate
    const auto values = normal(2 * kRows * kColumns, 7);
    std::vector<float> original(values.size()), rounded;
    for (std::int64_t row = 0; row < 2 * kRows; ++row)
        for (std::int64_t c = 0; c < kColumns; ++c) {
            const std::int64_t place = turns ? row % kRows * 2 + row / kRows : row;
            original[std::size_t(columns ? c * 2 * kRows + place : place * kColumns + c)] =
                values[std::size_t(row * kColumns + c)];
        }
    for (const float value : values) rounded.push_back(std::round(value * 4096) / 4096);
    const auto half = rounded.begin() + kRows * kColumns;
    const std::string mlp = "model.layers.0.mlp.";
    using Shape = std::vector<std::int64_t>;
    QTemporaryDir folder;
    const auto model =
        opened(folder, {made(mlp + "gate_up_proj.weight", DType::F32,
                             columns ? Shape{kColumns, 2 * kRows} : Shape{2 * kRows, kColumns}, original)});
    std::vector<TensorToWrite> parts;
    if (apart) {
        parts.push_back(
            made(mlp + "gate_proj.weight", DType::F32, {kRows, kColumns}, std::vector(rounded.begin(), half)));
        parts.push_back(made(mlp + "up_proj.weight", DType::F32, {kRows, kColumns}, std::vector(half, rounded.end())));
    } else {
        parts.push_back(made(mlp + "gate_up_proj.weight", DType::F32, {2 * kRows, kColumns}, rounded));
    }
    const Verification found = verified(model, opened(folder, std::move(parts), "other.safetensors")->path);
    QVERIFY2(found.tensors.size() == (apart ? 2u : 1u), told(found).c_str());
    for (const VerifiedTensor& row : found.tensors)
        QVERIFY2(row.reason.find(reason.toStdString()) != std::string::npos && row.nmse && *row.nmse < 0.01,
                 told(found).c_str());
}

void TestVerify::limits() {
    for (const char* good : {"differs", "nmse>0.01", "bpw>5", "unknown>3", "claims"})
        QVERIFY2(parseLimit(good, verifyLimits()), good);
    for (const char* bad : {"", "nmse", "nmse>", "nmse>x", "nmse>-1", "nmse>nan", "other", "bpw=5", "differs>1x"}) {
        const auto limit = parseLimit(bad, verifyLimits());
        QVERIFY2(!limit, bad);
        QVERIFY(!limit.error().message.empty());
    }
    Verification found;
    VerifiedTensor row;
    row.nmse = 0.02, row.derives = Derives::Exact;
    found.tensors.push_back(row);
    const auto broken = [&](const char* text) {
        return !brokenLimit(found, *parseLimits({text}, verifyLimits())).empty();
    };
    QVERIFY(broken("nmse>0.01") && !broken("nmse>0.02") && !broken("differs"));
    QVERIFY(!broken("bpw>5")); // not measured is no number
}

QS_TEST(TestVerify)
#include "verify_test.moc"
