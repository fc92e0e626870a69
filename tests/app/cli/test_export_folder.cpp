// SPDX-License-Identifier: GPL-3.0-or-later
// Hugging Face directories that exports write, in every layout.
#include "exported.h"
#include "layout_case.h"
#include "tests/support/test_program.h"

#include <QTemporaryDir>

using namespace clitest;

class TestExportFolder : public QObject {
    Q_OBJECT
private Q_SLOTS:
    /// Ready to load: what loaders look for is there, tells of what lies beside it, and nothing else was touched.
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
        QCOMPARE(get(out + s("/more/tokenizer.json")), get(model + s("/more/tokenizer.json")));
        const auto index = QJsonDocument::fromJson(get(out + s("/model.safetensors.index.json"))).object();
        qint64 total = 0;
        QJsonObject where;
        for (const QString& name : entries(out)) {
            if (!name.endsWith(s(".safetensors"))) continue;
            const QByteArray bytes = get(out + u'/' + name);
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
        const auto config = QJsonDocument::fromJson(get(out + s("/config.json"))).object();
        QCOMPARE(config[s("model_type")].toString(), s("llama"));
        QCOMPARE(config.contains(s("quantization_config")), qs::findLayout(layout.toStdString())->config != nullptr);
    }
};

QS_TEST(TestExportFolder)
#include "test_export_folder.moc"
