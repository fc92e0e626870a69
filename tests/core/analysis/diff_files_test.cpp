// SPDX-License-Identifier: GPL-3.0-or-later
// The sample model compared with files in which other programs stored its first layer.
#include "made_diff.h"
#include "tests/support/test_program.h"

#include <memory>

using namespace qs;
using namespace qs::test;

class DiffFilesTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void sampleAndGguf();
    void sampleAndTorch_data();
    void sampleAndTorch();
};

/// The file was made by gguf's writer and ggml's encoder.
void DiffFilesTest::sampleAndGguf() {
    const auto sample = openModel(QS_SOURCE_DIR "/resources/samples/tiny-llama");
    const auto gguf = openModel(QS_TEST_DATA "/diff/layer0_attention.gguf");
    QVERIFY(sample && gguf);
    const auto result = diffed(*sample, *gguf);
    QCOMPARE(result.rows.size(), (*sample)->tensors.size());
    QCOMPARE(result.count(DiffStatus::OnlyA), (*sample)->tensors.size() - 5);
    for (const DiffRow& row : result.rows) {
        if (row.status == DiffStatus::OnlyA) continue;
        QCOMPARE(row.aligned, std::string("canonical name"));
        const bool norm = row.a->shape.size() == 1;
        if (norm) {
            QVERIFY(row.status == DiffStatus::Equal);
            continue;
        }
        QVERIFY2(*row.sqnrDb() > 40 && *row.sqnrDb() < 60, row.a->name.c_str()); // the error of Q8_0
        const bool permutes =
            row.b->name.find("attn_q") != std::string::npos || row.b->name.find("attn_k") != std::string::npos;
        QCOMPARE(placementText(row.placement),
                 std::string(permutes ? "rows paired within heads of 32 (llama.cpp)" : ""));
    }
}

/// The files were written by PyTorch: fused, transposed, or with names that carry no meaning.
void DiffFilesTest::sampleAndTorch_data() {
    QTest::addColumn<QString>("file");
    QTest::addColumn<QStringList>("expected");
    const auto at = QStringLiteral("model.layers.0.");
    const auto row = [&](const char* tensor, const QString& other, const char* rest) {
        return at + QString::fromLatin1(tensor) + QLatin1Char('|') + other + QLatin1Char('|') +
               QString::fromLatin1(rest);
    };
    const auto qkv = at + QStringLiteral("self_attn.qkv_proj.weight");
    const auto both = at + QStringLiteral("mlp.gate_up_proj.weight");
    QTest::newRow("fused.pt") << QStringLiteral("fused.pt")
                              << QStringList{row("self_attn.q_proj.weight", qkv, "equal|part of|"),
                                             row("self_attn.k_proj.weight", qkv, "equal|part of|rows 192 on"),
                                             row("self_attn.v_proj.weight", qkv, "equal|part of|rows 256 on"),
                                             row("mlp.gate_proj.weight", both, "equal|part of|"),
                                             row("mlp.up_proj.weight", both, "equal|part of|rows 544 on")};
    const auto conv = QStringLiteral("transformer.h.0.attn.c_attn.weight");
    QTest::newRow("conv1d.pt") << QStringLiteral("conv1d.pt")
                               << QStringList{
                                      row("self_attn.q_proj.weight", conv, "equal|part of|transposed"),
                                      row("self_attn.k_proj.weight", conv, "equal|part of|transposed, rows 192 on"),
                                      row("self_attn.v_proj.weight", conv, "equal|part of|transposed, rows 256 on")};
    QTest::newRow("layer0.onnx")
        << QStringLiteral("layer0.onnx")
        << QStringList{row("self_attn.k_proj.weight", QStringLiteral("onnx::MatMul_7"), "equal|values|transposed"),
                       row("self_attn.v_proj.weight", QStringLiteral("onnx::MatMul_8"), "equal|values|transposed")};
}

void DiffFilesTest::sampleAndTorch() {
    QFETCH(QString, file);
    QFETCH(QStringList, expected);
    const auto sample = openModel(QS_SOURCE_DIR "/resources/samples/tiny-llama");
    const auto other = openModel(QS_TEST_DATA "/diff/" + file.toStdString());
    QVERIFY(sample.has_value());
    QVERIFY2(other, other ? "" : other.error().message.c_str());
    const auto result = diffed(*sample, *other);
    QStringList aligned;
    for (const auto& line : lines(result))
        if (!line.contains(QStringLiteral("|only_a|"))) aligned << line;
    std::sort(aligned.begin(), aligned.end());
    expected.sort();
    QCOMPARE(aligned, expected);
    // The reverse comparison must find every part again.
    const auto back = diffed(*other, *sample);
    QCOMPARE(back.count(DiffStatus::Equal), std::size_t(expected.size()));
    QCOMPARE(back.count(DiffStatus::OnlyA), std::size_t(0));
}

QS_TEST(DiffFilesTest)

#include "diff_files_test.moc"
