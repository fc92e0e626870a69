// SPDX-License-Identifier: GPL-3.0-or-later
// compute=input compared with a plain computation, extreme values, and every format in every layout through files.
#include "core/layouts/layout.h"
#include "tests/core/quant/made_model.h"
#include "tests/support/test_program.h"
#include "tests/support/thinned.h"

#include <algorithm>
#include <array>
#include <cfloat>
#include <cmath>

using namespace qs;
using namespace qs::test;

namespace {

QuantizedTensor quantized(const Model& model, const std::string& text) {
    const auto spec = parseSpec(text);
    if (!spec) qFatal("%s", spec.error().sentence().c_str());
    auto out = quantizeTensor(*model.view(model.tensors[0]), *spec, Job{});
    if (!out) qFatal("%s", out.error().sentence().c_str());
    return *out;
}

/// Rounds to `mantissa` explicit bits, ties to even, with the smallest exponent `lowest`, in f64. Uses no code of the
/// workbench.
double roundedTo(double v, int mantissa, int lowest) {
    if (v == 0) return v;
    int exponent = 0;
    std::frexp(v, &exponent);
    const double step = std::ldexp(1.0, std::max(exponent - 1, lowest) - mantissa);
    return std::nearbyint(v / step) * step;
}

std::uint16_t bitsOf(double v, bool f16) {
    // v is exact in that type, so its bits follow from those of the f32.
    const float f = float(v);
    std::uint32_t bits = 0;
    std::memcpy(&bits, &f, 4);
    if (!f16) return std::uint16_t(bits >> 16);
    const std::uint32_t sign = bits >> 16 & 0x8000;
    const double magnitude = std::fabs(v);
    if (magnitude < 0x1p-14) return std::uint16_t(sign | std::uint32_t(magnitude * 0x1p24));
    return std::uint16_t(sign | (((bits >> 23 & 255) - 112) << 10) | (bits >> 13 & 1023));
}

} // namespace

class EdgeTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void computeInInputType();
    void lowestInteger();
    void ternaryOverflows();
    void llmInt8Refuses();
    void inputTypes();
    void extremes();
    void everyFormatInEveryLayout();
    void outputChannels();
    void flattenedKernels();
    void orientation();
};

void EdgeTest::computeInInputType() {
    constexpr std::size_t rows = 4, features = 64;
    for (const bool f16 : {true, false}) {
        const auto type = [f16](double v) { return f16 ? roundedTo(v, 10, -14) : roundedTo(v, 7, -126); };
        const double tiny = f16 ? 0x1p-14 : 0x1p-126;
        std::vector<double> x;
        std::vector<std::uint16_t> stored;
        for (std::size_t i = 0; i < rows * features; ++i) {
            x.push_back(type(std::sin(double(i) * 1.7) * (i / features == 2 ? 3e-3 : 1.3)));
            stored.push_back(bitsOf(x.back(), f16));
        }
        const QTemporaryDir folder;
        const auto model = opened(
            folder, {made("w", f16 ? DType::F16 : DType::BF16, {std::int64_t(rows), std::int64_t(features)}, stored)});
        const auto nf4 = quantized(*model, "nf4:compute=input"), int8 = quantized(*model, "int8:compute=input");
        const auto levels = nf4.spec.traits().levels;
        for (std::size_t row = 0; row < rows; ++row) {
            double absMax = 0;
            for (std::size_t i = 0; i < features; ++i) absMax = std::max(absMax, std::fabs(x[row * features + i]));
            const double scale = type(type(absMax / 127) + tiny), divisor = type(absMax + tiny);
            QCOMPARE(double(nf4.scales[row]), absMax);
            QCOMPARE(double(int8.scales[row]), scale);
            for (std::size_t i = row * features; i < (row + 1) * features; ++i) {
                const float n = float(type(x[i] / divisor));
                std::size_t best = 0;
                for (std::size_t c = 1; c < levels.size(); ++c)
                    if (std::fabs(n - levels[c]) < std::fabs(n - levels[best])) best = c;
                QCOMPARE(std::size_t(nf4.codes[i]), best);
                const double q = std::clamp(std::nearbyint(type(x[i] / scale)), -128.0, 127.0);
                QCOMPARE(double(int8.codes[i]) - 128, q);
            }
        }
    }
}

/// eformer 0.0.101 with BF16: the quotient is first rounded to -127.5 and then to an integer.
void EdgeTest::lowestInteger() {
    const std::vector<double> x = {1.46875, -1.4765625, 0.5, 0.25};
    std::vector<std::uint16_t> stored;
    for (const double v : x) stored.push_back(bitsOf(v, false));
    const QTemporaryDir folder;
    const auto model = opened(folder, {made("w", DType::BF16, {1, 4}, stored)});
    for (const char* layout : {"eformer", "native", "plain"}) {
        const std::string path = folder.filePath(QString::fromLatin1(layout)).toStdString() + ".safetensors";
        const auto done = quantizeModel(*model, {*parseSpec("int8:compute=input"), {}, layout, path}, Job{});
        QVERIFY2(done.has_value(), done ? "" : done.error().sentence().c_str());
        const auto written = *openModel(path);
        if (std::string_view(layout) == "eformer")
            QCOMPARE(valuesOf<std::int8_t>(*written, "w.weight"), (std::vector<std::int8_t>{126, -128, 43, 22}));
        const std::string back = folder.filePath(QStringLiteral("back.safetensors")).toStdString();
        QVERIFY(dequantizeModel(*written, {}, back, Job{}));
        std::vector<float> values(4);
        const auto plain = *openModel(back);
        loadF32(*plain->view(*plain->find("w")), 0, 4, values.data());
        const auto scale = double(quantized(*model, "int8:compute=input").scales[0]);
        for (std::size_t i = 0; i < 4; ++i) {
            const double code = std::array{126, -128, 43, 22}[i];
            QCOMPARE(double(values[i]), roundedTo(code * scale, 7, -126));
        }
    }
}

/// The variance overflows f32 although every value is finite: all codes in the file are 0, and the export warns.
void EdgeTest::ternaryOverflows() {
    const QTemporaryDir folder;
    std::vector<float> x(64, 3e38f);
    for (const bool alternates : {false, true}) {
        for (std::size_t i = 0; alternates && i < x.size(); i += 2) x[i] = -3e38f;
        const auto model = opened(folder, {made("w", DType::F32, {8, 8}, x)});
        const std::string path = folder.filePath(QStringLiteral("out.safetensors")).toStdString();
        const auto done = quantizeModel(*model, {*parseSpec("ternary"), {}, "eformer", path}, Job{});
        QVERIFY2(done.has_value(), done ? "" : done.error().sentence().c_str());
        QCOMPARE(done->warnings.size(), std::size_t(1));
        QVERIFY2(done->warnings[0].starts_with("Tensor 'w': the standard deviation overflows f32"),
                 done->warnings[0].c_str());
        QCOMPARE(valuesOf<std::uint8_t>(**openModel(path), "w.weight"), std::vector<std::uint8_t>(16, 0x55));
    }
    // An infinity is still an error.
    x[3] = INFINITY;
    const auto model = opened(folder, {made("w", DType::F32, {8, 8}, x)}, "infinite.safetensors");
    const std::string path = folder.filePath(QStringLiteral("none.safetensors")).toStdString();
    const auto done = quantizeModel(*model, {*parseSpec("ternary"), {}, "eformer", path}, Job{});
    QVERIFY(!done && done.error().sentence().find("0 NaN and 1 Inf") != std::string::npos);
}

void EdgeTest::llmInt8Refuses() {
    const QTemporaryDir folder;
    std::vector<float> x(64, 1.0f);
    x[9] = 70000;
    const auto model = opened(folder, {made("p.weight", DType::F32, {8, 8}, x)});
    const auto says = [&](const char* spec) {
        const std::string path = folder.filePath(QStringLiteral("out.safetensors")).toStdString();
        const auto done = quantizeModel(*model, {*parseSpec(spec), "p", "llm-int8", path}, Job{});
        return done ? std::string("written") : done.error().sentence();
    };
    QVERIFY2(says("int8").find("not int8: use int8:dialect=bnb") != std::string::npos, says("int8").c_str());
    const std::string large = says("int8:dialect=bnb");
    QVERIFY2(large.find("1 values that overflow in f16") != std::string::npos, large.c_str());
}

void EdgeTest::inputTypes() {
    // These values are exact in all four dtypes, so codes and scales must be equal.
    const std::vector<double> x = {1, -0.5, 0.25, -0.0078125};
    std::vector<std::uint16_t> f16, bf16;
    for (const double v : x) f16.push_back(bitsOf(v, true)), bf16.push_back(bitsOf(v, false));
    for (int type = 0; type < 4; ++type) {
        const QTemporaryDir folder;
        const auto model =
            opened(folder, {type == 0   ? made("w", DType::F64, {1, 4}, x)
                            : type == 1 ? made("w", DType::F32, {1, 4}, std::vector<float>(x.begin(), x.end()))
                            : type == 2 ? made("w", DType::F16, {1, 4}, f16)
                                        : made("w", DType::BF16, {1, 4}, bf16)});
        const auto int8 = quantized(*model, "int8");
        QCOMPARE(int8.codes, (std::vector<std::uint8_t>{254, 63, 159, 126})); // 127, -63.5 -> -64, 31.75 -> 32, -0.99
        QCOMPARE(int8.scales, (std::vector<float>{1.0f / 127}));
        QCOMPARE(quantized(*model, "binary").codes, (std::vector<std::uint8_t>{1, 0, 1, 0}));
    }
}

void EdgeTest::extremes() {
    const float least = 0x1p-149f;
    const QTemporaryDir folder;
    std::vector<float> x(6 * 64);
    x[0] = FLT_MAX, x[1] = -FLT_MAX, x[2] = FLT_MAX / 2;
    for (std::size_t i = 0; i < 64; ++i) x[128 + i] = i % 2 ? least : -least;
    const auto model = opened(folder, {made("w", DType::F32, {6, 64}, x)});
    for (const char* text : {"nf4", "int8", "int8:block=16", "int8:axis=0", "nf4:block=6", "ternary:scale=channel",
                             "binary:scale=block", "ternary:dialect=bitnet", "int4", "int2:scale=channel", "fp8_e4m3",
                             "fp8_e5m2:block=24", "fp8_e4m3fnuz:axis=0", "fp8_e5m2fnuz:scale=tensor"}) {
        const auto made = quantizeTensor(*model->view(model->tensors[0]), *parseSpec(text), Job{});
        if (!made) { // a level times a scale rounds to infinity
            QVERIFY2(made.error().message.find("overflows") != std::string::npos, made.error().message.c_str());
            continue;
        }
        const QuantizedTensor& out = *made;
        const auto values = materialize(out);
        QCOMPARE(values.size(), x.size());
        for (const float v : values) QVERIFY2(std::isfinite(v), text);
        if (std::string_view(text).ends_with(":axis=0")) continue; // its columns are not all zero
        for (std::size_t i = 64; i < 128; ++i)
            QVERIFY2(values[i] == 0 || out.spec.scaleKind() == ScaleKind::Tensor, text);
    }
    const auto nf4 = materialize(quantized(*model, "nf4"));
    QCOMPARE(nf4[0], FLT_MAX);
    QCOMPARE(nf4[1], -FLT_MAX);
    // The squared deviations overflow: the threshold is inf, every code is that of 0, and there is a warning.
    const auto ternary = quantized(*model, "ternary");
    for (const auto code : ternary.codes) QCOMPARE(int(code), 1);
    QVERIFY(!ternary.warnings.empty());
}

void EdgeTest::everyFormatInEveryLayout() {
    // Each spec with 3 or 4 of the layouts, each layout with a third of the specs: a written file takes milliseconds.
    constexpr std::size_t kEvery = 3 * kThinning;
    int accepted = 0, refused = 0;
    std::size_t turn = 0;
    for (const auto& shape : std::vector<std::vector<std::int64_t>>{{8, 24}, {4, 1}, {3, 5}, {}, {0, 8}}) {
        std::size_t n = 1;
        for (const auto dim : shape) n *= std::size_t(dim);
        std::vector<float> x(n);
        for (std::size_t i = 0; i < n; ++i) x[i] = float(int(i * 37 % 101) - 50) / 16;
        const QTemporaryDir folder;
        const auto model = opened(folder, {made("x.weight", DType::F32, shape, x)});
        for (const auto& format : formats())
            for (const char* tail :
                 {"", ":scale=tensor", ":scale=channel", ":scale=block:block=8", ":axis=0", ":block=64"})
                for (const auto& layout : layouts()) {
                    const std::string text = format.id + std::string(tail);
                    const auto spec = parseSpec(text);
                    if (!spec || turn++ % kEvery != 0) continue;
                    const std::string what = text + " in " + layout.id;
                    if (layout.id == std::string_view("hdf5") && turn % 41 != 0)
                        continue; // only some, because each needs
                                  // a process
                    const char* ending = layout.fileEnding ? layout.fileEnding : ".safetensors";
                    const QuantizeRequest request{*spec, "^x.weight$", layout.id,
                                                  folder.filePath(QStringLiteral("out")).toStdString() + ending};
                    const bool takes = !layout.takesModel || layout.takesModel(*model);
                    const bool holds = !layout.holds || layout.holds(*model->find("x.weight"));
                    const bool isKept = layout.config && n == 0; // a matrix without values
                    const bool accepts = layout.accepts(*spec, shape) && holds && takes && !isKept;
                    const auto done = quantizeModel(*model, request, Job{});
                    QVERIFY2(accepts == bool(done), (what + (done ? "" : ": " + done.error().sentence())).c_str());
                    if (!done) {
                        const auto& message = done.error().sentence();
                        QVERIFY2(!message.empty() && message.size() <= 500 && message.find('\n') == std::string::npos,
                                 what.c_str());
                        ++refused;
                        continue;
                    }
                    ++accepted;
                    if (!layout.describes) continue; // read by its convention, which has its own tests
                    const std::string path = folder.filePath(QStringLiteral("back.safetensors")).toStdString();
                    const auto back = dequantizeModel(**openModel(request.output), {}, path, Job{});
                    QVERIFY2(back.has_value(), back ? "" : (what + ": " + back.error().sentence()).c_str());
                    const auto plain = *openModel(path);
                    QVERIFY2(plain->find("x.weight") && plain->find("x.weight")->shape == shape, what.c_str());
                    if (plain->find("x.weight")->dtype != DType::F32) continue; // f16 and bf16 in the plain layout
                    QVERIFY2(valuesOf<float>(*plain, "x.weight") == materialize(quantized(*model, text)), what.c_str());
                }
    }
    qInfo("%d accepted, %d refused", accepted, refused);
    QVERIFY(accepted > int(250 / kThinning) && refused > int(100 / kThinning));
}

/// A scale per output channel, first or last axis, any rank. It must survive writing and reading.
void EdgeTest::outputChannels() {
    struct Case {
        const char* name;
        std::vector<std::int64_t> shape, scales;
        std::string meant;
    };
    const Case cases[] = {{"conv.weight", {16, 8, 3, 3}, {16, 1, 1, 1}, "int8:axis=1,2,3"},
                          {"conv/kernel:0", {3, 3, 8, 16}, {1, 1, 1, 16}, "int8:axis=0,1,2"},
                          {"dense/kernel", {24, 10}, {1, 10}, "int8:axis=0"},
                          {"linear.weight", {10, 24}, {10, 1}, "int8:axis=-1"},
                          {"norm.weight", {24}, {1}, "int8:axis=-1"}};
    const QuantSpec spec = *parseSpec("int8:axis=out");
    for (const Case& one : cases) {
        std::size_t n = 1;
        for (const auto dim : one.shape) n *= std::size_t(dim);
        std::vector<float> x(n);
        for (std::size_t i = 0; i < n; ++i) x[i] = float(std::sin(double(i) * 1.3)) * float(1 + i % 7);
        const QTemporaryDir folder;
        const auto model = opened(folder, {made(one.name, DType::F32, one.shape, x)});
        const TensorInfo& tensor = model->tensors[0];
        QCOMPARE(specText(forTensor(spec, tensor)), one.meant);
        const auto values = quantizeTensor(*model->view(tensor), spec, Job{});
        QVERIFY(values && values->grid.scaleShape == one.scales);
        const bool last = tensor.outputLast;
        const auto channels = std::size_t(last ? one.shape.back() : one.shape.front());
        std::vector<float> largest(one.shape.size() == 1 ? 1 : channels);
        for (std::size_t i = 0; i < n; ++i) {
            float& most = largest[largest.size() == 1 ? 0 : last ? i % channels : i / (n / channels)];
            most = std::max(most, std::fabs(x[i]));
        }
        for (std::size_t c = 0; c < largest.size(); ++c) QCOMPARE(values->scales[c], largest[c] / 127 + FLT_MIN);
        QCOMPARE(storedSize(spec, tensor)->total(), std::uint64_t(n + 4 * largest.size()));
        for (const char* layout : {"native", "eformer", "plain"}) {
            const std::string path = folder.filePath(QStringLiteral("out.safetensors")).toStdString(),
                              back = folder.filePath(QStringLiteral("back.safetensors")).toStdString();
            const auto done = quantizeModel(*model, {spec, one.name, layout, path}, Job{});
            QVERIFY2(done, done ? "" : done.error().sentence().c_str());
            QVERIFY(dequantizeModel(**openModel(path), {}, back, Job{}));
            QVERIFY(valuesOf<float>(**openModel(back), one.name) == materialize(*values));
        }
    }
    // The default is that of eformer: only the last axis is reduced.
    const auto grid = scaleGrid(*parseSpec("int8"), std::vector<std::int64_t>{16, 8, 3, 3});
    QCOMPARE(grid->scaleShape, (std::vector<std::int64_t>{16, 8, 3, 1}));
}

/// Blocks over all axes except the first: 3 x 3 kernels are not padded to one block each.
void EdgeTest::flattenedKernels() {
    const std::vector<std::int64_t> shape = {16, 8, 3, 3};
    std::vector<float> x(16 * 72);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = float(std::sin(double(i) * 1.3)) * float(1 + i % 7);
    const QTemporaryDir folder;
    const auto model = opened(folder, {made("conv.weight", DType::F32, shape, x)});
    const auto flat = opened(folder, {made("conv.weight", DType::F32, {16, 72}, x)}, "flat.safetensors");
    QVERIFY(bitsPerWeight(*storedSize(*parseSpec("nf4"), shape, DType::F32), x.size()) > 90);
    for (const char* text : {"nf4:flat=yes", "int8:block=32:flat=yes", "int4:sym=no:flat=yes", "codebook:flat=yes",
                             "ternary:scale=block:flat=yes", "int4:block=24:scaletype=e4m3:flat=yes"}) {
        const QuantSpec spec = *parseSpec(text);
        const auto values = quantizeTensor(*model->view(model->tensors[0]), spec, Job{});
        QVERIFY(values.has_value());
        QuantSpec plain = spec;
        plain.flat.reset();
        const auto rows = quantizeTensor(*flat->view(flat->tensors[0]), plain, Job{});
        QVERIFY(materialize(*values) == materialize(*rows));
        const std::string path = folder.filePath(QStringLiteral("out.safetensors")).toStdString(),
                          back = folder.filePath(QStringLiteral("back.safetensors")).toStdString();
        const auto done = quantizeModel(*model, {spec, ".", "native", path}, Job{});
        QVERIFY2(done, done ? "" : done.error().sentence().c_str());
        const auto out = *openModel(path);
        QVERIFY(dequantizeModel(*out, {}, back, Job{}));
        QVERIFY(valuesOf<float>(**openModel(back), "conv.weight") == materialize(*values));
        std::uint64_t bytes = 0;
        for (const auto& tensor : out->tensors) bytes += tensor.bytes;
        QCOMPARE(storedSize(spec, shape, DType::F32)->total(), bytes);
        QVERIFY(bitsPerWeight(*storedSize(spec, shape, DType::F32), x.size()) < 10);
        QCOMPARE(std::string(defaultLayout(spec).id), std::string("native"));
        const auto refused = quantizeModel(*model, {spec, ".", "eformer", path}, Job{});
        QVERIFY(!refused && refused.error().sentence().find("native") != std::string::npos);
    }
}

/// Tensor names and the model type tell which axis has the output channels.
void EdgeTest::orientation() {
    const QTemporaryDir folder;
    const auto model = opened(folder, {made("a.c_attn.weight", DType::F32, {4, 12}, std::vector<float>(48)),
                                       made("b.kernel", DType::F32, {4, 4}, std::vector<float>(16)),
                                       made("lstm/recurrent_kernel", DType::F32, {4, 4}, std::vector<float>(16)),
                                       made("wte.weight", DType::F32, {8, 4}, std::vector<float>(32)),
                                       made("x.kernel", DType::F32, {4}, std::vector<float>(4))});
    const auto last = [](const Model& m) {
        QStringList names;
        for (const TensorInfo& tensor : m.tensors)
            if (tensor.outputLast) names << QString::fromStdString(tensor.name);
        return names;
    };
    QCOMPARE(last(*model), (QStringList{QStringLiteral("b.kernel"), QStringLiteral("lstm/recurrent_kernel")}));
    QFile config(folder.filePath(QStringLiteral("config.json")));
    QVERIFY(config.open(QIODevice::WriteOnly) && config.write(R"({"model_type":"gpt2"})") > 0);
    config.close();
    QVERIFY(last(**openModel(folder.path().toStdString())).contains(QStringLiteral("a.c_attn.weight")));
}

QS_TEST(EdgeTest)
#include "edge_test.moc"
