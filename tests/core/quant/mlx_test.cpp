// SPDX-License-Identifier: GPL-3.0-or-later
// dialect=mlx must equal mlx.core.quantize on the CPU bit for bit: codes, scales, biases and values.
#include "core/analysis/analysis.h"
#include "core/layouts/layout.h"
#include "core/layouts/slabs.h"
#include "core/quant/spec/scale_type.h"
#include "tests/core/quant/made_model.h"
#include "tests/support/golden.h"
#include "tests/support/test_program.h"

#include <cmath>

using namespace qs;
using namespace qs::test;

class MlxTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void peer();
    void files();
    void values();
    void otherScaleTypes();
    void sizes();
    void refusals();
};

namespace {

constexpr const char* kTypes[] = {"F32", "F16", "BF16"};

const GoldenFile& mlxVectors() {
    static const GoldenFile file = readGolden(QS_TEST_DATA "/formats/mlx_vectors.safetensors");
    return file;
}

std::shared_ptr<const Model> modelOf(const QTemporaryDir& folder, const std::string& type) {
    const GoldenTensor& x = mlxVectors()[type];
    return opened(folder, {made("p.weight", *dtypeFromId(type), x.shape, x.bytes)});
}

/// The specs in the vector file for a tensor, each with the key of its fields.
std::vector<std::pair<std::string, QuantSpec>> specsOf(const std::string& type) {
    std::vector<std::pair<std::string, QuantSpec>> out;
    for (const auto& [name, tensor] : mlxVectors().tensors) {
        const std::size_t end = name.rfind(".weight");
        if (!name.starts_with(type + "/") || end == std::string::npos) continue;
        const std::size_t first = type.size() + 1;
        out.emplace_back(name.substr(0, end), *parseSpec(name.substr(first, end - first)));
    }
    return out;
}

/// Codes from a bit stream, lowest bits first.
std::vector<std::uint8_t> codesOf(const GoldenTensor& words, unsigned bits) {
    std::vector<std::uint8_t> codes(words.bytes.size() * 8 / bits);
    for (std::size_t i = 0; i < codes.size(); ++i)
        for (unsigned b = 0; b < bits; ++b) {
            const std::size_t at = i * bits + b;
            codes[i] = std::uint8_t(codes[i] | (words.bytes[at / 8] >> (at % 8) & 1) << b);
        }
    return codes;
}

std::vector<std::uint8_t> bytesAs(DType type, const std::vector<float>& values) {
    std::vector<std::uint8_t> out(values.size() * std::size_t(info(type).bits) / 8);
    appendAs(type, values.data(), values.size(), reinterpret_cast<std::byte*>(out.data()));
    return out;
}

std::string written(const QTemporaryDir& folder, const Model& model, const QuantSpec& spec, const char* layout) {
    const std::string path = folder.filePath(QStringLiteral("out.safetensors")).toStdString();
    const auto done = quantizeModel(model, {spec, {}, layout, path}, Job{});
    if (!done) qFatal("%s", done.error().sentence().c_str());
    return path;
}

} // namespace

/// All bit widths, group sizes and dtypes, in memory. Scales are as stored; codes are chosen with the scale before it
/// was rounded.
void MlxTest::peer() {
    for (const std::string type : kTypes) {
        const QTemporaryDir folder;
        const auto model = modelOf(folder, type);
        const auto specs = specsOf(type);
        QCOMPARE(specs.size(), std::size_t(6 * 3));
        for (const auto& [key, spec] : specs) {
            const auto ours = quantizeTensor(*model->view(*model->find("p.weight")), spec, Job{});
            QVERIFY2(ours.has_value(), key.c_str());
            QVERIFY2(ours->codes == codesOf(mlxVectors()[key + ".weight"], unsigned(spec.traits().bits)), key.c_str());
            const DType stored = *dtypeFromId(type);
            QVERIFY2(bytesAs(stored, ours->scales) == mlxVectors()[key + ".scales"].bytes, key.c_str());
            QVERIFY2(bytesAs(stored, ours->zeros) == mlxVectors()[key + ".biases"].bytes, key.c_str());
        }
    }
}

/// The layout mlx has the bytes of mlx, the layout native has the same numbers. Both read back as analysed.
void MlxTest::files() {
    for (const std::string type : kTypes) {
        const QTemporaryDir folder;
        const auto model = modelOf(folder, type);
        const DType stored = *dtypeFromId(type);
        for (const auto& [key, spec] : specsOf(type)) {
            const auto mlx = openSafetensors(written(folder, *model, spec, "mlx"));
            QVERIFY(mlx.has_value());
            const std::pair<const char*, const char*> fields[] = {
                {"p.weight", ".weight"}, {"p.scales", ".scales"}, {"p.biases", ".biases"}};
            for (const auto& [ours, theirs] : fields) {
                const GoldenTensor& expected = mlxVectors()[key + theirs];
                const TensorInfo* tensor = (*mlx)->find(ours);
                QVERIFY2(tensor && tensor->shape == expected.shape, key.c_str());
                QCOMPARE(info(tensor->dtype).id, expected.dtype.c_str());
                QVERIFY2(valuesOf<std::uint8_t>(**mlx, ours) == expected.bytes, (key + theirs).c_str());
            }
            const std::string path = written(folder, *model, spec, "native");
            const auto native = openSafetensors(path);
            QVERIFY(native.has_value() && (*native)->find("p.weight.scale")->dtype == stored);
            QVERIFY2(valuesOf<std::uint8_t>(**native, "p.weight.scale") == mlxVectors()[key + ".scales"].bytes,
                     key.c_str());
            QVERIFY2(valuesOf<std::uint8_t>(**native, "p.weight.bias") == mlxVectors()[key + ".biases"].bytes,
                     key.c_str());
            const std::string back = folder.filePath(QStringLiteral("back.safetensors")).toStdString();
            const auto done = dequantizeModel(**openModel(path), {}, back, Job{});
            QVERIFY2(done, done ? "" : (key + ": " + done.error().sentence()).c_str());
            const auto decoded = materialize(*quantizeTensor(*model->view(*model->find("p.weight")), spec, Job{}));
            QVERIFY2(valuesOf<std::uint8_t>(**openModel(back), "p.weight") == bytesAs(stored, decoded), key.c_str());
        }
    }
}

/// In F32, readers decode the values of the analysis. In 16 bits they round the product and the sum.
void MlxTest::values() {
    for (const std::string type : kTypes) {
        const QTemporaryDir folder;
        const auto model = modelOf(folder, type);
        const QuantSpec spec = *parseSpec("int4:block=64:dialect=mlx");
        const auto& theirs = mlxVectors()[type + "/int4:block=64:dialect=mlx.values"];
        const auto decoded = materialize(*quantizeTensor(*model->view(*model->find("p.weight")), spec, Job{}));
        if (type == "F32") QVERIFY(decoded == theirs.as<float>());
        const auto row = analyseTensor(*model, *model->find("p.weight"), spec, {}, Job{});
        QVERIFY(row && row->status == Status::Ok);
        QCOMPARE(row->bpw, type == std::string("F32") ? 5.0 : 4.5);
        double se2 = 0;
        std::vector<float> x(decoded.size());
        loadF32(*model->view(*model->find("p.weight")), 0, x.size(), x.data());
        for (std::size_t i = 0; i < x.size(); ++i) se2 += std::pow(double(decoded[i] - x[i]), 2);
        QVERIFY(std::fabs(row->sums.se2 - se2) <= 1e-6 * se2);
        std::uint64_t counted = 0;
        for (const auto count : row->codeCounts) counted += count;
        QCOMPARE(counted, std::uint64_t(x.size()));
    }
}

/// With an explicit scaletype, codes are chosen with the scale before rounding and with the stored bias.
void MlxTest::otherScaleTypes() {
    const QTemporaryDir folder;
    std::vector<float> x(2 * 64);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = float(std::sin(double(i) * 1.7)) * 3 + 1;
    const auto model = opened(folder, {made("p.weight", DType::F32, {2, 64}, x)});
    const auto view = *model->view(*model->find("p.weight"));
    const auto plain = *quantizeTensor(view, *parseSpec("int4:dialect=mlx"), Job{});
    const auto typed = *quantizeTensor(view, *parseSpec("int4:dialect=mlx:scaletype=bf16"), Job{});
    for (std::size_t g = 0; g < 2; ++g) {
        QVERIFY(typed.scales[g] == roundedTo(ScaleType::Bf16, plain.scales[g]));
        QVERIFY(typed.zeros[g] == roundedTo(ScaleType::Bf16, plain.zeros[g]));
        QVERIFY(typed.scales[g] != plain.scales[g] && typed.zeros[g] != plain.zeros[g]);
        for (std::size_t i = g * 64; i < g * 64 + 64; ++i)
            QCOMPARE(float(typed.codes[i]),
                     std::clamp(std::nearbyint((x[i] - typed.zeros[g]) / plain.scales[g]), 0.0f, 15.0f));
    }
    QCOMPARE(plain.spec.effectiveScaleType(), std::string("f32"));
    // Its readers compute in f32 there, so they decode the analysed values.
    const auto file = openSafetensors(written(folder, *model, *parseSpec("int4:dialect=mlx:scaletype=bf16"), "mlx"));
    QVERIFY(file && (*file)->find("p.scales")->dtype == DType::F32);
    QCOMPARE(valuesOf<float>(**file, "p.scales"), typed.scales);
    QCOMPARE(valuesOf<float>(**file, "p.biases"), typed.zeros);
}

/// Scales and biases have the dtype of the tensor.
void MlxTest::sizes() {
    const std::int64_t shape[] = {6, 256};
    const auto bytes = [&](const char* text, DType type) { return storedSize(*parseSpec(text), shape, type)->total(); };
    QCOMPARE(bytes("int4:dialect=mlx", DType::BF16), std::uint64_t(6 * (128 + 4 * 4)));
    QCOMPARE(bytes("int4:dialect=mlx", DType::F32), std::uint64_t(6 * (128 + 4 * 8)));
    QCOMPARE(bytes("int4:dialect=mlx:scaletype=f16", DType::F32), std::uint64_t(6 * (128 + 4 * 4)));
    QCOMPARE(bytes("int3:dialect=mlx:block=32", DType::F16), std::uint64_t(6 * (96 + 8 * 4)));
    QCOMPARE(parseSpec("int8:dialect=mlx")->blockSize(), 64u);
    QCOMPARE(canonicalText(*parseSpec("int5:dialect=mlx:block=32")),
             std::string("int5:block=32:calib=minmax:scaletype=input:sym=no:round=nearest:nan=refuse:dialect=mlx"));
}

void MlxTest::refusals() {
    const QTemporaryDir folder;
    const auto says = [&](DType type, auto values, std::int64_t columns, const char* spec, const char* what) {
        const std::int64_t rows = std::int64_t(values.size()) / columns;
        const auto model = opened(folder, {made("p.weight", type, {rows, columns}, values)});
        const auto done = quantizeTensor(*model->view(*model->find("p.weight")), *parseSpec(spec), Job{});
        if (!done && done.error().sentence().find(what) == std::string::npos)
            qWarning("%s", done.error().sentence().c_str());
        return !done && done.error().sentence().find(what) != std::string::npos;
    };
    const std::vector<float> plain(96, 1.0f);
    QVERIFY(says(DType::F32, plain, 96, "int4:dialect=mlx", "use int4:block=32:dialect=mlx"));
    QVERIFY(says(DType::F32, plain, 48, "int4:dialect=mlx", "use int4:sym=no"));
    std::vector<float> wide(64, 3e38f);
    wide[5] = -3e38f;
    QVERIFY(says(DType::F32, wide, 64, "int4:dialect=mlx", "holds 64 values between which a range overflows f32"));
    wide.assign(64, 3e38f); // the range is 0, but the values are above the limit
    QVERIFY(says(DType::F32, wide, 64, "int8:dialect=mlx", "holds 64 values between which a range overflows f32"));
    wide.assign(64, 70000.0f);
    QVERIFY(says(DType::F32, wide, 64, "int4:dialect=mlx:scaletype=f16", "holds 64 values that overflow in f16"));
    wide[7] = std::nanf("");
    QVERIFY(says(DType::F32, wide, 64, "int4:dialect=mlx",
                 "holds 1 NaN and 0 Inf, which nan=skip leaves out: use int4:nan=skip"));
    // Only layouts that store a bias, or that store decoded values.
    const auto model = opened(folder, {made("p.weight", DType::F32, {4, 64}, std::vector<float>(256, 0.5f))});
    const std::string holders = "plain native mlx hdf5 npz ";
    for (const Layout& layout : layouts()) {
        const auto taken = layout.accepts(*parseSpec("int4:dialect=mlx"), model->find("p.weight")->shape);
        QCOMPARE(taken.has_value(), holders.find(std::string(layout.id) + " ") != std::string::npos);
        if (!taken)
            QVERIFY2(taken.error().sentence().find("use ") != std::string::npos, taken.error().sentence().c_str());
    }
}

QS_TEST(MlxTest)
#include "mlx_test.moc"
