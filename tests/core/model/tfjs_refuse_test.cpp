// SPDX-License-Identifier: GPL-3.0-or-later
// TensorFlow.js: faulty models, and shards that are missing, broken or changed.
#include "made_tfjs.h"
#include "tests/support/test_program.h"

using namespace tfjs_made;

class TfjsRefuseTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init() { folder_ = std::make_unique<QTemporaryDir>(); }
    void missingShards_data();
    void missingShards();
    void refused_data();
    void refused();
    void shardsThatAreNone_data();
    void shardsThatAreNone();
    void everyPrefixOfTheManifest();
    void aChangedShardIsNoticed();

private:
    QString add(const char* name, const QByteArray& bytes) {
        return put(folder_->path(), QString::fromUtf8(name), bytes);
    }
    QString refusal(const QString& path) {
        const auto model = openModel(path.toStdString());
        return model ? QStringLiteral("it opened") : text(model.error().message);
    }
    std::unique_ptr<QTemporaryDir> folder_;
};

void TfjsRefuseTest::missingShards_data() {
    QTest::addColumn<QString>("missing");
    QTest::addColumn<QString>("left");
    QTest::addColumn<QString>("says");
    const auto row = [](const char* missing, const char* left, const char* says) {
        QTest::newRow(missing) << QString::fromUtf8(missing) << QString::fromUtf8(left) << QString::fromUtf8(says);
    };
    row("1", "c d e f", "1 of 4 shards are missing, with 2 tensors; the first is \"1\"");
    row("2", "a d e f", "1 of 4 shards are missing, with 2 tensors; the first is \"2\"");
    row("3", "a b c f", "1 of 4 shards are missing, with 2 tensors; the first is \"3\"");
    row("4", "a b c d e", "1 of 4 shards are missing, with 1 tensors; the first is \"4\"");
    row("1 2", "d e f", "2 of 4 shards are missing, with 3 tensors; the first is \"1\"");
    row("1 3", "f", "2 of 4 shards are missing, with 5 tensors; the first is \"1\"");
    row("1 2 3 4", "", "none of its 4 shards is there; the first is \"1\"");
}

/// Shards 1 to 3 are a group: a and b begin in 1, b ends in 2, c, d and e follow, d ends in 3.
void TfjsRefuseTest::missingShards() {
    QFETCH(QString, missing);
    QFETCH(QString, left);
    QFETCH(QString, says);
    const auto path = add("model.json", manifest(group(weight("a", "[2]") + "," + weight("b", "[2]") + "," +
                                                           weight("c", "[1]", "uint16") + "," + weight("d", "[2]") +
                                                           "," + weight("e", "[3]", "uint8"),
                                                       "\"1\",\"2\",\"3\"") +
                                                 "," + group(weight("f", "[1]"), "\"4\"")));
    const QByteArray bytes = QByteArrayLiteral("aaaaaaaabbbbbbbbccddddddddeee");
    const std::pair<const char*, QByteArray> shards[] = {
        {"1", bytes.left(12)}, {"2", bytes.mid(12, 6)}, {"3", bytes.mid(18)}, {"4", "ffff"}};
    for (const auto& [name, shard] : shards)
        if (!missing.split(u' ').contains(QString::fromUtf8(name))) add(name, shard);
    const auto opened = openModel(path.toStdString());
    if (left.isEmpty()) {
        QVERIFY(!opened);
        QVERIFY2(text(opened.error().message).contains(says), opened.error().message.c_str());
        return;
    }
    QVERIFY2(opened, opened ? "" : opened.error().message.c_str());
    QStringList names;
    for (const auto& tensor : (*opened)->tensors) {
        names += text(tensor.name);
        QCOMPARE(valuesOf(**opened, tensor), QByteArray(int(tensor.bytes), tensor.name.view()[0]));
    }
    // If shard 2 is missing, b and c are missing; if shard 1 is, a and b.
    QCOMPARE(names.join(u' '), left);
    QCOMPARE((*opened)->warnings.size(), std::size_t(1));
    QVERIFY2(text((*opened)->warnings[0]).contains(says), (*opened)->warnings[0].c_str());
}

void TfjsRefuseTest::refused_data() {
    QTest::addColumn<QByteArray>("manifest");
    QTest::addColumn<QString>("says");
    const auto row = [](const char* name, const QByteArray& bytes, const char* says) {
        QTest::newRow(name) << bytes << QString::fromUtf8(says);
    };
    const QByteArray w = weight("w", "[4]");
    row("a topology alone", "{\"format\":\"layers-model\",\"modelTopology\":{}}", "there is no weightsManifest");
    row("weightsManifest twice", "{\"modelTopology\":{},\"weightsManifest\":[],\"weightsManifest\":[" + group(w) + "]}",
        "the model has weightsManifest twice");
    row("weightsManifest of another kind", "{\"modelTopology\":{},\"weightsManifest\":{}}",
        "weightsManifest is an object, not a list");
    row("weightsManifest null", "{\"modelTopology\":{},\"weightsManifest\":null}",
        "weightsManifest is null, not a list");
    row("weightsManifest a text", "{\"modelTopology\":{},\"weightsManifest\":\"a\"}",
        "weightsManifest is a text, not a list");
    row("a group that is a list", manifest("[]"), "group 1 of weightsManifest is a list, not an object");
    row("a group that is a number", manifest(group(w) + ",7"), "group 2 of weightsManifest is a number, not an object");
    row("no paths", manifest("{\"weights\":[]}"), "group 1 of weightsManifest has no paths");
    row("no weights", manifest("{\"paths\":[]}"), "group 1 of weightsManifest has no weights");
    row("paths twice", manifest("{\"paths\":[\"a.bin\"],\"paths\":[\"b.bin\"],\"weights\":[]}"),
        "group 1 of weightsManifest has paths twice");
    row("paths a text", manifest("{\"paths\":\"a.bin\",\"weights\":[]}"),
        "paths of group 1 of weightsManifest is a text, not a list");
    row("weights an object", manifest("{\"paths\":[],\"weights\":{}}"),
        "weights of group 1 of weightsManifest is an object, not a list");
    row("a path that is a number", manifest(group(w, "1")),
        "a path of group 1 of weightsManifest is a number, not a text");
    row("an empty path", manifest(group(w, "\"\"")), "has a path that is empty");
    row("a long path", manifest(group(w, "\"" + QByteArray(5000, 'a') + "\"")), "has a path of more than 4096 bytes");
    row("a path out of the folder", manifest(group(w, "\"../a.bin\"")), "its name leads out of the folder (\"..\")");
    row("a path out and back", manifest(group(w, "\"sub/../../a.bin\"")), "its name leads out of the folder (\"..\")");
    row("an absolute path", manifest(group(w, "\"/etc/passwd\"")), "its name is an absolute path");
    row("a path with a NUL", manifest(group(w, "\"a.bin\\u0000\"")), "its name holds a NUL");
    row("a link out of the folder", manifest(group(w, "\"out\"")), "it is a symlink out of the model's folder");
    row("a pipe", manifest(group(w, "\"pipe\"")), "it is no regular file");
    row("a folder as a shard", manifest(group(w, "\"sub\"")), "it is no regular file");
    row("a shard twice", manifest(group(weight("w", "[8]"), "\"a.bin\",\"a.bin\"")), "names the shard \"a.bin\" twice");
    row("a shard twice, otherwise spelled", manifest(group(w) + "," + group(w, "\"./sub/.././a.bin\"")),
        "names the shard \"a.bin\" twice");
    row("more shards than are opened", manifest(group(w, QByteArray("\"x\",").repeated(6000) + "\"y\"")),
        "it names more than 6000 shards");
    row("a weight that is a list", model("[]"), "weight 1 of group 1 is a list, not an object");
    row("no name", model("{\"shape\":[4],\"dtype\":\"float32\"}"), "weight 1 of group 1 has no name");
    row("no shape", model("{\"name\":\"w\",\"dtype\":\"float32\"}"), "weight \"w\" has no shape");
    row("no dtype", model("{\"name\":\"w\",\"shape\":[4]}"), "weight \"w\" has no dtype");
    row("shape twice", model("{\"name\":\"w\",\"shape\":[4],\"shape\":[2],\"dtype\":\"float32\"}"),
        "weight \"w\" has shape twice");
    row("a name that is a number", model("{\"name\":7,\"shape\":[4],\"dtype\":\"float32\"}"),
        "the name of weight 1 of group 1 is a number");
    row("a shape that is a text", model("{\"name\":\"w\",\"shape\":\"4\",\"dtype\":\"float32\"}"),
        "the shape of weight \"w\" is a text");
    row("a dtype that is a list", model("{\"name\":\"w\",\"shape\":[4],\"dtype\":[]}"),
        "the dtype of weight \"w\" is a list");
    for (const auto& [size, kind] : {std::pair("-1", "a negative number"),
                                     {"1.5", "not a whole number"},
                                     {"1e3", "not a whole number"},
                                     {"\"2\"", "a text"},
                                     {"null", "null"},
                                     {"[2]", "a list"},
                                     {"18446744073709551616", "not a whole number"}})
        row((QByteArray("a size of ") + size).constData(), model(weight("w", "[" + QByteArray(size) + "]")),
            (QByteArray("the shape of weight \"w\" holds ") + kind).constData());
    row("a shape that overflows", model(weight("w", "[4294967296,4294967296]")), "the shape of weight \"w\" overflows");
    row("a shape that overflows to nothing", model(weight("w", "[0,9223372036854775807]")),
        "the shape of weight \"w\" overflows");
    row("too many dimensions", model(weight("w", "[" + QByteArray("1,").repeated(64) + "4]")),
        "has more than 64 dimensions");
    row("an unknown dtype", model(weight("w", "[4]", "int7")),
        "weight \"w\" has the dtype \"int7\", which TensorFlow.js does not know");
    row("too few bytes", model(weight("w", "[5]")),
        "weight \"w\" lies at bytes 0 to 20 of group 1, whose shards hold 16");
    row("too many bytes", model(weight("w", "[3]")), "the weights of group 1 have 12 bytes, and its shards hold 16");
    row("bytes without a shard", manifest(group(w, {})),
        "weight \"w\" lies at bytes 0 to 16 of group 1, whose shards hold 0");
    row("a shard without weights", manifest(group({})), "the weights of group 1 have 0 bytes, and its shards hold 16");
    row("fewer weights than shards, one missing", manifest(group(weight("w", "[3]"), "\"no\",\"a.bin\"")),
        "the weights of group 1 have fewer bytes than those of its shards that are there");
    row("strings beyond the end", model(weight("w", "[4]", "string")),
        "the strings of weight \"w\" end beyond the shards of group 1");
    row("more strings than bytes", model(weight("w", "[1000000000000]", "string")),
        "the strings of weight \"w\" end beyond the shards of group 1");
    row("a quantized string", model(weight("w", "[4]", "string", half("uint8"))),
        "weight \"w\" is a string and says how it is quantized");
    row("quantized as nothing", model(weight("w", "[4]", "float32", "{\"scale\":1,\"min\":0}")),
        "does not say as what (dtype)");
    row("quantized as something else", model(weight("w", "[16]", "float32", affine("int8", "1", "0"))),
        "weight \"w\" is quantized as \"int8\"");
    row("flags quantized", model(weight("w", "[16]", "bool", affine("uint8", "1", "0"))),
        "weight \"w\" is quantized as uint8, which bool cannot be");
    row("whole numbers as float16", model(weight("w", "[8]", "int32", half("float16"))),
        "weight \"w\" is quantized as float16, which int32 cannot be");
    row("no scale", model(weight("w", "[16]", "float32", "{\"dtype\":\"uint8\",\"min\":0}")),
        "weight \"w\" is quantized without a scale and a min");
    row("no min", model(weight("w", "[16]", "float32", "{\"dtype\":\"uint8\",\"scale\":1}")),
        "weight \"w\" is quantized without a scale and a min");
    row("scale twice", model(weight("w", "[16]", "float32", "{\"dtype\":\"uint8\",\"min\":0,\"scale\":1,\"scale\":2}")),
        "the quantization of weight \"w\" has scale twice");
    row("a scale that is a text", model(weight("w", "[16]", "float32", affine("uint8", "\"1\"", "0"))),
        "the scale in the quantization of weight \"w\" is a text");
    row("a min that is null", model(weight("w", "[16]", "float32", affine("uint8", "1", "null"))),
        "the min in the quantization of weight \"w\" is null");
    row("a min of NaN", model(weight("w", "[16]", "float32", affine("uint8", "1", "NaN"))), "the JSON is broken");
    row("a scale beyond doubles", model(weight("w", "[16]", "float32", affine("uint8", "1e400", "0"))),
        "the JSON is broken");
    row("quantization a list", model(weight("w", "[16]", "float32", "[]")),
        "the quantization of weight \"w\" is a list");
    row("a byte order mark", "\xef\xbb\xbf" + model(w), "byte order mark");
    row("a NUL behind it", model(w) + QByteArray(1, '\0'), "NUL byte");
    row("more behind it", model(w) + "{}", "the JSON is broken");
    row("not UTF-8", model(weight("w\xff", "[4]")), "not valid UTF-8");
    row("nested deep", "{\"modelTopology\":" + QByteArray("[").repeated(80), "nested more than 64 deep");
}

void TfjsRefuseTest::refused() {
    QFETCH(QByteArray, manifest);
    QFETCH(QString, says);
    QTemporaryDir elsewhere;
    put(elsewhere.path(), QStringLiteral("secret"), QByteArray(16, 's'));
    QVERIFY(QFile::link(elsewhere.filePath(QStringLiteral("secret")), folder_->filePath(QStringLiteral("out"))));
    QCOMPARE(::mkfifo(folder_->filePath(QStringLiteral("pipe")).toUtf8().constData(), 0600), 0);
    add("a.bin", QByteArray(16, 'a'));
    add("sub/a.bin", QByteArray(16, 'a'));
    const QString path = add("model.json", manifest), why = refusal(path);
    QVERIFY2(why.contains(says) && why.startsWith(path) && why.endsWith(u'.'), qPrintable(why));
}

void TfjsRefuseTest::shardsThatAreNone_data() {
    QTest::addColumn<QByteArray>("shard");
    QTest::addColumn<QString>("says");
    QTest::newRow("a pointer") << QByteArray("version https://git-lfs.github.com/spec/v1\n")
                               << QStringLiteral("is a Git LFS pointer");
    QTest::newRow("a web page") << "<!DOCTYPE html><html>" + QByteArray(5000, ' ') << QStringLiteral("is a web page");
    QTest::newRow("a page of the right size") << "<html>    " + QByteArray(6, ' ') << QStringLiteral("is a web page");
    QTest::newRow("nothing") << QByteArray() << QStringLiteral("is empty (0 bytes)");
}

void TfjsRefuseTest::shardsThatAreNone() {
    QFETCH(QByteArray, shard);
    QFETCH(QString, says);
    add("a.bin", shard);
    const QString why = refusal(add("model.json", model(weight("w", "[4]"))));
    QVERIFY2(why.contains(QStringLiteral("the shard \"a.bin\" ") + says), qPrintable(why));
}

void TfjsRefuseTest::everyPrefixOfTheManifest() {
    const QByteArray whole = manifest(group(weight("v", "[3]", "float32", affine("uint8", "0.5", "-1")) + "," +
                                            weight("t", "[1]", "string") + "," + weight("w", "[2,2]")));
    add("a.bin", "abc" + QByteArray("\1\0\0\0x", 5) + QByteArray(16, 'w'));
    for (int n = 1; n < whole.size(); ++n) {
        const QString why = refusal(add("model.json", whole.left(n)));
        QVERIFY2(why.endsWith(u'.') && why != QStringLiteral("it opened"), qPrintable(why));
    }
    const auto model = opened(add("model.json", whole));
    QCOMPARE(model->tensors.size(), std::size_t(2));
}

void TfjsRefuseTest::aChangedShardIsNoticed() {
    add("1", QByteArray(8, 'a'));
    const QString second = add("2", QByteArray(8, 'b'));
    const auto path =
        add("model.json",
            manifest(group(weight("v", "[1]") + "," + weight("w", "[12]", "float32", affine("uint8", "1", "0")),
                           "\"1\",\"2\"")));
    const auto model = opened(path);
    put(folder_->path(), QStringLiteral("2"), QByteArray(9, 'c'));
    const auto view = model->view(*model->find("w"));
    QVERIFY(!view);
    QVERIFY2(text(view.error().message).contains(second), view.error().message.c_str());
    QVERIFY(model->view(*model->find("v")));
}

QS_TEST(TfjsRefuseTest)

#include "tfjs_refuse_test.moc"
