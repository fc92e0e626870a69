// SPDX-License-Identifier: GPL-3.0-or-later
// Sharded models, Hugging Face folders, and the Hugging Face cache with its symbolic links.
#include "core/model/companion.h"
#include "core/model/mapped_file.h"
#include "core/model/model.h"
#include "core/model/safetensors/safetensors.h"
#include "made_file.h"
#include "tests/support/test_program.h"

#include <nlohmann/json.hpp>

using namespace qs;

class ShardedTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init() {
        folder_ = std::make_unique<QTemporaryDir>();
        path_ = folder_->path();
    }
    void aSetOpensByIndexAndByFolder();
    void hubCache();
    void aMissingShardLeavesTheRest();
    void aMissingTensorLeavesTheRest();
    void aTensorInAnotherShard();
    void allShardsMissing();
    void aBrokenShardIsNamed();
    void unmappedTensor();
    void tensorInTwoShards();
    void wrongTotalSize_data();
    void wrongTotalSize();
    void lyingIndex_data();
    void lyingIndex();
    void folderWithOneFile();
    void folderWithSeveralFiles();
    void folderWithSomeShards();
    void variants();
    void nothingInTheFolder_data();
    void nothingInTheFolder();
    void linksOutOfTheFolder();
    void loopsOfLinks();

private:
    QString put(const QString& name, const QByteArray& bytes) { return ::put(path_, name, bytes); }
    void putShards() {
        put(QStringLiteral("model-00001-of-00002.safetensors"), smallFile("a", 'a'));
        put(QStringLiteral("model-00002-of-00002.safetensors"), smallFile("b", 'b'));
    }
    static QByteArray index(
        const QByteArray& map = "\"a\":\"model-00001-of-00002.safetensors\",\"b\":\"model-00002-of-00002.safetensors\"",
        const QByteArray& totalSize = "32") {
        return "{\"metadata\":{\"total_size\":" + totalSize + "},\"weight_map\":{" + map + "}}";
    }
    std::shared_ptr<const Model> open(const QString& path) {
        const auto model = openModel(path.toStdString());
        if (!model) qWarning("%s", model.error().message.c_str());
        return model ? *model : nullptr;
    }
    QString refusal(const QString& path) {
        const auto model = openModel(path.toStdString());
        return model ? QStringLiteral("it opened") : text(model.error().message);
    }
    std::unique_ptr<QTemporaryDir> folder_;
    QString path_;
};

void ShardedTest::aSetOpensByIndexAndByFolder() {
    putShards();
    put(QStringLiteral("config.json"), "{}");
    const QString indexPath = put(QStringLiteral("model.safetensors.index.json"), index());
    for (const QString& path : {indexPath, path_, path_ + QLatin1Char('/')}) {
        const auto model = open(path);
        QVERIFY(model);
        QCOMPARE(text(model->format),
                 path == indexPath ? QStringLiteral("safetensors-index") : QStringLiteral("huggingface"));
        QCOMPARE(text(model->folder), path_);
        QCOMPARE(text(model->title), QFileInfo(path_).fileName());
        QCOMPARE(model->files.size(), 2u);
        QCOMPARE(model->tensors.size(), 2u);
        QVERIFY2(model->warnings.empty(), model->warnings.empty() ? "" : model->warnings[0].c_str());
        const auto view = model->view(*model->find("b"));
        QVERIFY(view);
        QVERIFY(view->bytes.size() == 16 && view->bytes[0] == std::byte('b'));
        QVERIFY(text(view->file->path()).endsWith(QStringLiteral("model-00002-of-00002.safetensors")));
    }
}

void ShardedTest::hubCache() {
    const QString cache = QStringLiteral("hub/models--someone--tiny-llama/");
    const QString snapshot = cache + QStringLiteral("snapshots/0123abcd/");
    put(cache + QStringLiteral("blobs/aaaa"), smallFile("a"));
    put(cache + QStringLiteral("blobs/bbbb"), smallFile("b"));
    put(cache + QStringLiteral("blobs/cccc"), index());
    QDir().mkpath(path_ + QLatin1Char('/') + snapshot);
    const auto link = [&](const char* name, const char* blob) {
        QVERIFY(QFile::link(QStringLiteral("../../blobs/") + QString::fromUtf8(blob),
                            path_ + QLatin1Char('/') + snapshot + QString::fromUtf8(name)));
    };
    link("model-00001-of-00002.safetensors", "aaaa");
    link("model-00002-of-00002.safetensors", "bbbb");
    link("model.safetensors.index.json", "cccc");
    const auto model = open(path_ + QLatin1Char('/') + snapshot);
    QVERIFY(model);
    QCOMPARE(model->tensors.size(), 2u);
    QCOMPARE(text(model->title), QStringLiteral("someone/tiny-llama"));
    QVERIFY(model->warnings.empty());
    QVERIFY(open(path_ + QLatin1Char('/') + snapshot + QStringLiteral("model.safetensors.index.json")));
    QVERIFY(open(path_ + QLatin1Char('/') + snapshot + QStringLiteral("model-00001-of-00002.safetensors")));
    // For the folder above, the error names the folder to open.
    const QString why = refusal(path_ + QLatin1Char('/') + cache);
    QVERIFY2(why.contains(QStringLiteral("snapshots/0123abcd")), qPrintable(why));
}

void ShardedTest::aMissingShardLeavesTheRest() {
    putShards();
    const QString indexPath = put(QStringLiteral("model.safetensors.index.json"), index());
    QVERIFY(QFile::remove(path_ + QStringLiteral("/model-00001-of-00002.safetensors")));
    const auto model = open(indexPath);
    QVERIFY(model);
    QCOMPARE(model->tensors.size(), 1u);
    QVERIFY(model->find("b"));
    QCOMPARE(model->warnings.size(), 1u);
    QVERIFY2(text(model->warnings[0])
                 .contains(QStringLiteral(
                     "1 of 2 shards are missing, with 1 tensors; the first is \"model-00001-of-00002.safetensors\"")),
             model->warnings[0].c_str());
    QCOMPARE(model->missing.tensors, std::uint64_t(1));
    QCOMPARE(model->missing.files, std::vector<std::string>{"model-00001-of-00002.safetensors"});
    QCOMPARE(missingSentence(*model),
             std::string("Missing: 1 file (\"model-00001-of-00002.safetensors\"), 1 tensor (the "
                         "first is \"a\")."));
}

void ShardedTest::aMissingTensorLeavesTheRest() {
    putShards();
    const auto model =
        open(put(QStringLiteral("model.safetensors.index.json"),
                 index("\"a\":\"model-00001-of-00002.safetensors\",\"b\":\"model-00002-of-00002.safetensors\","
                       "\"model.layers.7.mtp.fc.weight\":\"model-00002-of-00002.safetensors\"")));
    QVERIFY(model);
    QCOMPARE(model->tensors.size(), 2u);
    QCOMPARE(model->warnings.size(), 1u);
    QVERIFY2(text(model->warnings[0])
                 .contains(QStringLiteral("tensor \"model.layers.7.mtp.fc.weight\" is mapped to "
                                          "\"model-00002-of-00002.safetensors\", which does not hold it")),
             model->warnings[0].c_str());
}

/// The index names the wrong shard; the tensor is there all the same.
void ShardedTest::aTensorInAnotherShard() {
    putShards();
    const auto model =
        open(put(QStringLiteral("model.safetensors.index.json"), index("\"a\":\"model-00002-of-00002.safetensors\","
                                                                       "\"b\":\"model-00001-of-00002.safetensors\"")));
    QVERIFY(model);
    QCOMPARE(model->tensors.size(), 2u);
    QVERIFY2(text(model->warnings[0]).contains(QStringLiteral("which does not hold it")), model->warnings[0].c_str());
}

void ShardedTest::allShardsMissing() {
    const QString why = refusal(put(QStringLiteral("model.safetensors.index.json"), index()));
    QVERIFY2(why.contains(QStringLiteral("none of its 2 shards")), qPrintable(why));
}

void ShardedTest::aBrokenShardIsNamed() {
    putShards();
    const QString indexPath = put(QStringLiteral("model.safetensors.index.json"), index());
    put(QStringLiteral("model-00002-of-00002.safetensors"), smallFile("b").chopped(2));
    QVERIFY(refusal(indexPath).contains(QStringLiteral("model-00002-of-00002.safetensors: tensor \"b\"")));
    put(QStringLiteral("model-00002-of-00002.safetensors"), "version https://git-lfs.github.com/spec/v1\n");
    QVERIFY(refusal(path_).contains(QStringLiteral("model-00002-of-00002.safetensors is a Git LFS pointer")));
}

void ShardedTest::unmappedTensor() {
    putShards();
    const QString indexPath =
        put(QStringLiteral("model.safetensors.index.json"),
            index("\"a\":\"model-00001-of-00002.safetensors\",\"c\":\"model-00002-of-00002.safetensors\""));
    put(QStringLiteral("model-00002-of-00002.safetensors"),
        madeFile("{" + entry("b", "F32", "[4]", "[0,16]") + "," + entry("c", "F32", "[4]", "[16,32]") + "}",
                 zeros(32)));
    const auto model = open(indexPath);
    QVERIFY(model);
    QCOMPARE(model->tensors.size(), 3u);
    QCOMPARE(model->warnings.size(), 1u);
    QVERIFY2(text(model->warnings[0])
                 .contains(QStringLiteral("1 tensors are in the shards but not in weight_map; the first is \"b\"")),
             model->warnings[0].c_str());
}

void ShardedTest::tensorInTwoShards() {
    putShards();
    put(QStringLiteral("model-00002-of-00002.safetensors"),
        madeFile("{" + entry("a", "F32", "[2]", "[0,8]") + "," + entry("b", "F32", "[4]", "[8,24]") + "}", zeros(24)));
    const auto model = open(put(QStringLiteral("model.safetensors.index.json"), index()));
    QVERIFY(model);
    QCOMPARE(model->tensors.size(), 2u);
    QCOMPARE(model->find("a")->elements, 4u); // the one in the map
    QCOMPARE(model->warnings.size(), 1u);
}

void ShardedTest::wrongTotalSize_data() {
    QTest::addColumn<QByteArray>("size");
    QTest::addColumn<int>("warnings");
    QTest::newRow("right") << QByteArray("32") << 0;
    QTest::newRow("too small") << QByteArray("31") << 1;
    QTest::newRow("huge") << QByteArray("18446744073709551615") << 1;
    QTest::newRow("not a whole number: no claim") << QByteArray("3.2e1") << 0;
    QTest::newRow("null: no claim") << QByteArray("null") << 0;
}

void ShardedTest::wrongTotalSize() {
    QFETCH(QByteArray, size);
    QFETCH(int, warnings);
    putShards();
    const auto model =
        open(put(QStringLiteral("model.safetensors.index.json"),
                 index("\"a\":\"model-00001-of-00002.safetensors\",\"b\":\"model-00002-of-00002.safetensors\"", size)));
    QVERIFY(model);
    QCOMPARE(int(model->warnings.size()), warnings);
    if (warnings)
        QVERIFY(text(model->warnings[0])
                    .contains(QStringLiteral("total_size says %1 bytes, but the mapped tensors have 32")
                                  .arg(QString::fromUtf8(size))));
}

void ShardedTest::lyingIndex_data() {
    QTest::addColumn<QByteArray>("json");
    QTest::addColumn<QString>("says");
    const auto row = [](const char* name, const QByteArray& json, const char* says) {
        QTest::newRow(name) << json << QString::fromUtf8(says);
    };
    const auto mapped = [](const QByteArray& shard) { return "{\"weight_map\":{\"a\":\"" + shard + "\"}}"; };
    row("parent folder", mapped("../model.safetensors"), "not a plain file name");
    row("absolute path", mapped("/etc/passwd"), "not a plain file name");
    row("subfolder", mapped("sub/model.safetensors"), "not a plain file name");
    row("backslash", mapped("..\\\\model.safetensors"), "not a plain file name");
    row("dots", mapped(".."), "not a plain file name");
    row("dot", mapped("."), "not a plain file name");
    row("empty name", mapped(""), "not a plain file name");
    row("NUL in the name", mapped("a\\u0000b"), "not a plain file name");
    row("shard is a number", "{\"weight_map\":{\"a\":1}}", "tensor \"a\" is mapped to a number");
    row("shard is null", "{\"weight_map\":{\"a\":null}}", "tensor \"a\" is mapped to null");
    row("shard is an object", "{\"weight_map\":{\"a\":{}}}", "tensor \"a\" is mapped to an object");
    row("shard is a list", "{\"weight_map\":{\"a\":[\"b\"]}}", "tensor \"a\" is mapped to an array");
    row("tensor twice", "{\"weight_map\":{\"a\":\"x\",\"a\":\"y\"}}", "tensor \"a\" twice");
    row("map twice", "{\"weight_map\":{},\"weight_map\":{}}", "\"weight_map\" is there twice");
    row("no map", "{\"metadata\":{}}", "there is no weight_map");
    row("map inside something else", "{\"x\":{\"weight_map\":{\"a\":\"x\"}}}", "there is no weight_map");
    row("map is a list", "{\"weight_map\":[]}", "weight_map is an array");
    row("map is text", "{\"weight_map\":\"x\"}", "weight_map is text");
    row("a list", "[]", "the index is an array");
    row("broken", "{\"weight_map\":{", "JSON is broken");
    row("text after it", mapped("x") + "x", "JSON is broken");
    row("byte order mark", "\xef\xbb\xbf{}", "byte order mark");
    row("NUL", QByteArray("{}\0", 3), "NUL");
    row("not UTF-8", "{\"\xff\":1}", "UTF-8");
    row("depth bomb", "{\"x\":" + QByteArray(100000, '['), "nested more than 8");
    row("empty", "", "is empty");
    row("mapped to a pickle", mapped("pytorch_model-00001-of-00001.bin"),
        "pytorch_model-00001-of-00001.bin is a Python pickle");
    row("mapped to itself", mapped("model.safetensors.index.json"), "model.safetensors.index.json: ");
}

void ShardedTest::lyingIndex() {
    QFETCH(QByteArray, json);
    QFETCH(QString, says);
    putShards();
    put(QStringLiteral("pytorch_model-00001-of-00001.bin"), "\x80\x02}q\x01.");
    const QString why = refusal(put(QStringLiteral("model.safetensors.index.json"), json));
    QVERIFY2(why.contains(says), qPrintable(why));
    QVERIFY2(why.startsWith(path_) && why.endsWith(QLatin1Char('.')) && why.size() <= 500, qPrintable(why));
}

void ShardedTest::folderWithOneFile() {
    put(QStringLiteral("config.json"), "{}");
    put(QStringLiteral("model.safetensors"), smallFile());
    const auto model = open(path_);
    QVERIFY(model);
    QCOMPARE(model->tensors.size(), 1u);
    QCOMPARE(text(model->folder), path_);
    QVERIFY(model->warnings.empty());
}

void ShardedTest::folderWithSeveralFiles() {
    put(QStringLiteral("x10.safetensors"), smallFile("w", 'B'));
    put(QStringLiteral("x2.safetensors"), smallFile("w", 'A'));
    put(QStringLiteral("y.safetensors"), smallFile("v"));
    put(QStringLiteral("z.safetensors.incomplete"), smallFile("u"));
    const auto model = open(path_);
    QVERIFY(model);
    QCOMPARE(model->files.size(), 3u);
    QCOMPARE(model->tensors.size(), 2u);
    QVERIFY(model->view(*model->find("w"))->bytes[0] == std::byte('A'));
    QCOMPARE(model->warnings.size(), 1u);
    QVERIFY2(text(model->warnings[0])
                 .contains(QStringLiteral(
                     "1 tensors more than once: \"w\" is in \"x2.safetensors\" and in \"x10.safetensors\"")),
             model->warnings[0].c_str());
}

void ShardedTest::folderWithSomeShards() {
    put(QStringLiteral("model-00001-of-00003.safetensors"), smallFile("a"));
    put(QStringLiteral("model-00003-of-00003.safetensors"), smallFile("c"));
    const auto model = open(path_);
    QVERIFY(model);
    QCOMPARE(model->tensors.size(), 2u);
    QCOMPARE(model->warnings.size(), 1u);
    QVERIFY2(text(model->warnings[0]).contains(QStringLiteral("only 2 of 3 shards")), model->warnings[0].c_str());
    QCOMPARE(model->missing.files, std::vector<std::string>{"model-00002-of-00003.safetensors"});
}

void ShardedTest::variants() {
    put(QStringLiteral("model.fp16-00001-of-00001.safetensors"), smallFile("half"));
    put(QStringLiteral("model.fp16.safetensors.index.json"),
        "{\"weight_map\":{\"half\":\"model.fp16-00001-of-00001.safetensors\"}}");
    auto model = open(path_);
    QVERIFY(model && model->find("half") && model->warnings.empty());
    QVERIFY(open(path_ + QStringLiteral("/model.fp16.safetensors.index.json")));
    // The file without a variant is used, as in transformers; the other is named in a warning.
    put(QStringLiteral("model.safetensors"), smallFile("full"));
    model = open(path_);
    QVERIFY(model && model->find("full") && !model->find("half"));
    QCOMPARE(model->warnings.size(), 1u);
    QVERIFY(text(model->warnings[0]).contains(QStringLiteral("also holds \"model.fp16-00001-of-00001.safetensors\"")));
    QFile::remove(path_ + QStringLiteral("/model.safetensors"));
    putShards();
    put(QStringLiteral("model.safetensors.index.json"), index());
    model = open(path_);
    QVERIFY(model && model->find("a") && !model->find("half"));
    QVERIFY(text(model->warnings.at(0)).contains(QStringLiteral("also holds \"model.fp16.safetensors.index.json\"")));
}

void ShardedTest::nothingInTheFolder_data() {
    QTest::addColumn<QString>("file");
    QTest::addColumn<QString>("says");
    QTest::newRow("empty") << QString() << QStringLiteral("holds no safetensors file.");
    QTest::newRow("pickles") << QStringLiteral("pytorch_model.bin") << QStringLiteral("is no PyTorch checkpoint");
    QTest::newRow("in a subfolder") << QStringLiteral("unet/diffusion_pytorch_model.safetensors")
                                    << QStringLiteral("open %1/unet in it");
}

void ShardedTest::nothingInTheFolder() {
    QFETCH(QString, file);
    QFETCH(QString, says);
    if (!file.isEmpty()) put(file, smallFile());
    const QString why = refusal(path_);
    QVERIFY2(why.contains(says.contains(QLatin1Char('%')) ? says.arg(path_) : says) && why.startsWith(path_),
             qPrintable(why));
}

/// A downloaded folder cannot show other files of the user. A link that the user names is another matter.
void ShardedTest::linksOutOfTheFolder() {
    QTemporaryDir other;
    const auto elsewhere = [&](const char* name, const QByteArray& bytes) {
        QFile file(other.filePath(QString::fromUtf8(name)));
        if (!file.open(QIODevice::WriteOnly) || file.write(bytes) != bytes.size()) qFatal("not written");
        return file.fileName();
    };
    const QString weights = elsewhere("secret.safetensors", smallFile("a"));
    const auto linked = [&](const char* name, const QString& target) {
        const QString link = path_ + QLatin1Char('/') + QString::fromUtf8(name);
        QFile::remove(link);
        if (!QFile::link(target, link)) qFatal("not linked");
        return link;
    };
    const QString says = QStringLiteral("is not opened: it is a symlink out of the model's folder");
    const QString single = linked("model.safetensors", weights);
    QVERIFY2(refusal(path_).contains(says), qPrintable(refusal(path_)));
    QVERIFY(open(single));
    QVERIFY(QFile::remove(single));

    putShards();
    const QString indexPath = put(QStringLiteral("model.safetensors.index.json"), index());
    linked("model-00001-of-00002.safetensors", weights);
    for (const QString& path : {path_, indexPath}) QVERIFY2(refusal(path).contains(says), qPrintable(refusal(path)));
    QVERIFY(QFile::remove(path_ + QStringLiteral("/model-00001-of-00002.safetensors")));
    putShards();
    QVERIFY(open(path_));
    linked("model.safetensors.index.json", elsewhere("index.json", index()));
    QVERIFY2(refusal(path_).contains(says), qPrintable(refusal(path_)));

    const auto config =
        readCompanionTree(linked("config.json", elsewhere("config.json", R"({"model_type": "secret"})")).toStdString());
    QVERIFY(!config && text(config.error().message).contains(says));
    linked("config.json", QStringLiteral("inside.json"));
    put(QStringLiteral("inside.json"), "{}");
    QVERIFY(readCompanionTree((path_ + QStringLiteral("/config.json")).toStdString()));
}

void ShardedTest::loopsOfLinks() {
    QVERIFY(QFile::link(QStringLiteral("loop.safetensors"), path_ + QStringLiteral("/loop.safetensors")));
    QVERIFY(QFile::link(QStringLiteral("."), path_ + QStringLiteral("/here")));
    QVERIFY(refusal(path_ + QStringLiteral("/loop.safetensors"))
                .contains(QStringLiteral("loop.safetensors cannot be read")));
    QVERIFY(!refusal(path_).contains(QStringLiteral("it opened")));
    QVERIFY(QFile::link(QStringLiteral("gone.safetensors"), path_ + QStringLiteral("/dangling.safetensors")));
    QVERIFY(refusal(path_ + QStringLiteral("/dangling.safetensors")).contains(QStringLiteral("does not exist")));
}

QS_TEST(ShardedTest)
#include "sharded_test.moc"
