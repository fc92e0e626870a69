// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/bench/run/shapes.h"
#include "tests/support/test_program.h"

#include <QTest>

using namespace qs;

namespace {

TensorInfo tensorOf(const char* name, std::vector<std::int64_t> shape, DType dtype = DType::F32) {
    TensorInfo out;
    out.name = name;
    out.dtype = dtype;
    out.shape = std::move(shape);
    out.elements = 1;
    for (const auto dim : out.shape) out.elements *= std::uint64_t(dim);
    return out;
}

Model modelOf(bool head) {
    Model model;
    model.tensors = {tensorOf("model.embed_tokens.weight", {1000, 64}),
                     tensorOf("model.layers.0.mlp.down_proj.weight", {64, 256}),
                     tensorOf("model.layers.0.self_attn.q_proj.weight", {64, 64}),
                     tensorOf("model.layers.1.mlp.down_proj.weight", {64, 256}),
                     tensorOf("model.norm.weight", {64}),
                     tensorOf("model.ids", {64, 64}, DType::I32)};
    if (head) model.tensors.push_back(tensorOf("lm_head.weight", {1000, 64}));
    assignRoles(model);
    return model;
}

BenchmarkRow timed(std::int64_t n, std::int64_t k, const char* variant, double ns, double speedup) {
    BenchmarkRow row;
    row.question.backend = "cpu", row.question.device = "cpu:0", row.question.spec = "nf4",
    row.question.op = "matmul_t", row.question.act = "f32";
    row.question.m = 1, row.question.n = n, row.question.k = k, row.answer.variant.id = variant;
    row.timing.medianNs = ns;
    row.verdict.speedup = speedup;
    row.verdict.status = RowState::Ok;
    return row;
}

} // namespace

class ShapesTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void distinctWithCounts() {
        const auto shapes = modelShapes(modelOf(true));
        QCOMPARE(shapes.size(), std::size_t(3));
        QVERIFY(shapes[0].n == 1000 && shapes[0].count == 1 &&
                shapes[0].tensors == std::vector<std::string>{"lm_head.weight"});
        QVERIFY(shapes[1].n == 64 && shapes[1].k == 256 && shapes[1].count == 2);
        QVERIFY(shapes[2].k == 64 && shapes[2].count == 1);
        // Without its own head, the embedding table is the head.
        QCOMPARE(modelShapes(modelOf(false))[0].tensors.front(), std::string("model.embed_tokens.weight"));
        const auto swept = benchShapes(shapes, std::vector<std::int64_t>{1, 16});
        QCOMPARE(swept.size(), std::size_t(6));
        QCOMPARE(swept[1], (BenchShape{16, 1000, 64, "lm_head.weight"}));
    }
    void sampleModel() {
        const auto model = openModel(QS_SOURCE_DIR "/resources/samples/tiny-llama");
        QVERIFY(model.has_value());
        std::size_t products = 0;
        for (const auto& shape : modelShapes(**model)) products += shape.count;
        QVERIFY(products > 7);
    }
    void onePass() {
        const auto shapes = modelShapes(modelOf(true));
        auto approx = timed(64, 64, "approx", 1, 100);
        approx.answer.variant.approx = true;
        std::vector<BenchmarkRow> rows = {timed(1000, 64, "a", 100, 2), timed(64, 256, "a", 30, 3),
                                          timed(64, 256, "b", 20, 4.5), timed(64, 64, "a", 10, 1), approx};
        auto passes = modelPasses(shapes, rows);
        QCOMPARE(passes.size(), std::size_t(1));
        QCOMPARE(*passes[0].ns, 100.0 + 2 * 20 + 10); // the fastest correct variant of each shape, times its count
        QCOMPARE(*passes[0].tokensPerSecond, 1e9 / 150);
        QCOMPARE(*passes[0].speedup, (200.0 + 2 * 90 + 10) / 150);
        QVERIFY(passes[0].products == 4 && passes[0].missing == 0 && passes[0].variants == "a b");
        QVERIFY(passes[0].busy == 0 && passes[0].reason.empty());
        rows[2].timing.busy = true; // of the two products 64x256
        passes = modelPasses(shapes, rows);
        QVERIFY(passes[0].busy == 2 && passes[0].ns && !passes[0].speedup);
        QCOMPARE(passes[0].reason,
                 std::string("2 of 4 products were timed on a busy machine: their times are too long, so there is no speed-up"));
        rows[2].timing.busy = false;
        rows[3].timing.medianNs.reset();
        passes = modelPasses(shapes, rows);
        QVERIFY(!passes[0].ns && passes[0].missing == 1 && passes[0].reason.find("64x64") != std::string::npos);
    }
};

QS_TEST(ShapesTest)
#include "shapes_test.moc"
