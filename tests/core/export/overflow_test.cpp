// SPDX-License-Identifier: GPL-3.0-or-later
// Weights so large that a scale overflows its type: a file of finite values, or none and a spec that fits.
#include "core/layouts/serve.h"
#include "core/quant/spec/dialect.h"
#include "core/quant/spec/scale_type.h"
#include "core/verify/verify.h"
#include "tests/core/export/made_export.h"
#include "tests/core/model/made_gguf.h"
#include "tests/support/test_program.h"

#include <QFile>

using namespace qs;
using namespace qs::test;

namespace {

constexpr const char* kName = "model.layers.0.mlp.down_proj.weight";
constexpr std::int64_t kRows = 32, kColumns = 256;

/// A matrix of ordinary weights and one that is not.
std::vector<float> withLarge(float large) {
    std::vector<float> values = normal(std::size_t(kRows * kColumns), 7);
    values[std::size_t(3 * kColumns + 163)] = large;
    return values;
}

std::shared_ptr<const Model> gguf(const QTemporaryDir& folder, float large) {
    const auto values = withLarge(large);
    MadeGguf file;
    file.keys = {kv("general.architecture", String, str("llama"))};
    file.tensors = {{"blk.0.ffn_down.weight", {kColumns, kRows}, 0, 0}};
    file.data = QByteArray(reinterpret_cast<const char*>(values.data()), qsizetype(values.size() * sizeof(float)));
    QFile out(folder.filePath(QStringLiteral("in.gguf")));
    if (!out.open(QIODevice::WriteOnly) || out.write(file.bytes()) < 0) qFatal("not written");
    out.close();
    const auto model = openModel(folder.filePath(QStringLiteral("in.gguf")).toStdString());
    if (!model) qFatal("%s", model.error().message.c_str());
    return *model;
}

/// Every format in every dialect, and the first dialect with every type of scales.
std::vector<QuantSpec> allSpecs() {
    std::vector<QuantSpec> out;
    const auto add = [&](const std::string& text) {
        if (auto spec = parseSpec(text)) out.push_back(std::move(*spec));
    };
    for (const FormatTraits& format : formats()) {
        for (const auto dialect : dialectIds(format)) add(std::string(format.id) + ":dialect=" + std::string(dialect));
        add(format.id);
        for (const auto type : scaleTypeIds(format)) add(std::string(format.id) + ":scaletype=" + std::string(type));
        add(std::string(format.id) + ":scale=tensor");
        add(std::string(format.id) + ":nan=skip");
    }
    return out;
}

/// How many values of a written model are NaN or Inf, as its reader decodes it.
std::size_t nonFinite(const std::string& path) {
    auto written = openModel(path);
    if (!written) qFatal("%s", written.error().message.c_str());
    const auto model = servedModel(*written, {});
    if (!model) qFatal("%s", model.error().message.c_str());
    std::size_t found = 0;
    for (const TensorInfo& tensor : (*model)->tensors) {
        if (!info(tensor.dtype).quantizable) continue;
        std::vector<float> values(tensor.elements);
        loadF32(*(*model)->view(tensor), 0, values.size(), values.data());
        for (const float value : values) found += !std::isfinite(value);
    }
    return found;
}

} // namespace

class OverflowTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void nothingNonFinite_data();
    void nothingNonFinite();
    void valuesThatOnlyRoundingPushesOut();
    void whatATypeDoesNotHoldIsCounted();
    void readersOfHalves_data();
    void readersOfHalves();
    void whatFitsIsOffered();
    void foreignNonFinitesAreDifferences();
    void noLimitTakesValuesOverZeros();
};

void OverflowTest::nothingNonFinite_data() {
    QTest::addColumn<QString>("layout");
    QTest::addColumn<float>("large");
    for (const Layout& layout : layouts())
        for (const float large : {3e6f, 1e30f, 3.3e38f}) // the largest where every spec is taken
            if (large < 1e38f || std::string_view(layout.id) == "plain" || layout.ownFields == OwnFields::Native)
                QTest::addRow("%s, %g", layout.id, double(large)) << QString::fromLatin1(layout.id) << large;
}

void OverflowTest::nothingNonFinite() {
    QFETCH(QString, layout);
    QFETCH(float, large);
    const Layout& row = *findLayout(layout.toStdString());
    const QTemporaryDir folder;
    auto model = opened(folder, {f32(kName, {kRows, kColumns}, withLarge(large))});
    if (row.takesModel && !row.takesModel(*model)) model = gguf(folder, large);
    int written = 0, refused = 0;
    for (const QuantSpec& spec : allSpecs()) {
        if (!row.accepts(spec, model->tensors.front().shape)) continue;
        const QString out =
            folder.filePath(QStringLiteral("out") + QLatin1String(row.fileEnding ? row.fileEnding : ".safetensors"));
        QFile::remove(out);
        QuantizeRequest request;
        request.spec = spec, request.layout = row.id, request.output = out.toStdString();
        const auto done = quantizeModel(*model, request, {});
        const std::string what = specText(spec) + (done ? "" : ": " + done.error().sentence());
        if (!done) {
            ++refused;
            QVERIFY2(!QFile::exists(out), what.c_str());
            QVERIFY2(what.find("overflow") != what.npos, what.c_str());
            continue;
        }
        ++written;
        const std::size_t wrong = nonFinite(out.toStdString());
        QVERIFY2(wrong == 0, (std::to_string(wrong) + " values under " + what).c_str());
    }
    QVERIFY(written + refused > 0);
}

// 65504 is the largest F16: a level times a scale may be larger.
void OverflowTest::valuesThatOnlyRoundingPushesOut() {
    const QTemporaryDir folder;
    std::vector<std::uint16_t> halves(64 * 64, 0x3c00);
    halves[7] = 0x7bff; // 65504
    const auto model = opened(folder, {made("a.weight", DType::F16, {64, 64}, halves)});
    int written = 0;
    for (const QuantSpec& spec : allSpecs())
        for (const char* layout : {"plain", "native"}) {
            if (!findLayout(layout)->accepts(spec, model->tensors.front().shape)) continue;
            const QString out = folder.filePath(QStringLiteral("out.safetensors")),
                          back = folder.filePath(QStringLiteral("back.safetensors"));
            QFile::remove(out);
            if (!quantizeModel(*model, request(specText(spec).c_str(), layout, out), {})) continue;
            ++written;
            QVERIFY2(nonFinite(out.toStdString()) == 0, (layout + (" " + specText(spec))).c_str());
            const auto decoded = dequantizeModel(**openModel(out.toStdString()), {}, back.toStdString(), {});
            QVERIFY2(decoded && nonFinite(back.toStdString()) == 0, specText(spec).c_str());
        }
    QVERIFY(written > 40);
}

// A file whose codes hold more than the type that it names: what is written is not what is stored.
void OverflowTest::whatATypeDoesNotHoldIsCounted() {
    const QTemporaryDir folder;
    auto values = withLarge(3e6f);
    values[5] = -1e6f;
    const QString path = folder.filePath(QStringLiteral("out.safetensors"));
    const auto model = opened(folder, {f32(kName, {kRows, kColumns}, values)});
    QVERIFY(quantizeModel(*model, request("int8:block=64", "native", path), {}));
    const auto decode = [&] {
        const std::string back = folder.filePath(QStringLiteral("back.safetensors")).toStdString();
        auto done = dequantizeModel(**openModel(path.toStdString()), {}, back, {});
        if (!done) qFatal("%s", done.error().message.c_str());
        return done->remarks;
    };
    QVERIFY(decode().empty());
    QByteArray bytes = bytesOf(path);
    const QByteArray before = QByteArrayLiteral("\\\"dtype\\\":\\\"F32\\\"");
    QCOMPARE(bytes.count(before), 1);
    put(path, bytes.replace(before, QByteArray(before).replace("F32", "F16")));
    const auto remarks = decode();
    QCOMPARE(remarks.size(), std::size_t(1));
    QVERIFY2(remarks[0].starts_with("2 decoded values of ") &&
                 remarks[0].find("beyond what F16 holds") != std::string::npos,
             remarks[0].c_str());
}

void OverflowTest::readersOfHalves_data() {
    QTest::addColumn<QString>("layout");
    QTest::addColumn<QString>("spec");
    for (const char* spec :
         {"int4:block=64:scaletype=f16:sym=no", "int3:block=64:scaletype=f16:sym=no", "int8:block=64:scaletype=f16"})
        QTest::addRow("gptq, %s", spec) << QStringLiteral("gptq") << QString::fromLatin1(spec);
    QTest::addRow("compressed-tensors") << QStringLiteral("compressed-tensors")
                                        << QStringLiteral("int4:dialect=ct:block=64:scaletype=f16:sym=no");
    QTest::addRow("mlx") << QStringLiteral("mlx") << QStringLiteral("int4:sym=no:block=64:scaletype=f16");
}

// A loader that computes in F16 reads Inf where a level times its scale is just over 65504.
void OverflowTest::readersOfHalves() {
    QFETCH(QString, layout);
    QFETCH(QString, spec);
    const QTemporaryDir folder;
    const auto model = opened(folder, {f32(kName, {64, 256}, std::vector<float>(64 * 256, 65504.0f))});
    const QString out = folder.filePath(QStringLiteral("out"));
    const auto done = quantizeModel(*model, request(spec.toLatin1(), layout.toLatin1(), out), {});
    if (done) {
        QCOMPARE(nonFinite(out.toStdString()), std::size_t(0));
        return;
    }
    const std::string said = done.error().sentence();
    QVERIFY2(said.find("overflow") != said.npos && said.size() <= 500, said.c_str());
    QVERIFY(!QFile::exists(out));
}

void OverflowTest::whatFitsIsOffered() {
    const QTemporaryDir folder;
    const auto model = opened(folder, {f32(kName, {kRows, kColumns}, withLarge(1e30f))});
    const auto done =
        quantizeModel(*model, request("q4_0", "native", folder.filePath(QStringLiteral("out.safetensors"))), {});
    QVERIFY(!done);
    const std::string said = done.error().sentence();
    QVERIFY2(said.size() <= 500, said.c_str());
    QVERIFY2(said.find("1 of 1 tensors cannot be quantized, nothing was written") != said.npos, said.c_str());
    const auto at = said.find("what fits: ");
    QVERIFY2(at != said.npos, said.c_str());
    const auto spec = parseSpec(said.substr(at + 11, said.find_first_of(" ,;", at + 11) - at - 11));
    QVERIFY2(spec.has_value(), said.c_str());
    QVERIFY(quantizeModel(
        *model, request(specText(*spec).c_str(), "native", folder.filePath(QStringLiteral("out.safetensors"))), {}));
}

// A file that another program wrote with NaN is no exact export, and no limit takes it.
void OverflowTest::foreignNonFinitesAreDifferences() {
    const QTemporaryDir folder;
    auto values = withLarge(1);
    const auto original =
        opened(folder, {f32(kName, {kRows, kColumns}, values), f32("b", {4}, {1, NAN, 3, 4})}, "a.safetensors");
    values[5] = NAN, values[6] = INFINITY;
    const auto exported =
        opened(folder, {f32(kName, {kRows, kColumns}, values), f32("b", {4}, {1, NAN, 3, 4})}, "b.safetensors");
    const auto found = verifyExport({original, exported, ""}, {});
    QVERIFY2(found.has_value(), found ? "" : found.error().message.c_str());
    const VerifiedTensor& row = found->tensors.back();
    QCOMPARE(row.nonFinite, std::uint64_t(2));
    QVERIFY(!row.nmse && row.derives == Derives::Differs && !row.reason.empty());
    QCOMPARE(*found->largestNmse(), std::numeric_limits<double>::infinity());
    QVERIFY(!brokenLimit(*found, *parseLimits({"nmse>0.01"}, verifyLimits())).empty());
    const VerifiedTensor& same = found->tensors.front();
    QVERIFY(same.nonFinite == 0 && !same.nmse && same.derives == Derives::Exact);
}

// Of a matrix of zeros no error is a share.
void OverflowTest::noLimitTakesValuesOverZeros() {
    const QTemporaryDir folder;
    std::vector<float> values(std::size_t(kRows * kColumns), 0.0f);
    const auto original = opened(folder, {f32(kName, {kRows, kColumns}, values)}, "a.safetensors");
    const auto verified = [&](const char* name) {
        return verifyExport({original, opened(folder, {f32(kName, {kRows, kColumns}, values)}, name), ""}, {});
    };
    const auto same = verified("b.safetensors");
    QVERIFY2(same.has_value(), same ? "" : same.error().message.c_str());
    QVERIFY(!same->tensors.front().nmse && !same->tensors.front().reason.empty());
    QVERIFY(brokenLimit(*same, *parseLimits({"nmse>0.01"}, verifyLimits())).empty());
    values[9] = 1;
    const auto other = verified("c.safetensors");
    QVERIFY2(other.has_value(), other ? "" : other.error().message.c_str());
    QVERIFY(!other->tensors.front().nmse && !other->tensors.front().reason.empty());
    QVERIFY(!brokenLimit(*other, *parseLimits({"nmse>0.01"}, verifyLimits())).empty());
}

QS_TEST(OverflowTest)
#include "overflow_test.moc"
