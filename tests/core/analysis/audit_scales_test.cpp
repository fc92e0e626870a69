// SPDX-License-Identifier: GPL-3.0-or-later
// Quantized layers whose scales or zero points were changed after they were written, and layers that were not.
#include "made_audit.h"

#include "core/model/safetensors/safetensors.h"

#include <QFile>
#include <functional>

namespace {

/// A layout that other programs read, the field of its scales, and the field of its packed zero points.
struct Stored {
    const char *layout, *spec, *scales, *zeros;
};
constexpr Stored kStored[] = {
    {"compressed-tensors", "int4:dialect=ct:block=32", "weight_scale", nullptr},
    {"compressed-tensors", "int4:dialect=ct:block=64:sym=no", "weight_scale", "weight_zero_point"},
    {"compressed-tensors", "int8:dialect=ct:scale=channel", "weight_scale", nullptr},
    {"compressed-tensors", "nvfp4:dialect=ct", "weight_scale", nullptr},
    {"gptq", "int4:dialect=ct:block=64:scaletype=f16", "scales", "qzeros"},
    {"gptq", "int4:block=32:scaletype=f16:sym=no", "scales", "qzeros"},
    {"mlx", "int4:dialect=mlx", "scales", nullptr},
    {"bnb", "nf4:dialect=bnb:block=64", "weight.absmax", nullptr},
    {"llm-int8", "int8:dialect=bnb", "SCB", nullptr}};
constexpr int kLayers = 6;
constexpr std::int64_t kLayerRows = 256, kLayerColumns = 512;

std::string nameOfLayer(int layer) { return "model.layers." + std::to_string(layer) + ".mlp.up_proj."; }

} // namespace

class AuditScalesTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void asWritten_data() { rows(); }
    void asWritten();
    void reversed_data() { rows(); }
    void reversed();
    void shuffled_data() { rows(); }
    void shuffled();
    void doubled_data() { rows(); }
    void doubled();
    void zerosPlusOne_data() { rows(); }
    void zerosPlusOne();
    void settings();
    void rowsOfTheirOwnSizes();
    void uniformValues_data();
    void uniformValues();
    void trainedNetwork_data() { rows(); }
    void trainedNetwork();
    void ownMeans_data();
    void ownMeans();

private:
    void rows() {
        QTest::addColumn<int>("row");
        for (int i = 0; i < int(std::size(kStored)); ++i)
            QTest::addRow("%s %s", kStored[i].layout, kStored[i].spec) << i;
    }
    /// Writes kLayers layers. Their rows and columns have magnitudes of their own, as in trained networks.
    void write(const Stored& stored) {
        std::vector<TensorToWrite> tensors;
        for (int layer = 0; layer < kLayers; ++layer) {
            auto x = normal(kLayerRows, kLayerColumns, unsigned(layer + 1), 0.3f);
            std::mt19937 random(unsigned(layer + 50));
            std::normal_distribution<float> log(0, 0.2f);
            for (std::size_t r = 0; r < std::size_t(kLayerRows); ++r)
                for (const float s = std::exp(log(random));
                     float& v : std::span(x).subspan(r * kLayerColumns, kLayerColumns))
                    v *= s;
            tensors.push_back(f32(nameOfLayer(layer) + "weight", {kLayerRows, kLayerColumns}, std::move(x)));
        }
        const auto model = opened(folder_, std::move(tensors));
        path_ = folder_.filePath(QStringLiteral("out.safetensors")).toStdString();
        const auto done = quantizeModel(*model, {*parseSpec(stored.spec), {}, stored.layout, path_}, Job{});
        QVERIFY2(done.has_value(), done ? "" : done.error().message.c_str());
    }
    /// Writes one layer with these values.
    void writeOne(const char* spec, const char* layout, std::vector<float> values) {
        const auto model =
            opened(folder_, {f32(nameOfLayer(0) + "weight", {kLayerRows, kLayerColumns}, std::move(values))});
        path_ = folder_.filePath(QStringLiteral("out.safetensors")).toStdString();
        const auto done = quantizeModel(*model, {*parseSpec(spec), {}, layout, path_}, Job{});
        QVERIFY2(done.has_value(), done ? "" : done.error().message.c_str());
    }
    /// Changes the bytes of a field of layer 2 in the file.
    void change(const char* field, const std::function<void(std::span<char> bytes, std::size_t size)>& edit) {
        const auto file = openSafetensors(path_); // the stored fields, not the layers
        QVERIFY(file.has_value());
        const TensorInfo* tensor = (*file)->find(nameOfLayer(2) + field);
        QVERIFY2(tensor, field);
        QFile out(QString::fromStdString(path_));
        QVERIFY(out.open(QIODevice::ReadWrite) && out.seek(qint64(tensor->offset)));
        QByteArray bytes = out.read(qint64(tensor->bytes));
        edit({bytes.data(), std::size_t(bytes.size())}, std::size_t(tensor->bytes / tensor->elements));
        QVERIFY(out.seek(qint64(tensor->offset)) && out.write(bytes) == bytes.size());
    }
    /// Moves elements: element i becomes element from[i].
    static void reorder(std::span<char> bytes, std::size_t size, const std::vector<std::size_t>& from) {
        const std::vector<char> was(bytes.begin(), bytes.end());
        for (std::size_t i = 0; i < from.size(); ++i) std::copy_n(&was[from[i] * size], size, &bytes[i * size]);
    }
    Set findings() const {
        const auto model = openModel(path_);
        if (!model) qFatal("%s", model.error().message.c_str());
        return found(*model);
    }
    /// True if the check found the changed layer. Others may have found it too.
    bool finds(const char* check) const { return findings().contains(check + (" " + nameOfLayer(2) + "weight")); }

    QTemporaryDir folder_;
    std::string path_;
};

void AuditScalesTest::asWritten() {
    QFETCH(int, row);
    write(kStored[row]);
    QVERIFY2(findings().empty(), shown(findings()).c_str());
}

void AuditScalesTest::reversed() {
    QFETCH(int, row);
    write(kStored[row]);
    change(kStored[row].scales, [](std::span<char> bytes, std::size_t size) {
        std::vector<std::size_t> from(bytes.size() / size);
        for (std::size_t i = 0; i < from.size(); ++i) from[i] = from.size() - 1 - i;
        reorder(bytes, size, from);
    });
    QVERIFY2(finds("scales"), shown(findings()).c_str());
}

void AuditScalesTest::shuffled() {
    QFETCH(int, row);
    write(kStored[row]);
    change(kStored[row].scales, [](std::span<char> bytes, std::size_t size) {
        std::vector<std::size_t> from(bytes.size() / size);
        std::iota(from.begin(), from.end(), std::size_t(0));
        std::shuffle(from.begin(), from.end(), std::mt19937(7));
        reorder(bytes, size, from);
    });
    QVERIFY2(finds("scales"), shown(findings()).c_str());
}

void AuditScalesTest::doubled() {
    QFETCH(int, row);
    if (std::string_view(kStored[row].spec).starts_with("nvfp4")) return; // its largest scales have no double
    write(kStored[row]);
    change(kStored[row].scales, [](std::span<char> bytes, std::size_t size) {
        for (std::size_t i = 0; i < bytes.size(); i += size) {
            std::uint32_t bits = 0;
            std::memcpy(&bits, &bytes[i], size);
            // One more in the exponent of F32, F16, or E4M3.
            bits += size == 4 ? 1u << 23 : size == 2 ? 1u << 10 : 1u << 3;
            std::memcpy(&bytes[i], &bits, size);
        }
    });
    QVERIFY2(finds("neighbours"), shown(findings()).c_str());
}

void AuditScalesTest::zerosPlusOne() {
    QFETCH(int, row);
    if (!kStored[row].zeros) return;
    write(kStored[row]);
    change(kStored[row].zeros, [](std::span<char> bytes, std::size_t) {
        for (char& byte : bytes) byte = char((byte + 1) & 15) | char((byte + 16) & 240);
    });
    QVERIFY2(finds("zero_points"), shown(findings()).c_str());
}

/// Settings that name another group size than the layers have.
void AuditScalesTest::settings() {
    write(kStored[4]);
    QFile file(QString::fromStdString(path_));
    QVERIFY(file.open(QIODevice::ReadWrite));
    QByteArray all = file.readAll();
    const auto at = all.indexOf("group_size\\\":64");
    QVERIFY(at > 0);
    all.replace(at, 15, "group_size\\\":32");
    QVERIFY(file.seek(0) && file.write(all) == all.size());
    file.close();
    QVERIFY2(findings().contains("contradiction model.layers.2.mlp.up_proj"), shown(findings()).c_str());
}

/// Layers of a trained network differ much more from each other than made ones.
void AuditScalesTest::trainedNetwork() {
    QFETCH(int, row);
    const Stored& stored = kStored[row];
    const auto model = openModel("resources/samples/tiny-llama");
    path_ = folder_.filePath(QStringLiteral("out")).toStdString();
    const QuantizeRequest request{*parseSpec(stored.spec), "(self_attn|gate_proj|up_proj)", stored.layout, path_};
    const auto done = quantizeModel(**model, request, Job{});
    QVERIFY2(done.has_value(), done ? "" : done.error().message.c_str());
    for (const std::string& finding : findings()) QVERIFY2(!finding.starts_with("scales "), finding.c_str());
}

/// Matrices whose small rows have the large outliers, as in trained networks: their scales say little, and nothing is wrong.
void AuditScalesTest::rowsOfTheirOwnSizes() {
    std::vector<TensorToWrite> tensors;
    for (int layer = 0; layer < 8; ++layer) {
        auto x = normal(kLayerRows, kLayerColumns, unsigned(layer + 1), 0.3f);
        std::mt19937 random(unsigned(layer + 50));
        std::normal_distribution<float> log(0, 0.05f);
        const bool isOdd = layer >= 6;
        for (std::size_t r = 0; r < std::size_t(kLayerRows); ++r) {
            const float size = std::exp((isOdd ? 8 : 1) * log(random));
            const auto values = std::span(x).subspan(r * kLayerColumns, kLayerColumns);
            for (float& v : values) v *= size;
            if (isOdd) values.front() = 1.5f;
        }
        const auto name = isOdd ? "model.layers." + std::to_string(layer - 6) + ".mlp.gate_proj." : nameOfLayer(layer);
        tensors.push_back(f32(name + "weight", {kLayerRows, kLayerColumns}, std::move(x)));
    }
    const auto model = opened(folder_, std::move(tensors));
    path_ = folder_.filePath(QStringLiteral("out.safetensors")).toStdString();
    const auto done =
        quantizeModel(*model, {*parseSpec("int8:dialect=ct:scale=channel"), {}, "compressed-tensors", path_}, Job{});
    QVERIFY2(done.has_value(), done ? "" : done.error().message.c_str());
    for (const std::string& finding : findings()) // the outliers make a channel of their own, and set all scales
        QVERIFY2(finding.starts_with("channels ") || finding.starts_with("scales_alike "), finding.c_str());
}

void AuditScalesTest::uniformValues_data() {
    QTest::addColumn<QString>("layout");
    QTest::addColumn<QString>("spec");
    QTest::addColumn<bool>("tells"); ///< codes of few bits are rounded so much that the scales differ a little
    const auto row = [](const char* layout, const char* spec, bool tells) {
        QTest::addRow("%s %s", layout, spec) << QString::fromLatin1(layout) << QString::fromLatin1(spec) << tells;
    };
    for (int i : {0, 1, 3, 4, 6, 7}) row(kStored[i].layout, kStored[i].spec, false);
    row("compressed-tensors", "int8:dialect=ct:block=32", true);
}

/// The first weights of torch.nn.Linear: their scales do not tell whether they belong to their codes.
void AuditScalesTest::uniformValues() {
    QFETCH(QString, layout);
    QFETCH(QString, spec);
    QFETCH(bool, tells);
    for (unsigned seed : {1, 2, 3, 4, 5, 6}) {
        std::mt19937 random(seed);
        std::uniform_real_distribution<float> value(-0.05f, 0.05f);
        std::vector<float> x(std::size_t(kLayerRows * kLayerColumns));
        for (float& v : x) v = value(random);
        writeOne(qPrintable(spec), qPrintable(layout), std::move(x));
        const Set is = findings(), cannotTell{"scales_alike " + nameOfLayer(0) + "weight"};
        QVERIFY2(is == cannotTell || (is.empty() && !tells), shown(is).c_str());
    }
}

void AuditScalesTest::ownMeans_data() {
    QTest::addColumn<QString>("spec");
    QTest::addColumn<float>("mean");     ///< in standard deviations
    QTest::addColumn<float>("rowMeans"); ///< the deviation of the means of rows, in the same unit
    QTest::addColumn<float>("sizes");    ///< the deviation of the logarithms of the sizes of rows
    QTest::newRow("equal rows") << QStringLiteral("int4:dialect=ct:block=64:sym=no") << 0.33f << 0.0f << 0.0f;
    QTest::newRow("rows of their own sizes")
        << QStringLiteral("int4:dialect=ct:block=64:sym=no") << 0.33f << 0.0f << 0.3f;
    QTest::newRow("rows of their own means")
        << QStringLiteral("int4:dialect=ct:block=32:sym=no") << 0.28f << 1.0f << 0.2f;
    QTest::newRow("positive values") << QStringLiteral("int2:dialect=ct:block=32:sym=no") << -1.0f << 0.0f << 0.3f;
}

/// Matrices whose mean is about one step of their codes.
void AuditScalesTest::ownMeans() {
    QFETCH(QString, spec);
    QFETCH(float, mean);
    QFETCH(float, rowMeans);
    QFETCH(float, sizes);
    std::mt19937 random(3);
    std::normal_distribution<float> value(0, 1);
    std::vector<float> x(std::size_t(kLayerRows * kLayerColumns));
    for (std::size_t r = 0; r < std::size_t(kLayerRows); ++r) {
        const float size = std::exp(sizes * value(random)), own = rowMeans * value(random);
        for (float& v : std::span(x).subspan(r * std::size_t(kLayerColumns), std::size_t(kLayerColumns))) {
            v = 0.02f * size * value(random);
            v = mean < 0 ? std::fabs(v) : v + 0.02f * (mean + own);
        }
    }
    writeOne(qPrintable(spec), "compressed-tensors", std::move(x));
    QVERIFY2(findings().empty(), shown(findings()).c_str());
}

QS_TEST(AuditScalesTest)
#include "audit_scales_test.moc"
