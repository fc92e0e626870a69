// SPDX-License-Identifier: GPL-3.0-or-later
// The native layout: bytes computed by hand, rows shared by many threads, and faulty metadata.
#include "core/layouts/layout.h"
#include "core/layouts/serve.h"
#include "core/layouts/stored.h"
#include "core/model/mapped_file.h"
#include "core/quant/spec/calibration.h"
#include "core/quant/spec/dialect.h"
#include "tests/core/quant/made_model.h"
#include "tests/support/test_program.h"
#include "tests/support/thinned.h"

#include <cmath>
#include <cstring>

using namespace qs;
using namespace qs::test;

namespace {

std::shared_ptr<const Model> written(const QTemporaryDir& folder, const Model& model, const std::string& spec) {
    const QuantizeRequest request{*parseSpec(spec), "^x$", "native",
                                  folder.filePath(QStringLiteral("out.safetensors")).toStdString()};
    const auto done = quantizeModel(model, request, Job{});
    if (!done) qFatal("%s", done.error().message.c_str());
    return *openModel(request.output);
}

} // namespace

class NativeTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void bytesByHand_data();
    void bytesByHand();
    void longRows_data();
    void longRows();
    void everySpec();
    void served();
    void lies_data();
    void lies();
};

void NativeTest::bytesByHand_data() {
    QTest::addColumn<QString>("spec");
    QTest::addColumn<QByteArray>("bytes");
    // The codes of 7 -7 3 0 -1 1 in two rows of three, with scale 1 if the format has one.
    QTest::newRow("int4") << "int4:scale=tensor" << QByteArray::fromHex("0e0a6708");      // 14 0 | 10, 7 6 | 8
    QTest::newRow("int8") << "int8:scale=tensor" << QByteArray::fromHex("fe00b57f6d91");  // +127 of 7/127
    QTest::newRow("fp8") << "fp8_e4m3:scale=none" << QByteArray::fromHex("4ece4400b838"); // as ml_dtypes casts
    QTest::newRow("binary") << "binary" << QByteArray::fromHex("0505");                   // + - +, + - +
    QTest::newRow("ternary") << "ternary:dialect=bitnet" << QByteArray::fromHex("140d");  // 2 + 0 + 2 * 9, 1 + 3 + 9
    // 3-bit codes of 3 -3 1 0 0 0: 6, 0, 4 = 0x106; 3, 3, 3 = 0xdb.
    QTest::newRow("int3") << "int3:scale=tensor" << QByteArray::fromHex("0601db00");
}

void NativeTest::bytesByHand() {
    QFETCH(QString, spec);
    QFETCH(QByteArray, bytes);
    const QTemporaryDir folder;
    const auto model =
        opened(folder, {made("x", DType::F32, {2, 3}, std::vector<float>{7, -7, 3, 0, -1, 1})}, "in.safetensors");
    const auto out = written(folder, *model, spec.toStdString());
    const auto codes = valuesOf<std::uint8_t>(*out, "x.codes");
    QCOMPARE(QByteArray(reinterpret_cast<const char*>(codes.data()), qsizetype(codes.size())).toHex(), bytes.toHex());
}

void NativeTest::longRows_data() {
    QTest::addColumn<QString>("spec");
    std::size_t turn = 0;
    for (const char* spec : {"int3:block=7",
                             "int5:block=64",
                             "int7:block=3",
                             "int6:scale=tensor",
                             "int2:scale=channel",
                             "ternary",
                             "ternary:scale=block:block=7",
                             "binary:scale=block:block=9",
                             "fp8_e5m2:axis=0",
                             "nf4:block=6",
                             "int4:sym=no",
                             "int8:sym=no:block=7:scaletype=f16",
                             "int3:scale=channel:sym=no",
                             "mxfp4",
                             "mxfp8",
                             "nvfp4",
                             "int4:block=16:scaletype=e4m3",
                             "int8:scaletype=po2:scale=tensor",
                             "int4:dialect=qwix",
                             "int3:dialect=aqt_halves",
                             "int5:axis=0:sym=no:calib=mse",
                             "fp8_e4m3:tile=1x13",
                             "int4:tile=0x1,1x13:sym=no",
                             "int4:sparse=1/1:round=stochastic,3",
                             "nvfp4:scaletype=ue4m3",
                             "nf4:dialect=bnb",
                             "fp4:dialect=bnb:block=32:scaletype=u8dq",
                             "mxfp4:tile=0x4",
                             "int8:axis=out",
                             "int5:dialect=mlx:block=32",
                             "nf4:block=6:flat=yes",
                             "ternary:scale=block:block=7:flat=yes"})
        if (qs::test::taken(turn++)) QTest::newRow(spec) << QString::fromLatin1(spec);
}

/// Here ranges end inside bytes. The values must survive, and the file has the size that `analyze` reports.
void NativeTest::longRows() {
    QFETCH(QString, spec);
    const auto parsed = *parseSpec(spec.toStdString());
    for (const auto& shape : {std::vector<std::int64_t>{3, 100'003}, {5000, 13}, {4, 100'100}}) {
        if (!scaleGrid(parsed, shape)) continue; // the tile does not divide this shape
        std::vector<float> x(std::size_t(shape[0] * shape[1]));
        for (std::size_t i = 0; i < x.size(); ++i) x[i] = float(std::sin(double(i) * 1.7)) * float(1 + i % 13);
        const QTemporaryDir folder;
        const auto model = opened(folder, {made("x", DType::F32, shape, x)});
        const auto out = written(folder, *model, spec.toStdString());
        const std::string path = folder.filePath(QStringLiteral("back.safetensors")).toStdString();
        QVERIFY(dequantizeModel(*out, {}, path, Job{}));
        const auto expected = materialize(*quantizeTensor(*model->view(*model->find("x")), parsed, Job{}));
        QVERIFY(valuesOf<float>(**openModel(path), "x") == expected);
        if (std::string_view(defaultLayout(parsed).id) != "native") continue;
        std::uint64_t bytes = 0;
        for (const auto& tensor : out->tensors) bytes += tensor.bytes;
        QCOMPARE(bytes, storedSize(parsed, shape, DType::F32)->total());
    }
}

namespace {

/// Specs of a format with one option each. Options that the format does not have are left out.
std::vector<std::string> specsOf(const FormatTraits& format) {
    std::vector<std::string> options = {"",
                                        ":block=6",
                                        ":block=32",
                                        ":block=200",
                                        ":scale=none",
                                        ":scale=tensor",
                                        ":scale=channel",
                                        ":scale=block",
                                        ":axis=0",
                                        ":axis=0,1",
                                        ":axis=out",
                                        ":block=16:flat=yes",
                                        ":block=6:flat=yes:sym=no",
                                        ":tile=0x3,1x4",
                                        ":tile=0x4",
                                        ":tile=1x4",
                                        ":sym=no",
                                        ":sparse=2/4",
                                        ":decode=poly",
                                        ":nan=skip",
                                        ":sym=no:axis=0",
                                        ":sym=no:tile=0x3,1x4",
                                        ":round=stochastic,3",
                                        ":compute=input",
                                        ":scale=tensor:sym=no",
                                        ":axis=0:sparse=2/4:round=stochastic,1",
                                        ":scale=tensor:dialect=maxtext:calib=fixed,1,9"};
    for (const auto* calibration : calibrationRows()) {
        std::string text = std::string(":calib=") + calibration->id;
        for (const double argument : exampleArguments(calibration->id, format.kind == FormatKind::Sign))
            text += "," + std::to_string(argument);
        options.insert(options.end(), {text, text + ":sym=no", text + ":scale=tensor"});
    }
    for (const auto type : scaleTypeIds(format))
        for (const char* scale : {"", ":axis=0", ":dialect=bnb"})
            options.push_back(":scaletype=" + std::string(type) + scale);
    for (const auto dialect : dialectIds(format))
        for (const char* more : {"", ":sym=no", ":scale=tensor", ":block=32"})
            options.push_back(":dialect=" + std::string(dialect) + more);
    for (const auto bits : words(format.bitWidths)) options.push_back(":bits=" + std::string(bits));
    std::vector<std::string> specs;
    for (const std::string& option : options)
        if (const auto spec = parseSpec(format.id + option)) specs.push_back(format.id + option);
    return specs;
}

} // namespace

/// For every format with every option, the values from a file must equal those in memory bit for bit.
void NativeTest::everySpec() {
    const std::vector<std::vector<std::int64_t>> shapes = {{12, 512}, {12, 76}, {3, 4, 20}, {256}};
    // A folder in memory, if possible: the files need not survive, and a disk would be slow.
    const QString memory = QStringLiteral("/dev/shm");
    const QTemporaryDir folder((QFileInfo(memory).isWritable() ? memory : QDir::tempPath()) +
                               QStringLiteral("/native_test-XXXXXX"));
    std::vector<TensorToWrite> tensors;
    for (std::size_t t = 0; t < shapes.size(); ++t) {
        std::size_t n = 1;
        for (const std::int64_t dim : shapes[t]) n *= std::size_t(dim);
        std::vector<float> x(n);
        for (std::size_t i = 0; i < n; ++i) x[i] = float(std::sin(double(i) * 1.7)) * float(1 + i % 13);
        tensors.push_back(made("t" + std::to_string(t), DType::F32, shapes[t], x));
    }
    const auto model = opened(folder, tensors);
    std::size_t turn = 0;
    for (const FormatTraits& format : formats()) {
        if (format.kind == FormatKind::Identity) continue;
        int written = 0;
        for (const std::string& text : specsOf(format)) {
            const QuantSpec spec = *parseSpec(text);
            std::string taken; // only shapes that the tile divides or that are made of whole blocks
            for (const TensorInfo& tensor : model->tensors)
                if (scaleGrid(spec, tensor.shape)) taken += (taken.empty() ? "" : "|") + tensor.name;
            if (taken.empty()) continue;
            ++written;
            if (!qs::test::taken(turn++)) continue;
            const std::string path = folder.filePath(QStringLiteral("out.safetensors")).toStdString();
            const auto done = quantizeModel(*model, {spec, "^(" + taken + ")$", "native", path}, Job{});
            QVERIFY2(done.has_value(), done ? "" : (text + ": " + done.error().message).c_str());
            const auto out = *openModel(path);
            for (const auto& [key, metadata] : out->files.front().metadata) {
                if (!key.starts_with(kStoredPrefix)) continue;
                const auto stored = parseStored(key, metadata);
                QVERIFY2(stored.has_value(), stored ? "" : stored.error().message.c_str());
                const auto decoded = decodeStored(*out, *stored, {});
                QVERIFY2(decoded.has_value(), decoded ? "" : decoded.error().message.c_str());
                std::vector<std::byte> values;
                QVERIFY(decoded->produce([&](std::span<const std::byte> part) -> Result<void> {
                    values.insert(values.end(), part.begin(), part.end());
                    return {};
                }));
                const auto view = *model->view(*model->find(stored->name));
                const auto expected = materialize(*quantizeTensor(view, spec, Job{}));
                QVERIFY2(std::ranges::equal(values, std::as_bytes(std::span(expected))),
                         (text + " of " + stored->name).c_str());
            }
        }
        QVERIFY2(written >= (format.kind == FormatKind::Superblock ? 2 : 5), format.id);
    }
}

/// A quantized checkpoint is shown with its former tensor names. The temporary copy is deleted with the model.
void NativeTest::served() {
    const QTemporaryDir folder;
    std::vector<float> x(12 * 64);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = float(std::sin(double(i) * 1.7));
    const auto model =
        opened(folder, {made("x", DType::F32, {12, 64}, x), made("bias", DType::F32, {4}, std::vector<float>(4, 2))});
    QVERIFY(!hasStoredTensors(*model));
    QVERIFY(*servedModel(model, Job{}) == model);
    for (const char* text : {"nf4", "int8", "int4:sym=no", "mxfp4", "nf4:dialect=bnb:scaletype=u8dq"}) {
        const QuantSpec spec = *parseSpec(text);
        const auto out = written(folder, *model, text);
        QVERIFY(hasStoredTensors(*out) && !out->find("x"));
        // The parts are not quantized again: codes without their scales would be useless.
        const std::string parts = folder.filePath(QStringLiteral("parts.safetensors")).toStdString();
        const auto torn = quantizeModel(*out, {*parseSpec("bf16"), "^x[.]", "plain", parts}, Job{});
        QVERIFY(!torn && torn.error().message.find("stored quantized") != std::string::npos);
        QVERIFY(!QFileInfo::exists(QString::fromStdString(parts)));
        std::string path;
        {
            const auto served = servedModel(out, Job{});
            QVERIFY2(served.has_value(), served ? "" : served.error().message.c_str());
            const ModelFile& file = (*served)->files.front();
            path = file.mapping->path();
            QVERIFY(path != out->path);
            // Path and size are those of the opened file, because reports hash it.
            QCOMPARE((*served)->path, out->path);
            QCOMPARE(file.path, out->files.front().path);
            QCOMPARE(file.size, out->files.front().size);
            QCOMPARE((*served)->files.size(), out->files.size());
            QVERIFY(valuesOf<float>(**served, "x") ==
                    materialize(*quantizeTensor(*model->view(*model->find("x")), spec, Job{})));
            QVERIFY((*served)->find("bias") && !(*served)->find("x.codes"));
            QVERIFY(QFileInfo::exists(QString::fromStdString(path)));
        }
        QVERIFY(!QFileInfo::exists(QString::fromStdString(path)));
        QFile::remove(folder.filePath(QStringLiteral("out.safetensors")));
    }
}

void NativeTest::lies_data() {
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("says");
    QTest::newRow("layout") << R"({"spec":"int4","shape":[2,8],"dtype":"F32","layout":"other"})"
                            << "none of this version";
    QTest::newRow("not a text") << R"({"spec":"int4","shape":[2,8],"dtype":"F32","layout":7})"
                                << "none of this version";
    QTest::newRow("no field") << R"({"spec":"int4","shape":[2,8],"dtype":"F32"})"
                              << "no layout stores int4";
    QTest::newRow("shape") << R"({"spec":"int4","shape":[2,9],"dtype":"F32","layout":"native"})"
                           << "needs U8 [2, 5]";
    QTest::newRow("scales") << R"({"spec":"int4:block=4","shape":[2,8],"dtype":"F32","layout":"native"})"
                            << "needs F32 [2, 2]";
    QTest::newRow("no codes") << R"({"spec":"bf16","shape":[2,8],"dtype":"F32","layout":"native"})"
                              << "no layout stores bf16";
}

void NativeTest::lies() {
    QFETCH(QString, text);
    QFETCH(QString, says);
    const QTemporaryDir folder;
    const auto model = opened(folder, {made("x.codes", DType::U8, {2, 4}, std::vector<std::uint8_t>(8)),
                                       made("x.scale", DType::F32, {2, 1}, std::vector<float>(2))});
    const auto stored = parseStored("quantscope.x", text.toStdString());
    const auto decoded = stored ? decodeStored(*model, *stored, {}) : tl::unexpected(stored.error());
    QVERIFY(!decoded);
    QVERIFY2(QString::fromStdString(decoded.error().message).contains(says), decoded.error().message.c_str());
}

QS_TEST(NativeTest)
#include "native_test.moc"
