// SPDX-License-Identifier: GPL-3.0-or-later
// Every file of tests/data/known: codes, scales and levels of specs, computed by a script beside it, to the bit.
#include "core/quant/encode/encode.h"
#include "core/quant/spec/code_set.h"
#include "tests/core/quant/made_rule.h"
#include "tests/support/test_program.h"

#include <filesystem>

class KnownAnswers : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void everyFile_data();
    void everyFile();
};

void KnownAnswers::everyFile_data() {
    QTest::addColumn<QString>("path");
    for (const auto& entry : std::filesystem::directory_iterator(QS_TEST_DATA "/known"))
        if (entry.path().extension() == ".safetensors")
            QTest::newRow(entry.path().stem().c_str()) << QString::fromStdString(entry.path().string());
}

void KnownAnswers::everyFile() {
    QFETCH(QString, path);
    const GoldenFile file = readGolden(path.toStdString());
    const Held x = held(file["x"].as<float>(), file["x"].shape);
    int specs = 0;
    for (const auto& [name, codes] : file.tensors) {
        const std::size_t end = name.rfind(".codes");
        if (end == std::string::npos) continue;
        ++specs;
        const std::string text = name.substr(0, end);
        const QuantizedTensor ours = quantized(x, text);
        QVERIFY2(ours.scales == file[text + ".scales"].as<float>(), text.c_str());
        QVERIFY2(ours.codes == codes.as<std::uint8_t>(), text.c_str());
        if (!file.tensors.contains(text + ".levels")) continue;
        const auto levels = codeSetOf(specOf(text)).levels;
        QVERIFY2(std::ranges::equal(levels, file[text + ".levels"].as<float>()), text.c_str());
    }
    QVERIFY(specs > 0);
}

QS_TEST(KnownAnswers)
#include "known_answers_test.moc"
