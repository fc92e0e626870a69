// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/random.h"
#include "core/quant/encode/block_encoder.h"
#include "core/quant/spec/formats.h"
#include "core/value/piece.h"
#include "core/value/shape_operations.h"
#include "core/value/sharding.h"
#include "tests/support/test_program.h"

#include <QtTest>

using namespace qs;
using namespace qs::value;

namespace {

Tensor made(Shape shape) {
    Tensor out{shape, std::vector<float>(std::size_t(elementsOf(shape)))};
    for (std::size_t i = 0; i < out.values.size(); ++i) out.values[i] = normalVariate(3, 9, i);
    return out;
}

Result<Sharding> sharded(const char* spec, Shape shape, const char* mesh, const char* partition,
                         ShardingOptions options = {}) {
    return shard(*parseSpec(spec), shape, DType::F32, *parseMesh(mesh), *parsePartition(partition), options);
}

} // namespace

class ShardingTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void bytesPerDevice() {
        // 64 x 256 nf4 in blocks of 64: 8192 bytes of codes, 256 absmax values.
        const auto all = sharded("nf4:block=64", {64, 256}, "data=2,model=4", "data,model");
        QVERIFY2(all, all ? "" : all.error().message.c_str());
        QCOMPARE(all->shards.size(), std::size_t(8));
        QCOMPARE(all->mostBytes(), std::uint64_t(1024 + 32 * 4));
        QCOMPARE(all->totalBytes(), all->bytesWhole);
        QVERIFY(all->shards[5].begin == (Shape{32, 64}));
        const auto copies = sharded("nf4:block=64", {64, 256}, "data=2,model=4", "-,model");
        QCOMPARE(copies->copies, std::int64_t(2));
        QCOMPARE(copies->totalBytes(), 2 * copies->bytesWhole);
        const auto both = sharded("nf4:block=64", {64, 256}, "data=2,model=4", "data+model");
        QVERIFY(both->parts == (Shape{8, 1}) && both->shards[5].begin == (Shape{40, 0}));
        // One scale per row: if rows are split, each of the four parts keeps all 64 scales.
        const auto channel = sharded("int8", {64, 256}, "model=4", "-,model");
        QCOMPARE(channel->mostBytes(), std::uint64_t(64 * 64 + 64 * 4));
        QVERIFY(channel->note.find("kept by 4 parts") != std::string::npos);
    }

    void blocksDoNotStraddleUnlessAsked() {
        const auto refused = sharded("nf4:block=64", {4, 192}, "model=4", "-,model");
        QVERIFY(!refused);
        QVERIFY2(refused.error().message.find("use 3 parts") != std::string::npos, refused.error().message.c_str());
        ShardingOptions straddle;
        straddle.straddle = true;
        const auto cut = sharded("nf4:block=64", {4, 192}, "model=4", "-,model", straddle);
        QVERIFY(cut);
        // Parts of 48: [0,48) [48,96) [96,144) [144,192). The inner parts touch two blocks.
        const std::int64_t touched[] = {1, 2, 2, 1};
        for (std::size_t i = 0; i < 4; ++i) {
            QCOMPARE(cut->shards[i].bytes.scales, std::uint64_t(4 * 4 * touched[i]));
            QCOMPARE(cut->shards[i].bytes.codes, std::uint64_t(4 * 24));
            QCOMPARE(cut->shards[i].cutBlocks, 4 * touched[i]);
        }
    }

    /// For every format and scale, the parts put together must equal the whole bit for bit.
    void partsAreTheWhole() {
        const Tensor x = made({8, 192});
        int checked = 0;
        for (const auto& format : formats()) {
            for (const char* keys : {"", ":scale=none", ":scale=tensor", ":scale=channel", ":axis=0", ":axis=0,1",
                                     ":block=64", ":block=16", ":block=256", ":scale=channel:sym=no"}) {
                const auto spec = parseSpec(std::string(format.id) + keys);
                if (!spec) continue;
                const auto codes = quantized(x, *spec);
                if (!codes) continue; // the format does not take this shape
                const Tensor whole = materialized(*codes);
                for (const char* partition : {"a", "-,b", "a,b", "a+b,-", "-,a"}) {
                    ShardingOptions options;
                    options.straddle = codecOf(*spec) == nullptr;
                    const auto plan =
                        shard(*spec, x.shape, DType::F32, *parseMesh("a=4,b=2"), *parsePartition(partition), options);
                    if (!plan && !options.straddle) continue; // packed blocks are never split
                    QVERIFY2(plan, plan ? "" : plan.error().message.c_str());
                    const auto together = quantizedSharded(x, *plan);
                    const std::string what = canonicalText(*spec) + " " + partition + ": " +
                                             (together ? "other values" : together.error().message);
                    QVERIFY2(together && together->values == whole.values, what.c_str());
                    ++checked;
                }
            }
        }
        QVERIFY2(checked > 200, QByteArray::number(checked));
    }

    /// Beside an outlier, a scale per part gives less error than one scale for all parts.
    void ownScalesHelpBesideAnOutlier() {
        Tensor x = made({4, 64});
        for (std::size_t row = 0; row < 4; ++row) x.values[row * 64] = 100;
        ShardingOptions own;
        own.ownScales = true;
        const auto shared = sharded("int8", {4, 64}, "model=4", "-,model");
        const auto local = sharded("int8", {4, 64}, "model=4", "-,model", own);
        const auto a = deviation(x.values, quantizedSharded(x, *shared)->values);
        const auto b = deviation(x.values, quantizedSharded(x, *local)->values);
        QVERIFY(b.errorPower < 0.5 * a.errorPower);
    }

    void wrongRequests() {
        const auto says = [](const auto& result, const char* word) {
            return !result && result.error().message.find(word) != std::string::npos;
        };
        QVERIFY(says(parseMesh("data"), "data=2"));
        QVERIFY(says(parseMesh("a=2,a=2"), "twice"));
        QVERIFY(says(parseMesh("a=0"), "not an axis"));
        QVERIFY(says(parseMesh("a=65536,b=65536,c=65536,d=65536"), "at most"));
        QVERIFY(says(parsePartition("model,"), "model,-"));
        QVERIFY(says(sharded("nf4", {8, 64}, "a=3", "a"), "does not divide"));
        QVERIFY(says(sharded("nf4", {8, 64}, "a=2", "b"), "no axis"));
        QVERIFY(says(sharded("nf4", {8, 64}, "a=2", "a,a"), "twice"));
        QVERIFY(says(sharded("nf4", {8, 64}, "a=2", "-,-,a"), "speaks of 3"));
    }
};

QS_TEST(ShardingTest)
#include "sharding_test.moc"
