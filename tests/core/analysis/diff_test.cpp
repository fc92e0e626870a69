// SPDX-License-Identifier: GPL-3.0-or-later
// Compares a checkpoint with copies of itself: figures, rows handed out, memory, and the report.
#include "core/model/mapped_file.h"
#include "core/model/unread.h"
#include "made_diff.h"
#include "tests/support/test_program.h"

#include <cmath>
#include <limits>

using namespace qs;
using namespace qs::test;

class DiffTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void figures();
    void whatCannotBeRead();
    void handedOut();
    void filtered();
    void memory();
    void itself();
    void cancelled();
    void signsOfZeros();
    void shapesWithoutValues();
    void report();
};

void DiffTest::figures() {
    const QTemporaryDir folder;
    constexpr float nan = std::numeric_limits<float>::quiet_NaN();
    const auto a = opened(folder,
                          {f32("w", {2, 2}, {3, 4, 0, 0}), f32("nan", {4}, {nan, 1, nan, 2}),
                           f32("shape", {2, 3}, Values(6, 1)), f32("gone", {3}, {1, 2, 3}), f32("empty", {0, 4}, {}),
                           made("ids", DType::I64, {2}, std::vector<std::int64_t>{1, 2})},
                          "a.safetensors");
    const auto b = opened(folder,
                          {f32("w", {2, 2}, {3, 4, 0, 1}), f32("nan", {4}, {nan, 1, 5, 2}),
                           f32("shape", {2, 4}, Values(8, 1)), f32("fresh", {5}, {1, 2, 3, 4, 5}),
                           f32("empty", {0, 4}, {}), made("ids", DType::I64, {2}, std::vector<std::int64_t>{1, 3})},
                          "b.safetensors");
    const auto result = diffed(a, b);
    const auto rowOf = [&](std::string_view name) {
        for (const DiffRow& row : result.rows)
            if ((row.a ? row.a : row.b)->name == name) return row;
        qFatal("no row");
    };
    const DiffRow w = rowOf("w");
    QVERIFY(w.status == DiffStatus::Different && w.differing == 1);
    QCOMPARE(*w.nmse(), 1.0 / 25);
    QCOMPARE(*w.sqnrDb(), -10 * std::log10(1.0 / 25));
    QCOMPARE(*w.cosine(), 25 / std::sqrt(25.0 * 26.0));
    QCOMPARE(w.maxAbs, 1.0);
    QVERIFY(rowOf("nan").differing == 1 && rowOf("nan").nonFinite == 1);
    QVERIFY(rowOf("shape").status == DiffStatus::Refused && !rowOf("shape").nmse());
    QVERIFY(rowOf("gone").status == DiffStatus::OnlyA);
    QVERIFY(rowOf("fresh").status == DiffStatus::OnlyB);
    QVERIFY(rowOf("ids").status == DiffStatus::Different);
    QCOMPARE(diffText(result), std::string("1 equal, 3 different, 1 only in A, 1 only in B, 1 not comparable"));
}

/// 0 and -0 are equal numbers in other bits: no error, but counted, and shown among what has changed.
void DiffTest::signsOfZeros() {
    const QTemporaryDir folder;
    Values zeros(19, 0.0f), other = zeros, rows = {0, 1, 2, 3, 4, 5, 0, 7, 8, 9, 10, 11}, turned;
    other[2] = other[18] = -0.0f; // in a vector of the loop and behind the last
    for (const int row : {2, 0, 1}) turned.insert(turned.end(), rows.begin() + 4 * row, rows.begin() + 4 * row + 4);
    turned[4] = -0.0f; // the first value of the first row
    const auto a = opened(folder, {f32("w", {19}, zeros), f32("same", {2}, {-0.0f, 1}), f32("rows", {3, 4}, rows)},
                          "a.safetensors");
    const auto b = opened(folder, {f32("w", {19}, other), f32("same", {2}, {-0.0f, 1}), f32("rows", {3, 4}, turned)},
                          "b.safetensors");
    auto result = diffed(a, b);
    QCOMPARE(diffText(result), std::string("3 equal (2 but for signs of zeros)"));
    keepChanged(result);
    QCOMPARE(result.rows.size(), std::size_t(2));
    for (const DiffRow& row : result.rows) {
        QVERIFY(row.status == DiffStatus::Equal && row.differing == 0 && row.maxAbs == 0);
        QCOMPARE(row.zeroSigns, std::uint64_t(row.a->name == "w" ? 2 : 1));
        QCOMPARE(row.placement.rowsPermuted, row.a->name == "rows");
    }
}

void DiffTest::shapesWithoutValues() {
    const QTemporaryDir folder;
    const auto result = diffed(opened(folder, {f32("w", {0, 64}, {}), f32("x", {0, 4}, {})}, "a.safetensors"),
                               opened(folder, {f32("w", {0, 32}, {}), f32("x", {0, 4}, {})}, "b.safetensors"));
    QCOMPARE(diffText(result), std::string("1 equal, 1 not comparable"));
    QCOMPARE(result.rows[0].reason, std::string("they hold no values, in different shapes: [0, 64] and [0, 32]"));
}

/// Two tensors that cannot be read are not equal.
void DiffTest::whatCannotBeRead() {
    const QTemporaryDir folder;
    auto damaged = std::make_shared<Model>(*opened(folder, {f32("w", {2, 2}, {3, 4, 0, 0}), f32("x", {3}, {1, 2, 3})}));
    markUnread(damaged->tensors[0]);
    const auto result = diffed(damaged, damaged);
    QCOMPARE(diffText(result), std::string("1 equal, 1 not comparable"));
    QCOMPARE(result.rows[0].reason, std::string("its values cannot be read"));
}

void DiffTest::filtered() {
    const QTemporaryDir folder;
    const auto q = normal(64 * 48, 1), k = normal(32 * 48, 2);
    const auto a = opened(folder,
                          {f32("model.layers.0.self_attn.q_proj.weight", {64, 48}, q),
                           f32("model.layers.0.self_attn.k_proj.weight", {32, 48}, k), f32("only_a", {3}, {1, 2, 3})},
                          "a.safetensors");
    const auto b = opened(folder,
                          {f32("blk.0.attn_q.weight", {64, 48}, q), f32("blk.0.attn_k.weight", {32, 48}, k),
                           f32("only_b", {3}, {1, 2, 3})},
                          "b.safetensors");
    const auto of = [&](const char* regex) {
        const auto result = diffModels({a, b, regex}, Job{});
        if (!result) return QStringList{QString::fromStdString(result.error().message)};
        QStringList names;
        for (const DiffRow& row : result->rows) names << QString::fromStdString((row.a ? row.a : row.b)->name);
        return names;
    };
    const QString qProj = QStringLiteral("model.layers.0.self_attn.q_proj.weight");
    QCOMPARE(of("q_proj"), QStringList{qProj});
    QCOMPARE(of("attn_q"), QStringList{qProj}); // its name in B
    QCOMPARE(of("only"), (QStringList{QStringLiteral("only_a"), QStringLiteral("only_b")}));
    QVERIFY(of("nothing").first().contains(QStringLiteral("takes no tensor")));
    QVERIFY(of("(").first().contains(QStringLiteral("not a regular expression")));
}

/// With a callback, rows are passed on one by one: the same rows as in the list, and they are counted.
void DiffTest::handedOut() {
    const QTemporaryDir folder;
    const auto a = opened(folder,
                          {f32("model.layers.0.mlp.gate_up_proj.weight", {8, 64}, normal(512, 1)),
                           f32("same.weight", {8, 64}, normal(512, 2)), f32("x.weight", {16, 64}, normal(1024, 3)),
                           f32("alone.weight", {4, 64}, normal(256, 4))},
                          "a.safetensors");
    Values both = normal(512, 1);
    const auto b =
        opened(folder,
               {f32("model.layers.0.mlp.gate_proj.weight", {4, 64}, Values(both.begin(), both.begin() + 256)),
                f32("model.layers.0.mlp.up_proj.weight", {4, 64}, Values(both.begin() + 256, both.end())),
                f32("same.weight", {8, 64}, normal(512, 2)), f32("y.weight", {16, 64}, normal(1024, 3)),
                f32("only.weight", {2, 64}, normal(128, 5))},
               "b.safetensors");
    const DiffResult kept = diffed(a, b);
    DiffResult rows;
    const auto handed = diffModels({a, b}, Job{}, [&](const DiffRow& row) {
        rows.rows.push_back(row);
        return Result<void>();
    });
    QVERIFY(handed && handed->rows.empty());
    QCOMPARE(handed->handedOutRows(), kept.rows.size());
    for (const auto status : {DiffStatus::Equal, DiffStatus::Different, DiffStatus::OnlyA, DiffStatus::OnlyB})
        QCOMPARE(handed->count(status), kept.count(status));
    QCOMPARE(diffText(*handed), diffText(kept));
    std::stable_sort(rows.rows.begin(), rows.rows.end(),
                     [](const DiffRow& x, const DiffRow& y) { return x.a && y.a && x.a < y.a; });
    QCOMPARE(lines(rows), lines(kept));
    QVERIFY(lines(kept).contains(QStringLiteral("x.weight|y.weight|equal|values|")));
    const auto failed =
        diffModels({a, b}, Job{}, [](const DiffRow&) -> Result<void> { return fail("there is no room"); });
    QVERIFY(!failed && failed.error().message == "there is no room");
}

/// Pages already scanned are released, also those of rows read to find candidates.
void DiffTest::memory() {
    const QTemporaryDir folder;
    constexpr std::size_t rows = 768, columns = 1024; // 3 MiB each
    std::vector<TensorToWrite> ours, theirs;
    for (unsigned i = 0; i < 6; ++i) {
        const auto x = normal(rows * columns, i);
        ours.push_back(f32("w" + std::to_string(i), {rows, columns}, x));
        theirs.push_back(f32("onnx::MatMul_" + std::to_string(i), {columns, rows}, transposed(x, rows, columns)));
    }
    const auto a = opened(folder, std::move(ours), "a.safetensors");
    const auto b = opened(folder, std::move(theirs), "b.safetensors");
    const auto resident = [&] { // KiB of both mappings in memory
        QFile maps(QStringLiteral("/proc/self/smaps"));
        if (!maps.open(QIODevice::ReadOnly)) return -1;
        const QByteArray all = maps.readAll();
        int sum = 0;
        for (const auto& model : {a, b}) {
            const auto* data = model->files.front().mapping->bytes().data();
            const auto begin = all.indexOf(QByteArray::number(qulonglong(data), 16) + "-");
            if (begin < 0) return -1;
            sum += all.mid(all.indexOf("Rss:", begin) + 4, 40).simplified().split(' ').first().toInt();
        }
        return sum;
    };
    int most = 0;
    const Job job([&](const Progress&) { most = std::max(most, resident()); });
    const auto result = diffModels({a, b}, job);
    QVERIFY(result && result->count(DiffStatus::Equal) == 6);
    QVERIFY2(most >= 0 && most <= 1024, qPrintable(QString::number(most)));
    QVERIFY(resident() <= 1024);
}

void DiffTest::itself() {
    const auto sample = openModel(QS_SOURCE_DIR "/resources/samples/tiny-llama");
    const auto result = diffed(*sample, *sample);
    QCOMPARE(result.count(DiffStatus::Equal), (*sample)->tensors.size());
    for (const DiffRow& row : result.rows)
        QVERIFY(row.differing == 0 && row.maxAbs == 0 && placementText(row.placement).empty());
}

void DiffTest::cancelled() {
    const auto sample = openModel(QS_SOURCE_DIR "/resources/samples/tiny-llama");
    const Job job;
    job.cancel();
    const auto result = diffModels({*sample, *sample}, job);
    QVERIFY(!result && result.error().cancelled);
}

void DiffTest::report() {
    const QTemporaryDir folder;
    const auto a = opened(folder, {f32("w", {2, 2}, {3, 4, 0, 0}), f32("x", {2}, {1, 1})}, "a.safetensors");
    const auto b = opened(folder, {f32("w", {2, 2}, {3, 4, 0, 1})}, "b.safetensors");
    const auto result = diffed(a, b);
    const auto made = diffReport({a, b}, result, "diff a b", Job{});
    QVERIFY(made.has_value());
    int hashes = 0;
    for (const auto& [key, value] : made->provenance) hashes += key == "input_sha256";
    QCOMPARE(hashes, 2);
    for (const ReportWriter& writer : reportWriters()) {
        const auto text = writer.render(*made);
        QVERIFY2(text && !text->empty(), writer.id);
        if (writer.id == std::string("json")) QVERIFY2(text->find(R"("nmse": 0.04)") != text->npos, text->c_str());
    }
}

QS_TEST(DiffTest)
#include "diff_test.moc"
