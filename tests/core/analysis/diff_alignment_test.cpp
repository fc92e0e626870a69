// SPDX-License-Identifier: GPL-3.0-or-later
// Compares a checkpoint with copies that use the names, fusions and row orders of other ecosystems.
#include "made_diff.h"
#include "tests/support/test_program.h"

#include <cmath>
#include <limits>

using namespace qs;
using namespace qs::test;

class DiffAlignmentTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void names_data();
    void names();
    void alignments();
    void fused();
    void transposedTiles_data();
    void transposedTiles();
    void byValues();
    void permutedRowsAndColumns();
};

void DiffAlignmentTest::names_data() {
    QTest::addColumn<QString>("name");
    QTest::addColumn<QString>("canonical");
    const auto row = [](const char* name, const char* canonical) {
        QTest::newRow(name) << QString::fromLatin1(name) << QString::fromLatin1(canonical);
    };
    row("model.layers.3.self_attn.q_proj.weight", "blk.3.attn_q.weight");
    row("base_model.model.model.layers.3.self_attn.q_proj.base_layer.weight", "blk.3.attn_q.weight");
    row("blk.3.attn_q.weight", "blk.3.attn_q.weight");
    row("layers.3.attention.wq.weight", "blk.3.attn_q.weight");
    row("/model/layers.3/attn/q_proj/MatMul.weight", "blk.3.attn_q.weight");
    row("model.layers.3.attn.q_proj.MatMul.weight", "blk.3.attn_q.weight");
    row("transformer.h.11.attn.c_attn.weight", "blk.11.attn_qkv.weight");
    row("transformer.h.11.attn.c_proj.bias", "blk.11.attn_output.bias");
    row("transformer.h.11.mlp.c_proj.weight", "blk.11.ffn_down.weight");
    row("gpt_neox.layers.0.attention.query_key_value.weight", "blk.0.attn_qkv.weight");
    row("gpt_neox.layers.0.attention.dense.weight", "blk.0.attn_output.weight");
    row("model.layers.0.mlp.gate_up_proj.weight", "blk.0.ffn_gate_up.weight");
    row("model.layers.0.input_layernorm.weight", "blk.0.attn_norm.weight");
    row("model.norm.weight", "output_norm.weight");
    row("model.embed_tokens.weight", "token_embd.weight");
    row("transformer.wte.weight", "token_embd.weight");
    row("lm_head.weight", "output.weight");
    row("output.weight", "output.weight");
    row("model.layers.0.mlp.experts.7.w1.weight", "blk.0.expert.7.ffn_gate.weight");
    row("conv1.weight", "conv1.weight");
    row("", ".weight");
}

void DiffAlignmentTest::names() {
    QFETCH(QString, name);
    QFETCH(QString, canonical);
    QCOMPARE(QString::fromStdString(canonicalTensorName(name.toStdString())), canonical);
}

void DiffAlignmentTest::alignments() {
    const QTemporaryDir folder;
    const auto q = normal(64 * 48, 1), k = normal(32 * 48, 2), up = normal(80 * 48, 3), square = normal(48 * 48, 4);
    const auto a = opened(folder,
                          {f32("model.layers.0.self_attn.q_proj.weight", {64, 48}, q),
                           f32("model.layers.0.self_attn.k_proj.weight", {32, 48}, k),
                           f32("model.layers.0.mlp.up_proj.weight", {80, 48}, up),
                           f32("model.layers.0.self_attn.o_proj.weight", {48, 48}, square)},
                          "a.safetensors");
    const auto b = opened(folder,
                          {f32("blk.0.attn_q.weight", {64, 48}, permuted(q, 48, 16)),
                           f32("blk.0.attn_k.weight", {32, 48}, permuted(k, 48, 16)),
                           f32("transformer.h.0.mlp.c_fc.weight", {48, 80}, transposed(up, 80, 48)),
                           f32("layers.0.attention.wo.weight", {48, 48}, transposed(square, 48, 48))},
                          "b.safetensors");
    const auto there = lines(diffed(a, b)), back = lines(diffed(b, a));
    for (const auto& expected :
         {QStringLiteral("model.layers.0.self_attn.q_proj.weight|blk.0.attn_q.weight|equal|canonical name|"
                         "rows paired within heads of 16 (llama.cpp)"),
          QStringLiteral("model.layers.0.self_attn.k_proj.weight|blk.0.attn_k.weight|equal|canonical name|"
                         "rows paired within heads of 16 (llama.cpp)"),
          QStringLiteral(
              "model.layers.0.mlp.up_proj.weight|transformer.h.0.mlp.c_fc.weight|equal|canonical name|transposed"),
          QStringLiteral(
              "model.layers.0.self_attn.o_proj.weight|layers.0.attention.wo.weight|equal|canonical name|transposed")})
        QVERIFY2(there.contains(expected), qPrintable(there.join(u'\n')));
    QCOMPARE(there.size(), 4);
    QVERIFY2(back.contains(QStringLiteral("blk.0.attn_q.weight|model.layers.0.self_attn.q_proj.weight|equal|canonical "
                                          "name|pairs of rows parted within heads of 16 (llama.cpp)")),
             qPrintable(back.join(u'\n')));
}

void DiffAlignmentTest::fused() {
    const QTemporaryDir folder;
    const auto q = normal(64 * 48, 1), k = normal(32 * 48, 2), v = normal(32 * 48, 3), gate = normal(80 * 48, 4),
               up = normal(80 * 48, 5);
    const auto apart = opened(folder,
                              {f32("model.layers.0.self_attn.q_proj.weight", {64, 48}, q),
                               f32("model.layers.0.self_attn.k_proj.weight", {32, 48}, k),
                               f32("model.layers.0.self_attn.v_proj.weight", {32, 48}, v),
                               f32("model.layers.0.mlp.gate_proj.weight", {80, 48}, gate),
                               f32("model.layers.0.mlp.up_proj.weight", {80, 48}, up)},
                              "a.safetensors");
    const auto together = opened(folder,
                                 {f32("model.layers.0.self_attn.qkv_proj.weight", {128, 48}, joined({q, k, v})),
                                  f32("model.layers.0.mlp.gate_up_proj.weight", {160, 48}, joined({gate, up}))},
                                 "b.safetensors");
    const auto there = diffed(apart, together), back = diffed(together, apart);
    for (const DiffResult& result : {there, back}) {
        QCOMPARE(result.rows.size(), std::size_t(5));
        QVERIFY2(result.count(DiffStatus::Equal) == 5, qPrintable(lines(result).join(u'\n')));
        for (const DiffRow& row : result.rows) QCOMPARE(row.aligned, std::string("part of"));
    }
    QVERIFY2(lines(there).contains(QStringLiteral("model.layers.0.self_attn.k_proj.weight|model.layers.0.self_attn."
                                                  "qkv_proj.weight|equal|part of|rows 64 on")),
             qPrintable(lines(there).join(u'\n')));
    // GPT-2: transposed. GPT-NeoX: q, k and v interleaved by head.
    const auto k2 = normal(64 * 48, 6), v2 = normal(64 * 48, 7);
    const auto equalSizes = opened(folder,
                                   {f32("model.layers.0.self_attn.q_proj.weight", {64, 48}, q),
                                    f32("model.layers.0.self_attn.k_proj.weight", {64, 48}, k2),
                                    f32("model.layers.0.self_attn.v_proj.weight", {64, 48}, v2)},
                                   "c.safetensors");
    const auto gpt2 = opened(
        folder, {f32("h.0.attn.c_attn.weight", {48, 192}, transposed(joined({q, k2, v2}), 192, 48))}, "d.safetensors");
    QVERIFY2(diffed(equalSizes, gpt2).count(DiffStatus::Equal) == 3,
             qPrintable(lines(diffed(equalSizes, gpt2)).join(u'\n')));
    Values heads;
    for (std::size_t head = 0; head < 4; ++head)
        for (const Values* part : {&q, &k2, &v2})
            heads.insert(heads.end(), part->begin() + std::ptrdiff_t(head * 16 * 48),
                         part->begin() + std::ptrdiff_t((head + 1) * 16 * 48));
    const auto neox =
        opened(folder, {f32("gpt_neox.layers.0.attention.query_key_value.weight", {192, 48}, heads)}, "e.safetensors");
    QVERIFY2(diffed(equalSizes, neox).count(DiffStatus::Equal) == 3,
             qPrintable(lines(diffed(equalSizes, neox)).join(u'\n')));
}

void DiffAlignmentTest::transposedTiles_data() {
    QTest::addColumn<std::size_t>("rows");
    QTest::addColumn<std::size_t>("columns");
    QTest::addColumn<std::size_t>("before"); // rows of the stored tensor that belong to another part
    const auto row = [](std::size_t rows, std::size_t columns, std::size_t before) {
        QTest::addRow("%zu x %zu from %zu", rows, columns, before) << rows << columns << before;
    };
    for (const std::size_t rows : {1, 2, 15, 16, 17, 1023, 1025})
        for (const std::size_t columns : {2, 7, 255, 256, 1025}) row(rows, columns, 0);
    row(1, 5000, 0), row(70'000, 3, 0), row(3, 70'000, 0), row(33, 300, 5), row(1100, 260, 1100);
}

/// For all tile sizes, the figures must equal those of the same values in the same order.
void DiffAlignmentTest::transposedTiles() {
    QFETCH(std::size_t, rows);
    QFETCH(std::size_t, columns);
    QFETCH(std::size_t, before);
    const QTemporaryDir folder;
    const auto x = normal(rows * columns, 1);
    auto y = x;
    for (std::size_t i = 0; i < y.size(); i += 101) y[i] += 0.001f;
    y[y.size() / 2] = std::numeric_limits<float>::quiet_NaN();
    const auto many = static_cast<std::int64_t>(rows), across = static_cast<std::int64_t>(columns);
    const auto a = opened(folder, {f32("w.weight", {many, across}, x)}, "a.safetensors");
    const auto straight = opened(folder, {f32("w.weight", {many, across}, y)}, "b.safetensors");
    const auto expected = diffed(a, straight).rows.at(0);
    DiffRow found;
    if (before == 0) {
        const auto turned =
            opened(folder, {f32("w.weight", {across, many}, transposed(y, rows, columns))}, "c.safetensors");
        found = diffed(a, turned).rows.at(0);
    } else { // up_proj after gate_proj, as Conv1D stores them
        const auto gate = normal(before * columns, 2);
        const auto parts = opened(folder,
                                  {f32("layers.0.gate_proj.weight", {std::int64_t(before), across}, gate),
                                   f32("layers.0.up_proj.weight", {many, across}, x)},
                                  "d.safetensors");
        const auto fused = opened(folder,
                                  {f32("layers.0.gate_up_proj.weight", {across, std::int64_t(before + rows)},
                                       transposed(joined({gate, y}), before + rows, columns))},
                                  "e.safetensors");
        const auto result = diffed(parts, fused);
        QCOMPARE(result.rows.size(), std::size_t(2));
        QVERIFY(result.rows[0].status == DiffStatus::Equal);
        found = result.rows[1];
    }
    QVERIFY2(found.placement.transposed, placementText(found.placement).c_str());
    QVERIFY(found.status == DiffStatus::Different);
    QCOMPARE(found.elements, expected.elements);
    QCOMPARE(found.differing, expected.differing);
    QCOMPARE(found.nonFinite, std::uint64_t(1));
    QCOMPARE(found.maxAbs, expected.maxAbs);
    const std::pair<double, double> sums[] = {{found.errorPower, expected.errorPower},
                                              {found.power, expected.power},
                                              {found.otherPower, expected.otherPower},
                                              {found.product, expected.product}};
    for (const auto& [ours, theirs] : sums) QVERIFY(std::fabs(ours - theirs) <= 1e-12 * theirs);
}

/// ONNX exporters name weights "onnx::MatMul_123", so only the values can identify them.
void DiffAlignmentTest::permutedRowsAndColumns() {
    const QTemporaryDir folder;
    constexpr std::size_t rows = 70, columns = 48;
    const auto x = normal(rows * columns, 1);
    const auto rowAt = [](std::size_t r) { return (r * 27 + 5) % rows; };
    const auto columnAt = [](std::size_t c) { return (c * 35 + 3) % columns; };
    Values byRows(x.size()), byColumns(x.size()), byBoth(x.size()), shuffled(x);
    for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t c = 0; c < columns; ++c) {
            byRows[rowAt(r) * columns + c] = x[r * columns + c];
            byColumns[r * columns + columnAt(c)] = x[r * columns + c];
            byBoth[rowAt(r) * columns + columnAt(c)] = x[r * columns + c];
        }
    std::shuffle(shuffled.begin(), shuffled.end(), std::mt19937(1)); // the same values with no order of rows or columns
    Values swapped = byRows;
    std::swap(swapped[3], swapped[columns + 7]);
    std::vector<TensorToWrite> a, b;
    const std::pair<const char*, const Values*> cases[] = {
        {"both", &byBoth}, {"columns", &byColumns}, {"none", &shuffled}, {"rows", &byRows}, {"swapped", &swapped}};
    for (const auto& [name, values] : cases) {
        a.push_back(f32(name, {rows, columns}, x));
        b.push_back(f32(name, {rows, columns}, *values));
    }
    a.push_back(f32("bias", {rows}, Values(x.begin(), x.begin() + rows)));
    b.push_back(f32("bias", {rows}, Values(x.rend() - rows, x.rend())));
    const auto first = opened(folder, std::move(a), "a.safetensors"),
               second = opened(folder, std::move(b), "b.safetensors");
    auto result = diffed(first, second);
    QCOMPARE(lines(result), (QStringList{QStringLiteral("bias|bias|equal|name|rows permuted"),
                                         QStringLiteral("both|both|equal|name|rows and columns permuted"),
                                         QStringLiteral("columns|columns|equal|name|columns permuted"),
                                         QStringLiteral("none|none|different|name|"),
                                         QStringLiteral("rows|rows|equal|name|rows permuted"),
                                         QStringLiteral("swapped|swapped|different|name|")}));
    for (const DiffRow& row : result.rows)
        if (row.status == DiffStatus::Equal) QVERIFY(row.differing == 0 && *row.nmse() == 0 && row.maxAbs == 0);
    keepChanged(result); // a changed order counts as a change
    QCOMPARE(result.rows.size(), std::size_t(6));
    auto same = diffed(first, first);
    keepChanged(same);
    QVERIFY(same.rows.empty());
    QCOMPARE(diffText(same), std::string("6 equal"));
}

void DiffAlignmentTest::byValues() {
    const QTemporaryDir folder;
    const auto x = normal(40 * 48, 1), y = normal(40 * 48, 2);
    auto noisy = transposed(y, 40, 48);
    for (std::size_t i = 0; i < noisy.size(); i += 3) noisy[i] *= 1.01f;
    const auto a = opened(folder,
                          {f32("fc1.weight", {40, 48}, x), f32("fc2.weight", {40, 48}, y),
                           f32("fc3.weight", {40, 48}, normal(40 * 48, 3))},
                          "a.safetensors");
    const auto b =
        opened(folder,
               {f32("onnx::MatMul_11", {48, 40}, noisy), f32("onnx::MatMul_12", {48, 40}, transposed(x, 40, 48)),
                f32("onnx::MatMul_13", {48, 40}, normal(40 * 48, 4))},
               "b.safetensors");
    const QStringList expected = {QStringLiteral("fc1.weight|onnx::MatMul_12|equal|values|transposed"),
                                  QStringLiteral("fc2.weight|onnx::MatMul_11|different|values|transposed"),
                                  QStringLiteral("fc3.weight||only_a||"), QStringLiteral("|onnx::MatMul_13|only_b||")};
    QCOMPARE(lines(diffed(a, b)), expected);
}

QS_TEST(DiffAlignmentTest)
#include "diff_alignment_test.moc"
