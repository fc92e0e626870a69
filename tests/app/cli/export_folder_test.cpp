// SPDX-License-Identifier: GPL-3.0-or-later
// Hugging Face folders written by exports, in every layout.
#include "exported.h"
#include "layout_case.h"
#include "tests/support/test_program.h"

#include <QTemporaryDir>
#include <sys/stat.h>
#include <unistd.h>

using namespace clitest;

namespace {

qint64 bytesOnDisk(const QString& path) {
    struct stat status {};
    return ::stat(QFile::encodeName(path).constData(), &status) == 0 ? qint64(status.st_blocks) * 512 : -1;
}

} // namespace

class TestExportFolder : public QObject {
    Q_OBJECT
private Q_SLOTS:
    /// The folder can be loaded: it has all files that loaders need, they agree with each other, and nothing else
    /// changed.
    void folderIsComplete_data() {
        QTest::addColumn<QString>("layout");
        for (const auto& layout : qs::layouts())
            if (!layout.fileEnding) QTest::newRow(layout.id) << s(layout.id);
    }
    void folderIsComplete() {
        QFETCH(QString, layout);
        QTemporaryDir dir;
        const QString model = dir.filePath(s("m64")), out = dir.filePath(s("out"));
        makeModel(model, 64);
        QVERIFY(QFile::rename(model + s("/model.safetensors"), model + s("/model-00001-of-00002.safetensors")));
        put(model + s("/model-00002-of-00002.safetensors"), safetensors({{"b.norm.weight", "F32", "[64]", ramp(64)}}));
        put(model + s("/model.safetensors.index.json"),
            R"({"metadata":{"total_size":1},"weight_map":{"a.up_proj.weight":"model-00001-of-00002.safetensors",)"
            R"("a.down_proj.weight":"model-00001-of-00002.safetensors","a.norm.weight":"model-00001-of-00002.safetensors",)"
            R"("b.norm.weight":"model-00002-of-00002.safetensors"}})");
        QDir().mkpath(model + s("/more"));
        put(model + s("/more/tokenizer.json"), "{\"a\": [1]}\n");
        const auto* found = std::find_if(std::begin(kLayoutCases), std::end(kLayoutCases),
                                         [&](const auto& one) { return layout == s(one.layout); });
        QVERIFY(found != std::end(kLayoutCases));
        const auto ran = run({s("quantize"), model, s("--spec"), s(found->spec), s("--layout"), layout, s("-o"), out});
        QVERIFY2(ran.code == 0, ran.err.constData());
        QVERIFY(isWhole(out));
        QCOMPARE(bytesOf(out + s("/more/tokenizer.json")), bytesOf(model + s("/more/tokenizer.json")));
        const auto index = QJsonDocument::fromJson(bytesOf(out + s("/model.safetensors.index.json"))).object();
        qint64 total = 0;
        QJsonObject where;
        for (const QString& name : entries(out)) {
            if (!name.endsWith(s(".safetensors"))) continue;
            const QByteArray bytes = bytesOf(out + u'/' + name);
            quint64 length = 0;
            std::memcpy(&length, bytes.constData(), 8);
            const auto header = QJsonDocument::fromJson(bytes.mid(8, qsizetype(length))).object();
            for (auto it = header.begin(); it != header.end(); ++it) {
                if (it.key() == s("__metadata__")) continue;
                where[it.key()] = name;
                const auto offsets = it.value()[s("data_offsets")].toArray();
                total += offsets[1].toInteger() - offsets[0].toInteger();
            }
        }
        QCOMPARE(index[s("weight_map")].toObject(), where);
        QCOMPARE(index[s("metadata")][s("total_size")].toInteger(), total);
        const auto config = QJsonDocument::fromJson(bytesOf(out + s("/config.json"))).object();
        QCOMPARE(config[s("model_type")].toString(), s("llama"));
        QCOMPARE(config.contains(s("quantization_config")), qs::findLayout(layout.toStdString())->config != nullptr);
    }

    /// A hostile config.json must give an answer, no crash, and no partial output.
    void hostileConfig_data() {
        QTest::addColumn<QString>("kind");
        QTest::addColumn<QString>("layout");
        for (const char* kind :
             {"deep", "very deep", "pipe", "device", "sparse", "round", "folder", "no JSON", "twice"})
            for (const char* layout : {"", "eformer", "bnb", "compressed-tensors", "mlx"})
                QTest::newRow(qPrintable(s(kind) + s(", ") + s(layout))) << s(kind) << s(layout);
    }
    void hostileConfig() {
        QFETCH(QString, kind);
        QFETCH(QString, layout);
        QTemporaryDir dir, output;
        const QString model = dir.filePath(s("model")), config = model + s("/config.json");
        makeModel(model, 64);
        QVERIFY(QFile::remove(config));
        const QByteArray name = QFile::encodeName(config);
        if (kind == s("deep")) put(config, "{\"a\":" + QByteArray(1000, '[') + QByteArray(1000, ']') + "}");
        if (kind == s("very deep")) put(config, "{\"a\":" + QByteArray(200'000, '[') + QByteArray(200'000, ']') + "}");
        if (kind == s("pipe")) QVERIFY(::mkfifo(name.constData(), 0600) == 0);
        if (kind == s("device")) QVERIFY(QFile::link(s("/dev/zero"), config));
        if (kind == s("round")) QVERIFY(QFile::link(config, config));
        if (kind == s("folder")) QVERIFY(QDir().mkpath(config));
        if (kind == s("no JSON")) put(config, "{");
        if (kind == s("twice")) put(config, R"({"model_type":"llama","model_type":"gpt2"})");
        if (kind == s("sparse")) {
            put(config, "{");
            QVERIFY(::truncate(name.constData(), layout == s("eformer") ? off_t(128) << 20 : off_t(20) << 30) == 0);
        }
        if (layout.isEmpty()) {
            const auto audited = run({s("audit"), model});
            QVERIFY2(audited.code == 0 && audited.out.contains("config.json"), (audited.out + audited.err).constData());
            QCOMPARE(run({s("inspect"), model}).code, 0);
            return;
        }
        const auto* found = std::find_if(std::begin(kLayoutCases), std::end(kLayoutCases),
                                         [&](const auto& one) { return layout == s(one.layout); });
        const QString out = output.filePath(s("out"));
        const auto ran = run({s("quantize"), model, s("--spec"), s(found->spec), s("--layout"), layout, s("-o"), out});
        if (layout == s("eformer")) { // this layout does not write to config.json
            QVERIFY2(ran.code == 0 && isWhole(out), ran.err.constData());
            const bool isFile = QFileInfo(config).isFile() && !QFileInfo(config).isSymLink();
            QVERIFY2(isFile || kind == s("folder") || ran.out.contains("Left out: config.json: it is a "),
                     ran.out.constData());
            if (kind == s("sparse")) QVERIFY(bytesOnDisk(out + s("/config.json")) < 64 << 20);
            return;
        }
        QVERIFY2(ran.code == 1 && isSentence(ran.err) && ran.err.contains("config.json"), ran.err.constData());
        QVERIFY2(entries(output.path()).isEmpty(), qPrintable(entries(output.path()).join(u' ')));
    }

    /// Links out of the model's folder are not followed, except links into the blobs of the Hugging Face cache. Pipes
    /// and devices are not copied. Everything left out is named on the terminal and in the certificate.
    void secretsStayWhereTheyAre() {
        QTemporaryDir dir, output;
        const QString cache = dir.filePath(s("models--org--name")), model = cache + s("/snapshots/0123abcd"),
                      out = output.filePath(s("out"));
        QVERIFY(QDir().mkpath(cache + s("/blobs")) && QDir().mkpath(model + s("/more")));
        makeModel(model, 64);
        put(dir.filePath(s("secret")), "a secret");
        put(cache + s("/blobs/77aa"), "from the hub");
        put(model + s("/inside.txt"), "inside");
        const auto link = [&](const QString& to, const char* as) { return QFile::link(to, model + u'/' + s(as)); };
        QVERIFY(link(dir.filePath(s("secret")), "notes.txt") && link(s("../../../secret"), "up.txt"));
        QVERIFY(link(s("/proc/self/environ"), "env.txt") && link(s("/dev/null"), "null.bin"));
        QVERIFY(link(dir.path(), "outside") && link(s("nowhere"), "gone.txt") && link(s("round.txt"), "round.txt"));
        QVERIFY(link(s("../../blobs/77aa"), "tokenizer.json") && link(s("inside.txt"), "again.txt"));
        QVERIFY(link(s("../../../blobs/77aa"), "more/vocab.txt") && link(s("../../../../secret"), "more/up.txt"));
        QVERIFY(::mkfifo(QFile::encodeName(model + s("/pipe")).constData(), 0600) == 0);
        const auto ran = run({s("quantize"), model, s("--spec"), s("nf4:block=64"), s("-o"), out});
        QVERIFY2(ran.code == 0 && isWhole(out), ran.err.constData());
        QCOMPARE(bytesOf(out + s("/tokenizer.json")), QByteArray("from the hub"));
        QCOMPARE(bytesOf(out + s("/more/vocab.txt")), QByteArray("from the hub"));
        QCOMPARE(bytesOf(out + s("/again.txt")), QByteArray("inside"));
        const auto certificate = QJsonDocument::fromJson(bytesOf(out + s("/certificate.json"))).object();
        QStringList named;
        for (const auto& one : certificate[s("files_left_out")].toArray()) named << one[s("name")].toString();
        const QStringList expected{s("env.txt"), s("gone.txt"), s("more/up.txt"), s("notes.txt"), s("null.bin"),
                                   s("outside"), s("pipe"),     s("round.txt"),   s("up.txt")};
        QCOMPARE(named, expected);
        for (const QString& name : expected) {
            QVERIFY(!QFileInfo(out + u'/' + name).exists());
            QVERIFY2(ran.out.contains("Left out: " + name.toUtf8() + ": it is a "), ran.out.constData());
        }
        // The same holds for config.json, whose content is copied into the output.
        QVERIFY(QFile::remove(model + s("/config.json")));
        put(dir.filePath(s("secret")), R"({"password": "1234"})");
        QVERIFY(link(dir.filePath(s("secret")), "config.json"));
        const auto refused = run({s("quantize"), model, s("--spec"), s("nf4:dialect=bnb"), s("--layout"), s("bnb"),
                                  s("-o"), output.filePath(s("other"))});
        QVERIFY2(refused.code == 1 && isSentence(refused.err) && refused.err.contains("symlink out of the model's"),
                 refused.err.constData());
        QCOMPARE(entries(output.path()), QStringList{s("out")});
    }
};

QS_TEST(TestExportFolder)
#include "export_folder_test.moc"
