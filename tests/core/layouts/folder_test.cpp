// SPDX-License-Identifier: GPL-3.0-or-later
// A sharded Hugging Face folder as input and output: one shard for each shard, the index, and the other files.
#include "core/layouts/layout.h"
#include "core/layouts/serve.h"
#include "core/model/gguf/imatrix_write.h"
#include "tests/core/quant/made_model.h"
#include "tests/support/files.h"
#include "tests/support/test_program.h"

#include <QDir>
#include <QFile>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <unistd.h>

using namespace qs;
using namespace qs::test;

namespace {

std::vector<float> ramp(std::size_t n, float step) {
    std::vector<float> values(n);
    for (std::size_t i = 0; i < n; ++i) values[i] = step * (float(i % 37) - 18.0f);
    return values;
}

QuantizeRequest request(const QString& output, const char* spec, const char* regex = "") {
    QuantizeRequest r;
    r.spec = *parseSpec(spec);
    r.choice = regex;
    r.output = output.toStdString();
    return r;
}

} // namespace

class FolderTest : public QObject {
    Q_OBJECT
    QTemporaryDir dir_;
    QString source_;
    std::shared_ptr<const Model> model_;

private Q_SLOTS:
    void initTestCase() {
        source_ = dir_.filePath(QStringLiteral("model"));
        QVERIFY(QDir().mkpath(source_ + QStringLiteral("/extra")));
        const auto shard = [&](const char* name, std::vector<TensorToWrite> tensors) {
            const std::string path = (source_ + u'/' + QString::fromLatin1(name)).toStdString();
            QVERIFY(writeSafetensors(path, std::move(tensors), {}, nullptr, Job{}).has_value());
        };
        shard("model-00001-of-00002.safetensors",
              {made("a.weight", DType::F32, {4, 70}, ramp(280, 0.01f)), made("a.bias", DType::F32, {4}, ramp(4, 1))});
        shard("model-00002-of-00002.safetensors", {made("b.weight", DType::F32, {8, 64}, ramp(512, 0.3f))});
        put(source_ + QStringLiteral("/model.safetensors.index.json"),
            R"({"metadata":{"total_size":3184},"weight_map":{"a.weight":"model-00001-of-00002.safetensors",
               "a.bias":"model-00001-of-00002.safetensors","b.weight":"model-00002-of-00002.safetensors"}})");
        put(source_ + QStringLiteral("/config.json"), R"({"model_type":"llama"})");
        put(source_ + QStringLiteral("/extra/merges.txt"), "a b\n");
        const auto model = openModel(source_.toStdString());
        QVERIFY2(model.has_value(), model ? "" : model.error().message.c_str());
        model_ = *model;
        QCOMPARE(model_->tensors.size(), std::size_t(3));
    }

    /// An index that no reader takes is refused before the values are read, not after hours of work.
    void indexOverItsLimit() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
        QSKIP("names of 108 MB take most of a minute with sanitizers");
#endif
        const QString source = dir_.filePath(QStringLiteral("long")), output = dir_.filePath(QStringLiteral("over"));
        QVERIFY(QDir().mkpath(source));
        // An index of 54 MB; two fields for each tensor make 108 MB.
        constexpr int shards = 3, inEach = 600, letters = 30'000;
        QByteArray map = "{\"weight_map\":{";
        for (int k = 0; k < shards; ++k) {
            const std::string name = "s" + std::to_string(k) + ".safetensors";
            std::vector<TensorToWrite> tensors;
            for (int i = 0; i < inEach; ++i) {
                tensors.push_back(made(std::string(letters, 'n') + std::to_string(inEach * k + i), DType::F32, {1, 4},
                                       ramp(4, 0.1f)));
                map += (map.endsWith('{') ? "\"" : ",\"") + tensors.back().name + "\":\"" + name + '"';
            }
            QVERIFY(writeSafetensors((source.toStdString() + "/") + name, std::move(tensors), {}, nullptr, Job{}));
        }
        put(source + QStringLiteral("/model.safetensors.index.json"), map + "}}");
        const auto model = openModel(source.toStdString());
        QVERIFY2(model.has_value(), model ? "" : model.error().message.c_str());
        bool staged = false; // the values are read to write the staged files
        QuantizeRequest asked = request(output, "int8");
        asked.stage = [&](std::span<const FileToStage>) {
            staged = true;
            return Result<std::vector<std::string>>();
        };
        const auto refused = quantizeModel(**model, asked, Job{});
        QVERIFY(!refused);
        const std::string said = output.toStdString() + ": an index of more than 100000000 bytes";
        QVERIFY2(refused.error().message.starts_with(said), refused.error().message.c_str());
        QVERIFY(!staged && !QFileInfo::exists(output));
    }

    /// A quantized source that is quantized again keeps the distribution of tensors over shards.
    void storedModelKeepsItsShards() {
        const QString first = dir_.filePath(QStringLiteral("stored")), again = dir_.filePath(QStringLiteral("again"));
        QVERIFY(quantizeModel(*model_, request(first, "nf4:block=32"), Job{}).has_value());
        const auto stored = openModel(first.toStdString());
        QVERIFY(stored.has_value());
        const auto served = servedModel(*stored, Job{});
        QVERIFY2(served.has_value(), served ? "" : served.error().message.c_str());
        QCOMPARE((*served)->files.size(), (*stored)->files.size());
        for (std::size_t i = 0; i < (*served)->files.size(); ++i)
            QCOMPARE((*served)->files[i].path, (*stored)->files[i].path);
        const auto written = quantizeModel(**served, request(again, "int8"), Job{});
        QVERIFY2(written.has_value(), written ? "" : written.error().message.c_str());
        const auto index =
            nlohmann::json::parse(bytesOf(again + QStringLiteral("/model.safetensors.index.json")).toStdString());
        QCOMPARE(index["weight_map"]["a.weight.weight"].get<std::string>(),
                 std::string("model-00001-of-00002.safetensors"));
        QCOMPARE(index["weight_map"]["b.weight.weight"].get<std::string>(),
                 std::string("model-00002-of-00002.safetensors"));
        QCOMPARE(bytesOf(again + QStringLiteral("/extra/merges.txt")), QByteArray("a b\n"));
    }

    void folderHasShardsIndexAndUntouchedFiles() {
        const QString out = dir_.filePath(QStringLiteral("quantized"));
        const auto written = quantizeModel(*model_, request(out, "nf4:block=32"), Job{});
        QVERIFY2(written.has_value(), written ? "" : written.error().message.c_str());
        QCOMPARE(written->quantizedTensors, std::uint64_t(2));
        QCOMPARE(written->copiedTensors, std::uint64_t(1));
        QCOMPARE(bytesOf(out + QStringLiteral("/config.json")), bytesOf(source_ + QStringLiteral("/config.json")));
        QCOMPARE(bytesOf(out + QStringLiteral("/extra/merges.txt")), QByteArray("a b\n"));

        const auto index =
            nlohmann::json::parse(bytesOf(out + QStringLiteral("/model.safetensors.index.json")).toStdString());
        // a: 4 rows of 3 blocks of 16 bytes and a scale, and the bias; b: 8 rows of 2 blocks.
        QCOMPARE(index["metadata"]["total_size"].get<int>(), 4 * 3 * (16 + 4) + 4 * 4 + 8 * 2 * (16 + 4));
        QCOMPARE(index["weight_map"]["a.weight.packed"].get<std::string>(),
                 std::string("model-00001-of-00002.safetensors"));
        QCOMPARE(index["weight_map"]["b.weight.absmax"].get<std::string>(),
                 std::string("model-00002-of-00002.safetensors"));
        QCOMPARE(index["weight_map"].size(), std::size_t(5));

        const auto reopened = openModel(out.toStdString());
        QVERIFY(reopened.has_value());
        QVERIFY((*reopened)->warnings.empty());
        const QString back = dir_.filePath(QStringLiteral("back"));
        QVERIFY(dequantizeModel(**reopened, std::nullopt, back.toStdString(), Job{}).has_value());
        const auto plain = openModel(back.toStdString());
        QVERIFY(plain.has_value());
        for (const auto& tensor : model_->tensors) {
            const auto* same = (*plain)->find(tensor.name);
            QVERIFY(same);
            QVERIFY(same->shape == tensor.shape && same->dtype == tensor.dtype);
        }
        QVERIFY(valuesOf<float>(**plain, "a.bias") == ramp(4, 1));
        const auto quantized =
            quantizeTensor(*model_->view(*model_->find("a.weight")), *parseSpec("nf4:block=32"), Job{});
        QVERIFY(valuesOf<float>(**plain, "a.weight") == materialize(*quantized));
    }

    void outputInsideTheSourceIsNotCopied() {
        const QString out = source_ + QStringLiteral("/quantized");
        for (int round = 0; round < 2; ++round) {
            const auto written = quantizeModel(*model_, request(out, "int8"), Job{});
            QVERIFY2(written.has_value(), written ? "" : written.error().message.c_str());
            QCOMPARE(QDir(out).entryList(QDir::Dirs | QDir::NoDotAndDotDot), QStringList{QStringLiteral("extra")});
            QCOMPARE(QDir(out).entryList(QDir::Files),
                     (QStringList{QStringLiteral("config.json"), QStringLiteral("model-00001-of-00002.safetensors"),
                                  QStringLiteral("model-00002-of-00002.safetensors"),
                                  QStringLiteral("model.safetensors.index.json")}));
        }
        QVERIFY(QDir(out).removeRecursively());
    }

    /// The same weights in other formats would make the quantized folder larger than its source.
    void otherWeightsAreLeftOut() {
        const char header[] = "\x93NUMPY\x01\x00\x76\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }";
        QByteArray npyOfFloats(header, sizeof header - 1);
        npyOfFloats = npyOfFloats.leftJustified(127) + '\n' + QByteArray(16, '\0');
        const QString source = dir_.filePath(QStringLiteral("many"));
        const auto copyOfFile = [&](const char* from, const char* to) {
            put(source + u'/' + QString::fromLatin1(to),
                bytesOf(QStringLiteral("tests/data/") + QString::fromLatin1(from)));
        };
        const auto names = QDir(source_).entryList(QDir::Files);
        for (const QString& name : names) put(source, name, bytesOf(source_ + u'/' + name));
        copyOfFile("pytorch/zip_2.pt", "original/consolidated.00.pth");
        copyOfFile("pytorch/zip_2.pt", "pytorch_model.bin");
        copyOfFile("onnx/types.onnx", "onnx/model.onnx");
        copyOfFile("onnx/types_outside.bin", "onnx/model.onnx_data");
        copyOfFile("safetensors/names.safetensors", "adapter_model.safetensors");
        copyOfFile("onnx/types_outside.bin", "onnx/types_outside.bin"); // named by onnx/model.onnx
        for (const char* name : {"model.json", "group1-shard1of3.bin", "group1-shard2of3.bin", "group1-shard3of3.bin"})
            copyOfFile((std::string("tfjs/layers/") + name).c_str(), (std::string("tfjs/") + name).c_str());
        std::filesystem::copy("tests/data/zarr/orbax_2", (source + QStringLiteral("/orbax")).toStdString(),
                              std::filesystem::copy_options::recursive);
        copyOfFile("eval/llama/tokens.npy", "tokens.npy");
        put(source + QStringLiteral("/head.npy"), npyOfFloats);
        const ImatrixToWrite matrix{{{"blk.0.attn_q.weight", {1, 2}, {3}}}, "text", 1, 512};
        put(source + QStringLiteral("/imatrix.dat"), QByteArray::fromStdString(imatrixAsDat(matrix)));
        put(source + QStringLiteral("/spiece.dat"), "no matrix");
        put(source + QStringLiteral("/README.md"), "# A model\n");
        const auto model = openModel(source.toStdString());
        QVERIFY2(model && (*model)->tensors.size() == 3, model ? "" : model.error().message.c_str());
        const QString out = dir_.filePath(QStringLiteral("few")), whole = dir_.filePath(QStringLiteral("all"));
        const auto written = quantizeModel(**model, request(out, "int8"), Job{});
        QVERIFY2(written.has_value(), written ? "" : written.error().message.c_str());
        std::vector<std::string> leftOut;
        for (const LeftOut& one : written->leftOut) leftOut.push_back(one.name);
        QCOMPARE(leftOut, (std::vector<std::string>{"adapter_model.safetensors", "head.npy", "imatrix.dat",
                                                    "onnx/model.onnx", "onnx/model.onnx_data", "onnx/types_outside.bin",
                                                    "orbax", "original/consolidated.00.pth", "pytorch_model.bin",
                                                    "tfjs/group1-shard1of3.bin", "tfjs/group1-shard2of3.bin",
                                                    "tfjs/group1-shard3of3.bin", "tfjs/model.json"}));
        QVERIFY(!QFileInfo::exists(out + QStringLiteral("/onnx")));
        QVERIFY(QFileInfo::exists(out + QStringLiteral("/tokens.npy")));
        QVERIFY(QFileInfo::exists(out + QStringLiteral("/spiece.dat")));
        QVERIFY(!written->remarks.empty() && written->remarks.back().starts_with("README.md is the model card"));
        auto asked = request(whole, "int8");
        asked.copyAll = true;
        const auto all = quantizeModel(**model, asked, Job{});
        QVERIFY(all && all->leftOut.empty());
        for (const std::string& name : leftOut) QVERIFY(QFileInfo::exists(whole + u'/' + q(name)));
    }

    // Loaders look for model.safetensors or an index. The single shard here has another name, so the index must stay.
    void indexOfASingleShardStays() {
        QTemporaryDir folder;
        opened(folder, {made("w", DType::F32, {4, 64}, ramp(256, 1))}, "part-00002.safetensors");
        put(folder.filePath(QStringLiteral("model.safetensors.index.json")),
            R"({"weight_map":{"v":"part-00001.safetensors","w":"part-00002.safetensors"}})");
        const auto model = openModel(folder.path().toStdString());
        QVERIFY(model && (*model)->warnings.size() == 1);
        QTemporaryDir output;
        const QString out = output.filePath(QStringLiteral("out"));
        auto asked = request(out, "int8");
        asked.allowMissing = true;
        const auto written = quantizeModel(**model, asked, Job{});
        QVERIFY2(written.has_value(), written ? "" : written.error().message.c_str());
        const auto index =
            nlohmann::json::parse(bytesOf(out + QStringLiteral("/model.safetensors.index.json")).toStdString());
        QCOMPARE(index["weight_map"].size(), std::size_t(2));
        QCOMPARE(index["weight_map"]["w.weight"].get<std::string>(), std::string("part-00002.safetensors"));
        const auto reopened = openModel(out.toStdString());
        QVERIFY(reopened && (*reopened)->warnings.empty());
    }

    void refusedTensorWritesNothing() {
        // eformer's 2-bit packing needs a multiple of four rows. The layout refuses a shape with 3 rows.
        QTemporaryDir folder;
        const auto model = opened(
            folder, {made("good", DType::F32, {4, 8}, ramp(32, 1)), made("bad", DType::F32, {3, 8}, ramp(24, 1))});
        const QString out = folder.filePath(QStringLiteral("out"));
        const auto written = quantizeModel(*model, request(out, "ternary"), Job{});
        QVERIFY(!written.has_value());
        QVERIFY2(written.error().message.find("bad") != std::string::npos, written.error().message.c_str());
        QVERIFY(written.error().message.find("--tensor") != std::string::npos);
        QVERIFY(!QFile::exists(out));
        QCOMPARE(QDir(folder.path()).entryList(QDir::Files | QDir::Dirs | QDir::NoDotAndDotDot | QDir::Hidden).size(),
                 1);
    }

    void sourceIsNeverReplaced() {
        const QByteArray before = bytesOf(source_ + QStringLiteral("/model-00001-of-00002.safetensors"));
        for (const QString& out : {source_, source_ + QStringLiteral("/model-00001-of-00002.safetensors")}) {
            const auto written = quantizeModel(*model_, request(out, "int8"), Job{});
            QVERIFY(!written.has_value());
            QVERIFY(written.error().message.size() <= 500);
        }
        QCOMPARE(bytesOf(source_ + QStringLiteral("/model-00001-of-00002.safetensors")), before);
    }

    void collidingNamesAreRefused() {
        QTemporaryDir folder;
        const auto model = opened(
            folder, {made("w", DType::F32, {4, 64}, ramp(256, 1)), made("w.absmax", DType::F32, {3}, ramp(3, 1))});
        const QString out = folder.filePath(QStringLiteral("out.safetensors"));
        const auto written = quantizeModel(*model, request(out, "nf4"), Job{});
        QVERIFY(!written.has_value());
        QVERIFY2(written.error().message.find("w.absmax") != std::string::npos, written.error().message.c_str());
        QVERIFY(!QFile::exists(out));
    }

    /// If the source shrinks while it is read, zeros would be read. So no output may get its name.
    void changedSourceGivesNoOutput() {
        QTemporaryDir folder;
        const auto model = opened(folder, {made("w", DType::F32, {64, 4096}, ramp(64 * 4096, 0.1f))});
        QVERIFY(truncate(model->files[0].path.c_str(), 4096) == 0);
        for (const char* name : {"out.safetensors", "out"}) {
            const QString out = folder.filePath(QString::fromLatin1(name));
            const auto written = quantizeModel(*model, request(out, "nf4"), Job{});
            QVERIFY(!written.has_value());
            QVERIFY(!QFile::exists(out));
        }
        QCOMPARE(QDir(folder.path()).entryList(QDir::Files | QDir::Dirs | QDir::NoDotAndDotDot | QDir::Hidden).size(),
                 1);
    }

    void cancelledLeavesNothing() {
        Job job;
        job.cancel();
        const QString out = dir_.filePath(QStringLiteral("cancelled"));
        const auto written = quantizeModel(*model_, request(out, "nf4"), job);
        QVERIFY(!written.has_value() && written.error().cancelled);
        QVERIFY(!QFile::exists(out));
        QVERIFY(QDir(dir_.path()).entryList({QStringLiteral("cancelled*")}, QDir::Dirs | QDir::Hidden).isEmpty());
    }
};

QS_TEST(FolderTest)
#include "folder_test.moc"
