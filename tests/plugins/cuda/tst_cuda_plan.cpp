// SPDX-License-Identifier: GPL-3.0-or-later
// The host's part of the backend cuda: presence, what is declined, which kernel does which shape, and the layout of the
// weights, read back as a warp reads it and multiplied with the instruction's own index rules.
#include "kernels/cuda/tiles.h"
#include "plugins/cuda/plan.h"
#include "plugins/cuda/presence.h"
#include "tests/plugins/support/abi_problem.h"

#include <QTemporaryDir>
#include <QtTest>
#include <filesystem>
#include <fstream>
#include <set>

using namespace qs::cuda;
using namespace qs::test;

class CudaPlan : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void saysWhatIsMissing();
    void everyCodeHasItsOwnPlace();
    void readsStoredCodes_data();
    void readsStoredCodes();
    void multipliesAsAWarpDoes_data();
    void multipliesAsAWarpDoes();
    void choosesByShape();
    void declinesWithAReason();
    void goesOnWithoutCublas();
};

void CudaPlan::saysWhatIsMissing() {
    QTemporaryDir folder;
    const std::string root = folder.path().toStdString() + '/';
    const auto touch = [&](const char* name) {
        std::filesystem::create_directories(std::filesystem::path(root + name).parent_path());
        std::ofstream(root + name) << 'x';
    };
    QVERIFY(!findDevice("", root).present);
    QVERIFY(findDevice("", root).reason.starts_with("no device"));
    QVERIFY(findDevice("/lib/libcuda.so.1", root).reason.find("/dev/nvidiactl") != std::string::npos);
    QVERIFY(findDevice("/lib/libcuda.so.1", root).hint.find("module") != std::string::npos);
    touch("proc/driver/nvidia/version");
    QVERIFY(findDevice("/lib/libcuda.so.1", root).hint.find("access") != std::string::npos);
    QVERIFY(findDevice("", root).reason.find("libcuda.so.1 is not installed") != std::string::npos);
    touch("dev/nvidiactl");
    QVERIFY(findDevice("/lib/libcuda.so.1", root).present);
    QVERIFY(!findDevice("", root).present);
}

void CudaPlan::everyCodeHasItsOwnPlace() {
    for (const int bits : {2, 4, 8}) {
        std::set<std::size_t> places;
        for (int row = 0; row < kTileRows; ++row)
            for (int k = 0; k < kTileDepth; ++k) {
                const TilePlace place = placeInTile(bits, row, k);
                QVERIFY(place.byte < tileBytes(bits) && place.shift % bits == 0 && place.shift < 8);
                places.insert(place.byte * 8 + std::size_t(place.shift));
            }
        QCOMPARE(places.size(), std::size_t(kTileRows * kTileDepth));
    }
}

void CudaPlan::readsStoredCodes_data() {
    QTest::addColumn<QString>("format");
    for (const char* format : {"nf4", "int8", "int4", "ternary", "binary", "fp8_e4m3"})
        QTest::addRow("%s", format) << QString::fromLatin1(format);
}
void CudaPlan::readsStoredCodes() {
    QFETCH(QString, format);
    for (const char* scale : {"row", "column", "tensor", "block"}) {
        const AbiProblem problem({.weight = format.toStdString(), .n = 5, .k = 67, .scale = scale, .block = 32}, 1,
                                 false);
        Stored stored;
        QCOMPARE(readFormat(*problem.problem.weight, 5, 67, stored), std::string());
        QCOMPARE(std::string(stored.dtype), std::string(problem.inputs[0]->dtype));
        QCOMPARE(stored.weightBytes(), problem.inputs[0]->bytes);
        QCOMPARE(4 * stored.scaleCount, problem.inputs[1]->bytes);
        const auto* bytes = static_cast<const std::uint8_t*>(problem.inputs[0]->data);
        const auto* scales = static_cast<const float*>(problem.inputs[1]->data);
        for (std::int64_t r = 0; r < 5; ++r)
            for (std::int64_t c = 0; c < 67; ++c)
                QCOMPARE(stored.levels[stored.codeAt(bytes, r, c)] * scales[stored.scaleIndex(r, c)],
                         problem.dense[std::size_t(r * 67 + c)]);
    }
}

void CudaPlan::multipliesAsAWarpDoes_data() {
    QTest::addColumn<QString>("format");
    QTest::addColumn<bool>("kn");
    QTest::addColumn<QString>("scale");
    for (const char* format : {"nf4", "int8", "int4", "ternary", "binary"})
        for (const bool kn : {false, true})
            for (const char* scale : {"row", "column", "tensor", "block"})
                QTest::addRow("%s %s %s", format, kn ? "KN" : "NK", scale)
                    << QString::fromLatin1(format) << kn << QString::fromLatin1(scale);
}

/// What one lane holds of mma.m16n8k16, from the instruction's description: row and k of the two halves of a[i]; k and
/// column of b[i]. Each lane's codes are read as the kernels read them.
void CudaPlan::multipliesAsAWarpDoes() {
    QFETCH(QString, format);
    QFETCH(bool, kn);
    QFETCH(QString, scale);
    constexpr std::int64_t n = 37, k = 200;
    const AbiProblem problem(
        {.weight = format.toStdString(), .n = n, .k = k, .kn = kn, .scale = scale.toStdString(), .block = 32});
    Stored stored;
    QCOMPARE(readFormat(*problem.problem.weight, kn ? k : n, kn ? n : k, stored), std::string());
    const auto tiling = tilingOf(stored, kn, n, k);
    QVERIFY(tiling.has_value());
    const bool perChannel =
        scale == QStringLiteral("tensor") || scale == (kn ? QStringLiteral("column") : QStringLiteral("row"));
    QCOMPARE(tiling->mode == ScaleMode::Channel, perChannel);
    const TiledWeight w = tiled(stored, *tiling, kn, n, k, static_cast<const std::uint8_t*>(problem.inputs[0]->data),
                                static_cast<const float*>(problem.inputs[1]->data));
    const std::int64_t deep = w.depth / kTileDepth, blocks = w.block ? (w.depth + w.block - 1) / w.block : 0;
    const auto* x = static_cast<const float*>(problem.acts[0]->data); // one row
    const auto xAt = [&](std::int64_t i) { return i < k ? double(x[i]) : 0.0; };

    std::vector<double> y(std::size_t(w.tiles * kTileRows));
    for (std::int64_t tile = 0; tile < w.tiles; ++tile)
        for (std::int64_t chunk = 0; chunk < deep; ++chunk) {
            const std::uint8_t* bytes = &w.codes[std::size_t(tile * deep + chunk) * tileBytes(w.bits)];
            for (int j = 0; j < kSteps; ++j) {
                double a[16][16] = {}, b[16] = {}; // by the instruction's own row and k
                for (int lane = 0; lane < 32; ++lane) {
                    const int g = lane / 4, t = lane % 4;
                    const std::int64_t first = chunk * kTileDepth + 16 * j + 4 * t; // of what the lane holds
                    for (int i = 0; i < 4; ++i) { // codes 4t+i: halves i % 2 of a[0], a[2] (g) and a[1], a[3] (g + 8)
                        const int own = 2 * t + i % 2 + i / 2 * 8;
                        for (int upper = 0; upper < 2; ++upper) {
                            const std::int64_t channel = tile * kTileRows + g + 8 * upper;
                            // The register as the lane loads it.
                            const std::size_t load = w.bits == 2 ? std::size_t(lane * 16 + upper * 8)
                                                     : w.bits == 4
                                                         ? std::size_t((upper * 32 + lane) * 16)
                                                         : std::size_t(((upper * 2 + j / 4) * 32 + lane) * 16);
                            const int bit = (4 * (w.bits == 8 ? j % 4 : j) + i) * w.bits;
                            const unsigned code =
                                (bytes[load + std::size_t(bit / 8)] >> (bit % 8)) & ((1u << w.bits) - 1);
                            const double level =
                                w.levels.empty() ? double(static_cast<signed char>(code)) : double(w.levels[code]);
                            const std::int64_t at = first + i;
                            const float s = w.mode == ScaleMode::Channel ? w.scales[std::size_t(channel)]
                                            : w.mode == ScaleMode::Inner
                                                ? w.scales[std::size_t((tile * blocks + at / w.block) * kTileRows +
                                                                       channel % kTileRows)]
                                                : w.scales[std::size_t(channel / w.block * w.depth + at)];
                            a[g + 8 * upper][own] = level * double(s);
                        }
                        b[own] = xAt(first + i);
                    }
                }
                for (int row = 0; row < 16; ++row)
                    for (int i = 0; i < 16; ++i) y[std::size_t(tile * kTileRows + row)] += a[row][i] * b[i];
            }
        }
    std::vector<float> result(y.begin(), y.begin() + n);
    const double error = nmse(result, problem.reference);
    QVERIFY2(error < 1e-12, std::to_string(error).c_str());
    // The scale of padding is 0, but channels beyond n share theirs with the block that they end; they are not stored.
    for (std::size_t i = n; i < y.size() && w.mode != ScaleMode::EachK; ++i) QCOMPARE(y[i], 0.0);
}

void CudaPlan::choosesByShape() {
    const auto first = [](std::int64_t m) {
        const AbiProblem problem({.weight = "nf4", .m = m, .n = 64, .k = 128}, 1, false);
        return planFor(problem.problem, {}).variants.front()->path;
    };
    QVERIFY(first(1) == Path::Skinny && first(64) == Path::Skinny);
    QVERIFY(first(65) == Path::Large && first(512) == Path::Large);
    for (const std::int64_t m : {1, 8, 9, 16, 17, 64, 128})
        for (const std::int64_t k : {1, 128, 129, 4096, 28672}) {
            const SkinnyShape shape = skinnyShape(m, k);
            QVERIFY(shape.columns >= 8 && (m > 32 || shape.columns >= m));
            QVERIFY(shape.warps >= 1 && shape.warps <= 8 &&
                    (shape.warps - 1) * kTileDepth < std::max<std::int64_t>(k, 256));
            // The partial sums of its warps fit the 48 KiB that every device gives.
            QVERIFY(shape.warps * shape.tilesOfRows * kTileRows * shape.columns * 4 <= 48 * 1024);
        }
    const AbiProblem f32({.weight = "f32", .m = 4, .n = 8, .k = 8}, 1, false);
    QVERIFY(planFor(f32.problem, {}).variants.front()->path == Path::F32);
    QVERIFY(planFor(f32.problem, {}).variants.front()->flags & QS_VARIANT_BASELINE);
    const AbiProblem int8({.weight = "int8", .m = 4, .n = 8, .k = 8, .act = "dynamic"}, 1, false);
    const Plan integers = planFor(int8.problem, {});
    QCOMPARE(integers.variants.size(), std::size_t(1));
    QVERIFY(integers.variants.front()->path == Path::Integers);
}

void CudaPlan::declinesWithAReason() {
    for (const Case& c : {Case{.weight = "nf4", .m = 2, .n = 4, .k = 64, .act = "int8"},
                          Case{.weight = "int8", .m = 2, .n = 4, .k = 64, .act = "dynamic", .scale = "column"}}) {
        const AbiProblem problem(c, 1, false);
        const Plan plan = planFor(problem.problem, {});
        QVERIFY2(plan.variants.empty() && !plan.refusal.empty(), c.name().c_str());
    }
    AbiProblem nf4({.weight = "nf4", .n = 4, .k = 64}, 1, false);
    qs_format other = *nf4.problem.weight;
    nf4.problem.weight = &other;
    other.packing = "upside_down";
    QVERIFY(planFor(nf4.problem, {}).refusal.find("upside_down") != std::string::npos);
    other.packing = "pair_hi_first", other.scale_dtype = "e8m0";
    QVERIFY(planFor(nf4.problem, {}).refusal.find("e8m0") != std::string::npos);
    nf4.problem.m = 0;
    QVERIFY(!planFor(nf4.problem, {}).refusal.empty());
    // Blocks that the tensor cores' steps of 16 straddle: only by decoding everything first.
    const AbiProblem odd({.weight = "nf4", .n = 4, .k = 120, .block = 20}, 1, false);
    const Plan plan = planFor(odd.problem, {});
    QVERIFY(!plan.tiling && !plan.variants.empty());
    for (const VariantRow* row : plan.variants) QVERIFY(row->flags & QS_VARIANT_BASELINE);
}

void CudaPlan::goesOnWithoutCublas() {
    const Libraries none{"libcublas.so.13 is not installed", "libcublasLt.so.13 is not installed"};
    const AbiProblem nf4({.weight = "nf4", .n = 4, .k = 64}, 1, false);
    const Plan plan = planFor(nf4.problem, none);
    QCOMPARE(plan.variants.size(), std::size_t(1));
    QVERIFY(plan.variants.front()->path == Path::Skinny);
    const AbiProblem f32({.weight = "f32", .n = 4, .k = 64}, 1, false);
    QCOMPARE(planFor(f32.problem, none).refusal, none.noBlas);
    const AbiProblem int8({.weight = "int8", .n = 4, .k = 64, .act = "int8"}, 1, false);
    QCOMPARE(planFor(int8.problem, none).refusal, none.noLt);
}

QTEST_GUILESS_MAIN(CudaPlan)
#include "tst_cuda_plan.moc"
