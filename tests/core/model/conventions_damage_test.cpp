// SPDX-License-Identifier: GPL-3.0-or-later
// Checkpoints of other programs with random damage, and an unknown method.
#include "core/model/derived_tensor.h"
#include "core/model/model.h"
#include "made_file.h"
#include "tests/support/test_program.h"

#include <QtEndian>
#include <memory>

using namespace qs;

class ConventionsDamageTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void methodThatNobodyKnows();
    void damageIsReadOrRefused_data();
    void damageIsReadOrRefused();
};

void ConventionsDamageTest::methodThatNobodyKnows() {
    QTemporaryDir at;
    put(at.path(), QStringLiteral("model.safetensors"), smallFile("w"));
    put(at.path(), QStringLiteral("config.json"), "{\"quantization_config\": {\"quant_method\": \"AQLM\"}}");
    const auto model = openModel(at.path().toStdString());
    QVERIFY(model);
    QCOMPARE((*model)->warnings.size(), std::size_t(1));
    QVERIFY((*model)->warnings.front().find("quantized by 'aqlm', but none is stored") != std::string::npos);
    put(at.path(), QStringLiteral("config.json"), "{\"quantization_config\": null}");
    QVERIFY((*openModel(at.path().toStdString()))->warnings.empty());
}

void ConventionsDamageTest::damageIsReadOrRefused_data() {
    QTest::addColumn<QString>("folder");
    for (const QString& name :
         QDir(QStringLiteral(QS_TEST_DATA "/conventions")).entryList(QDir::Dirs | QDir::NoDotAndDotDot))
        if (QFile::exists(QStringLiteral(QS_TEST_DATA "/conventions/%1/model.safetensors").arg(name)))
            if (QFile::exists(QStringLiteral(QS_TEST_DATA "/conventions/") + name +
                              QStringLiteral("/model.safetensors")))
                QTest::newRow(qPrintable(name)) << QStringLiteral(QS_TEST_DATA "/conventions/") + name;
}

// Changes random bytes in texts and small fields; digits become digits, so that numbers stay numbers. A model that
// opens must be readable.
void ConventionsDamageTest::damageIsReadOrRefused() {
    QFETCH(QString, folder);
    const QByteArray file = bytesOf(folder + QStringLiteral("/model.safetensors"));
    const bool hasConfig = QFile::exists(folder + QStringLiteral("/config.json"));
    const QByteArray config = hasConfig ? bytesOf(folder + QStringLiteral("/config.json")) : QByteArray();
    QTemporaryDir at;
    std::uint64_t state = 17;
    const auto random = [&](std::uint64_t n) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        return (state >> 33) % n;
    };
    const auto damage = [&](QByteArray& bytes, qsizetype end) {
        for (std::uint64_t n = 1 + random(3); n > 0; --n) {
            char& c = bytes[qsizetype(random(std::uint64_t(end)))];
            c = c >= '0' && c <= '9' ? char('0' + random(10)) : random(4) ? c : char(random(256));
        }
    };
    const qsizetype header = 8 + qFromLittleEndian<qint32>(file.constData());
    int layers = 0;
    for (int i = 0; i < 60; ++i) {
        QByteArray damaged = file, otherConfig = config;
        if (random(3) > 0 || !hasConfig)
            damage(damaged, random(2) ? header : damaged.size());
        else
            damage(otherConfig, otherConfig.size());
        put(at.path(), QStringLiteral("model.safetensors"), damaged);
        if (hasConfig) put(at.path(), QStringLiteral("config.json"), otherConfig);
        const auto model = openModel(at.path().toStdString());
        if (!model) continue;
        for (const auto& tensor : (*model)->tensors) {
            QVERIFY(tensor.bytes < 100'000'000);
            layers += tensor.derived != nullptr;
            const auto view = (*model)->view(tensor);
            std::vector<std::byte> values(tensor.bytes);
            if (view) view->readInto(0, values);
        }
    }
    QVERIFY(layers > 0);
}

QS_TEST(ConventionsDamageTest)

#include "conventions_damage_test.moc"
