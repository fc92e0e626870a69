// SPDX-License-Identifier: GPL-3.0-or-later
// The host part of the backend cuda: detection, refusals, choice of the kernel by shape, and the layout of the weights.
// The layout is read back as a warp reads it, and multiplied by the index rules of the instruction.
#include "kernels/cuda/staged.h"
#include "kernels/kernel_set.h"
#include "plugins/cuda/plan.h"
#include "plugins/cuda/presence.h"
#include "tests/plugins/cuda/weight_rows.h"
#include "tests/plugins/support/abi_problem.h"
#include "tests/support/test_program.h"
#include "tests/support/thinned.h"

#include <QTemporaryDir>
#include <QtTest>
#include <bit>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>
#include <set>

using namespace qs::cuda;
using namespace qs::test;

class CudaPlan : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void saysWhatIsMissing();
    void everyCodeHasItsOwnPlace();
    void multipliesAsAWarpDoes_data();
    void multipliesAsAWarpDoes();
    void codesAsTheReference_data();
    void codesAsTheReference();
    void whatIsNotSearchedIsDeclined();
    void choosesByShape();
    void cutsWithoutRest();
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
    for (const auto& [bits, affine] : {std::pair{2, false}, {2, true}, {4, false}, {8, false}}) {
        std::set<std::size_t> places;
        for (int row = 0; row < kTileRows; ++row)
            for (int k = 0; k < kTileDepth; ++k) {
                const TilePlace place = placeInTile(bits, row, k, affine);
                QVERIFY(place.byte < tileBytes(bits) && place.shift % bits == 0 && place.shift < 8);
                places.insert(place.byte * 8 + std::size_t(place.shift));
            }
        QCOMPARE(places.size(), std::size_t(kTileRows * kTileDepth));
    }
}

void CudaPlan::multipliesAsAWarpDoes_data() { addWeightRows(); }

/// The operands of one lane in mma.m16n8k16, by the description of the instruction: row and k of the two halves of
/// a[i], k and column of b[i]. Codes are read as the kernels read them.
void CudaPlan::multipliesAsAWarpDoes() {
    QFETCH(QString, format);
    QFETCH(bool, kn);
    QFETCH(QString, scale);
    constexpr std::int64_t n = 37, k = 200;
    const AbiProblem problem(
        {.weight = format.toStdString(), .n = n, .k = k, .kn = kn, .scale = scale.toStdString(), .block = 32});
    qs::plugin::WeightLayout stored;
    QCOMPARE(readWeight(*problem.problem.weight, kn ? k : n, kn ? n : k, stored), std::string());
    const auto tiling = tilingOf(stored, kn, n, k);
    QVERIFY(tiling.has_value());
    const bool perChannel =
        scale == QStringLiteral("tensor") || scale == (kn ? QStringLiteral("column") : QStringLiteral("row"));
    QCOMPARE(tiling->mode == ScaleMode::Channel, perChannel);
    const TiledWeight w = tiled(stored, *tiling, kn, n, k, static_cast<const std::uint8_t*>(problem.inputs[0]->data),
                                static_cast<const float*>(problem.inputs[1]->data));
    QCOMPARE(w.affine, w.bits == 2);
    const std::int64_t deep = w.depth / kTileDepth, blocks = w.block ? (w.depth + w.block - 1) / w.block : 0;
    const auto* x = static_cast<const float*>(problem.acts[0]->data); // a single row
    const auto xAt = [&](std::int64_t i) { return i < k ? double(x[i]) : 0.0; };

    std::vector<double> y(std::size_t(w.tiles * kTileRows));
    for (std::int64_t tile = 0; tile < w.tiles; ++tile)
        for (std::int64_t chunk = 0; chunk < deep; ++chunk) {
            const std::uint8_t* bytes = &w.codes[std::size_t(tile * deep + chunk) * tileBytes(w.bits)];
            for (int j = 0; j < kSteps; ++j) {
                double a[16][16] = {}, b[16] = {}; // indexed by row and k of the instruction
                for (int lane = 0; lane < 32; ++lane) {
                    const int g = lane / 4, t = lane % 4;
                    const std::int64_t first = chunk * kTileDepth + 16 * j + 4 * t; // the first k of this lane
                    for (int i = 0; i < 4; ++i) { // codes 4t+i: halves i % 2 of a[0], a[2] (row g) and of a[1], a[3]
                                                  // (row g + 8)
                        const int own = 2 * t + i % 2 + i / 2 * 8;
                        for (int upper = 0; upper < 2; ++upper) {
                            const std::int64_t channel = tile * kTileRows + g + 8 * upper;
                            // The address from which the lane loads its register.
                            const std::size_t load = w.bits == 2 ? std::size_t(lane * 16 + upper * 8)
                                                     : w.bits == 4
                                                         ? std::size_t((upper * 32 + lane) * 16)
                                                         : std::size_t(((upper * 2 + j / 4) * 32 + lane) * 16);
                            const int bit = w.affine // the pairs of a step are 16 bits apart
                                                ? j / 4 * 32 + (j % 4 * 2 + i / 2) * 2 + i % 2 * 16
                                                : (4 * (w.bits == 8 ? j % 4 : j) + i) * w.bits;
                            const unsigned code =
                                (bytes[load + std::size_t(bit / 8)] >> (bit % 8)) & ((1u << w.bits) - 1);
                            const double level = w.affine           ? double(code) + double(w.offset)
                                                 : w.levels.empty() ? double(static_cast<signed char>(code))
                                                                    : double(w.levels[code]);
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
    // The scale of padding is 0. But channels beyond n can lie in the last block and use its scale; they are not
    // stored.
    for (std::size_t i = n; i < y.size() && w.mode != ScaleMode::EachK; ++i) QCOMPARE(y[i], 0.0);
}

void CudaPlan::codesAsTheReference_data() {
    QTest::addColumn<QString>("format");
    QTest::addColumn<int>("block"); // 0: a scale per row; -1: no scale
    int searched = 0;
    for (const auto& format : qs::formats()) {
        if (format.levels.empty() || format.codec || format.scaledBy != qs::GroupStatistic::AbsMax) continue;
        if (format.encoder == qs::Encoder::NearestNf4) continue; // has its own kernel
        for (const int block : {-1, 0, 32})
            QTest::addRow("%s %d", format.id, block) << QString::fromLatin1(format.id) << block;
        ++searched;
    }
    QTest::addRow("binary") << QStringLiteral("binary") << -1;
    QVERIFY(searched >= 12);
}
/// Runs the code search of the device on the host. For all kinds of numbers, codes and scales must equal the scalar
/// kernels.
void CudaPlan::codesAsTheReference() {
    QFETCH(QString, format);
    QFETCH(int, block);
    const qs::FormatTraits& traits = *qs::findFormat(format.toStdString());
    constexpr std::int64_t columns = 200;
    qs::plugin::WeightLayout stored;
    stored.meaning = qs::plugin::CodeMeaning::Level;
    stored.rows = 1, stored.columns = columns, stored.rowStride = block > 0 ? (columns + block - 1) / block : block + 1;
    if (block > 0) stored.columnBlock = block, stored.columnStride = 1;
    stored.scaleCount = std::uint64_t(stored.rowStride);
    const auto levels = traits.kind == qs::FormatKind::Float
                            ? qs::floatTable(traits)
                            : std::vector<float>(traits.levels.begin(), traits.levels.end());
    stored.levels = levels;
    stored.bits = levels.size() > 16 ? 8 : levels.size() > 4 ? 4 : 2;
    Coder coder;
    QCOMPARE(coderFor(traits.id, stored, coder), std::string());
    QCOMPARE(coder.stored.size(), coder.thresholds.size() + 1);
    const Coding coding = coder.on(coder.thresholds.data(), coder.stored.data());

    std::mt19937 random(7);
    for (int turn = 0; turn < 50; ++turn) {
        std::vector<float> x(columns);
        for (std::size_t i = 0; i < x.size(); ++i) {
            const auto bits = std::uint32_t(random());
            if (turn % 3 == 0) // any finite float
                x[i] = std::bit_cast<float>((bits >> 23 & 255) == 255 ? bits & 0x807fffffu : bits);
            else if (turn % 3 == 1) // ties
                x[i] = float(int(bits % 513) - 256) / 4;
            else
                x[i] = float(int(bits)) / float(1u << 31) * (i % 50 ? 0.1f : 1.0f);
        }
        x[3] = 0.0f, x[4] = -0.0f;
        if (turn == 4) std::fill(x.begin(), x.end(), -0.0f);
        std::vector<std::uint8_t> codes(columns);
        std::vector<float> scales(std::max<std::size_t>(1, stored.scaleCount));
        qs::Run run = qs::runFor(traits);
        run.x = x.data(), run.n = x.size(), run.group = std::size_t(coder.group);
        if (block < 0) run.statistic = qs::GroupStatistic::None;
        qs::RunOut out;
        out.codes = codes.data(), out.scales = scales.data();
        qs::scalarKernels().quantize(run, out);
        for (std::size_t begin = 0, g = 0; begin < x.size(); begin += run.group, ++g) {
            const std::size_t end = std::min(begin + run.group, x.size());
            float top = 0;
            for (std::size_t i = begin; i < end; ++i) top = std::max(top, std::fabs(x[i]));
            const GroupScale scale = scaleOf(coding.rule, top, coding.range);
            QCOMPARE(std::bit_cast<std::uint32_t>(scale.scale), std::bit_cast<std::uint32_t>(scales[g]));
            for (std::size_t i = begin; i < end; ++i) {
                const unsigned code = codeOf(coding, std::bit_cast<std::uint32_t>(x[i] / scale.divisor));
                if (std::bit_cast<std::uint32_t>(levels[code]) != std::bit_cast<std::uint32_t>(traits.levels[codes[i]]))
                    QFAIL(qPrintable(QStringLiteral("%1 / %2: level %3, not %4")
                                         .arg(double(x[i]))
                                         .arg(double(scale.divisor))
                                         .arg(double(levels[code]))
                                         .arg(double(traits.levels[codes[i]]))));
            }
        }
    }
    // The place of a code in its byte must be the one that products and the decoder use.
    stored.rowBytes = columns * stored.bits / 8;
    for (const bool highFirst : {false, true}) {
        stored.order =
            highFirst && stored.bits == 4 ? qs::plugin::CodeOrder::HighFirst : qs::plugin::CodeOrder::LowFirst;
        stored.perByte = 8 / stored.bits;
        QCOMPARE(coderFor(traits.id, stored, coder), std::string());
        for (int place = 0; place < 8 / stored.bits; ++place) {
            const auto byte = std::uint8_t(1u << shiftOf(coder.coding, place));
            QCOMPARE(stored.codeAt(&byte, 0, place), 1u);
        }
    }
}

void CudaPlan::whatIsNotSearchedIsDeclined() {
    const auto planned = [](const Case& c) { return planFor(AbiProblem(c, 1, false).problem, {}); };
    QVERIFY(planned({.weight = "int4", .n = 5, .k = 67, .op = "quantize"}).variants.front()->path ==
            Path::QuantizeBySearch);
    QVERIFY(planned({.weight = "fp8_e4m3", .n = 5, .k = 67, .scale = "block", .block = 32, .op = "quantize"})
                .variants.front()
                ->path == Path::QuantizeBySearch);
    for (const char* mean : {"ternary", "binary"}) {
        const Plan plan = planned({.weight = mean, .n = 5, .k = 67, .op = "quantize"});
        QVERIFY2(plan.variants.empty() && plan.refusal.find("cpu backend") != std::string::npos, plan.refusal.c_str());
    }
    QVERIFY(!planned({.weight = "int4", .n = 5, .k = 67, .scale = "tensor", .op = "quantize"}).refusal.empty());
    QVERIFY(
        !planned({.weight = "int4", .n = 5, .k = 67, .scale = "block", .block = 33, .op = "quantize"}).refusal.empty());
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
            // The partial sums of the warps must fit into 48 KiB of shared memory, which every device has.
            QVERIFY(shape.warps * shape.tilesOfRows * kTileRows * shape.columns * 4 <= 48 * 1024);
        }
    const AbiProblem f32({.weight = "f32", .m = 4, .n = 8, .k = 8}, 1, false);
    QVERIFY(planFor(f32.problem, {}).variants.front()->path == Path::F32);
    QVERIFY(planFor(f32.problem, {}).variants.front()->flags & QS_VARIANT_BASELINE);
    const AbiProblem int8({.weight = "int8", .m = 4, .n = 8, .k = 8, .act = "dynamic"}, 1, false);
    const Plan integers = planFor(int8.problem, {});
    QCOMPARE(integers.variants.size(), std::size_t(1));
    QVERIFY(integers.variants.front()->path == Path::Integers);
    const AbiProblem fp8({.weight = "fp8_e4m3", .m = 4, .n = 8, .k = 8, .act = "dynamic fp8"}, 1, false);
    const Plan bytes = planFor(fp8.problem, {});
    QCOMPARE(bytes.variants.size(), std::size_t(1));
    QVERIFY(bytes.variants.front()->path == Path::E4m3);
    AbiProblem measured({.weight = "nf4", .n = 8, .k = 64, .op = "quantize"}, 1, false);
    QVERIFY(!planFor(measured.problem, {}).measures);
    measured.problem.op = "quantize_stats";
    QVERIFY(planFor(measured.problem, {}).measures);
    QVERIFY(planFor(measured.problem, {}).variants.front()->path == Path::Quantize);
}

/// Staged kernel, whose blocks share x: the blocks must cover all channels and all k, no block may be empty, and the
/// preferred shape moves fewer bytes.
void CudaPlan::cutsWithoutRest() {
    for (const int bits : {2, 4, 8})
        for (const std::int64_t m : {1, 8, 9, 16})
            for (const std::int64_t n : {1, 64, 256, 257, 4096, 8192, 28672})
                for (const std::int64_t k : {1, 129, 4096, 28672})
                    for (const int processors : {1, 46, 108, 132}) {
                        const StagedShape shape = stagedShape(bits, m, n, k, processors);
                        const std::int64_t deep = roundUp(k, kTileDepth) / kTileDepth;
                        QVERIFY(shape.columns >= m && shape.columns <= 16 && shape.chunks % kStagedDeep == 0);
                        QCOMPARE(shape.groups, roundUp(n, stagedChannels(bits)) / stagedChannels(bits));
                        QVERIFY(shape.splits * shape.chunks >= deep && (shape.splits - 1) * shape.chunks < deep);
                        const auto sums = std::int64_t(shape.sums);
                        QCOMPARE(sums, shape.splits == 1
                                           ? 0
                                           : shape.groups * shape.splits * shape.columns * stagedChannels(bits));
                    }
    for (const std::int64_t m : {1, 16}) {
        const StagedShape goal = stagedShape(4, m, 8192, 28672, 132);
        const std::int64_t blocks = goal.groups * goal.splits, most = 132 * stagedBlocks(4, goal.columns);
        QVERIFY(blocks <= most && blocks >= most * 9 / 10); // all multiprocessors work, and once
    }
    const auto first = [](std::int64_t m, std::int64_t n, std::int64_t k) {
        const AbiProblem problem({.weight = "nf4", .m = m, .n = n, .k = k}, 1, false);
        return planFor(problem.problem, {}).variants.front()->path;
    };
    std::size_t turn = 0;
    for (const std::int64_t m : {2, 5, 8, 9, 16}) {
        if (!taken(turn++)) continue;
        QVERIFY(first(m, 8192, 1024) == Path::Staged);
        QVERIFY(first(m, 16, 256) == Path::Skinny); // a single tile of channels would be one block for many rows
    }
    for (const std::int64_t m : {1, 17})
        if (taken(turn++)) QVERIFY(first(m, 8192, 1024) == Path::Skinny);
    QVERIFY(!prefersStaged(4, 1, 4096, 4096, 132) && prefersStaged(4, 1, 8192, 28672, 132)); // as it was measured
    QVERIFY(prefersStaged(8, 1, 8192, 28672, 132) && !prefersStaged(2, 1, 8192, 28672, 132));
    for (const std::int64_t m : {1, 2, 16}) { // both variants are offered, to be measured
        const AbiProblem problem({.weight = "nf4", .m = m, .n = 512, .k = 256}, 1, false);
        std::set<Path> paths;
        for (const VariantRow* row : planFor(problem.problem, {}).variants) paths.insert(row->path);
        QVERIFY(paths.count(Path::Staged) && paths.count(Path::Skinny));
    }
}

void CudaPlan::declinesWithAReason() {
    for (const Case& c :
         {Case{.weight = "nf4", .m = 2, .n = 4, .k = 64, .act = "int8"},
          Case{.weight = "int8", .m = 2, .n = 4, .k = 64, .act = "dynamic", .scale = "column"},
          Case{.weight = "int8", .m = 2, .n = 4, .k = 64, .act = "dynamic fp8"},
          Case{.weight = "fp8_e4m3", .m = 2, .n = 4, .k = 64, .act = "dynamic"},
          Case{.weight = "fp8_e4m3", .m = 2, .n = 4, .k = 64, .act = "dynamic fp8", .scale = "column"},
          Case{.weight = "fp8_e4m3", .m = 2, .n = 4, .k = 64, .act = "dynamic fp8", .scale = "block", .block = 32}}) {
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
    AbiProblem huge({.weight = "nf4", .m = 32, .n = 4, .k = 64}, 1, false);
    const auto hasTiles = [&] {
        const auto rows = planFor(huge.problem, {}).variants;
        return std::any_of(rows.begin(), rows.end(), [](auto* row) { return row->path == Path::Large; });
    };
    QVERIFY(hasTiles());
    huge.problem.m = kLargeMost + 1; // rows need tiles of 128, and a grid has at most 65535
    QVERIFY(!hasTiles());
    huge.problem.n = huge.problem.k = std::numeric_limits<std::int32_t>::max(); // the size in bytes needs more than 64
                                                                                // bits
    QVERIFY(planFor(huge.problem, {}).refusal.find("2^44") != std::string::npos);
    // Blocks that do not align with the k steps of 16 of the tensor cores: only variants that decode everything first.
    const AbiProblem odd({.weight = "nf4", .n = 4, .k = 120, .block = 20}, 1, false);
    const Plan plan = planFor(odd.problem, {});
    QVERIFY(!plan.tiling && !plan.variants.empty());
    for (const VariantRow* row : plan.variants) QVERIFY(row->flags & QS_VARIANT_BASELINE);
}

void CudaPlan::goesOnWithoutCublas() {
    const Libraries none{"libcublas.so.13 is not installed", "libcublasLt.so.13 is not installed"};
    const AbiProblem nf4({.weight = "nf4", .n = 4, .k = 64}, 1, false);
    const Plan plan = planFor(nf4.problem, none);
    QCOMPARE(plan.variants.size(), std::size_t(2));
    for (const VariantRow* row : plan.variants) QVERIFY(!(row->flags & QS_VARIANT_BASELINE));
    QVERIFY(plan.variants.front()->path == Path::Skinny);
    const AbiProblem f32({.weight = "f32", .n = 4, .k = 64}, 1, false);
    QCOMPARE(planFor(f32.problem, none).refusal, none.noBlas);
    const AbiProblem int8({.weight = "int8", .n = 4, .k = 64, .act = "int8"}, 1, false);
    QCOMPARE(planFor(int8.problem, none).refusal, none.noLt);
    const AbiProblem fp8({.weight = "fp8_e4m3", .n = 4, .k = 64, .act = "dynamic fp8"}, 1, false);
    const Libraries old{"", "", "fp8 products need compute capability 8.9, the device has 8.0"};
    QCOMPARE(planFor(fp8.problem, old).refusal, old.noFp8);
    QVERIFY(planFor(int8.problem, old).refusal.empty());
}

QS_TEST(CudaPlan)
#include "cuda_plan_test.moc"
