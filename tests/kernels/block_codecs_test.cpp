// SPDX-License-Identifier: GPL-3.0-or-later
// The block formats of ggml on every kernel set: bytes and values must equal ggml's, and be the same on all sets.
#include "kernels/blocks/block_set.h"
#include "tests/kernels/each_set.h"
#include "tests/support/golden.h"
#include "tests/support/test_program.h"

#include <algorithm>
#include <cmath>
#include <random>

using namespace qs;
using namespace qs::test;

namespace {

constexpr std::array<const char*, kBlockFormats> kNames = {"q4_0",  "q4_1",  "q5_0",  "q5_1", "q8_0",   "q2_k",
                                                           "q3_k",  "q4_k",  "q5_k",  "q6_k", "iq4_nl", "iq4_xs",
                                                           "tq1_0", "tq2_0", "mxfp4", "nvfp4"};

const GoldenFile& vectors() {
    static const GoldenFile file = readGolden(QS_TEST_DATA "/ggml/vectors.safetensors");
    return file;
}

bool same(float a, float b) { return std::memcmp(&a, &b, 4) == 0 || (std::isnan(a) && std::isnan(b)); }

std::vector<std::uint8_t> encoded(const BlockCodec& codec, const std::vector<float>& x) {
    std::vector<std::uint8_t> out(x.size() / codec.elements * codec.bytes);
    codec.encode(x.data(), x.size() / codec.elements, out.data());
    return out;
}
std::vector<float> decoded(const BlockCodec& codec, const std::vector<std::uint8_t>& blocks) {
    std::vector<float> out(blocks.size() / codec.bytes * codec.elements);
    codec.decode(blocks.data(), blocks.size() / codec.bytes, out.data());
    return out;
}

/// Ordinary and extreme values; the kind changes every 32 values.
std::vector<float> anything(std::size_t n, unsigned seed) {
    std::mt19937 engine(seed);
    std::normal_distribution<float> normal;
    std::vector<float> x(n);
    for (std::size_t i = 0; i < n; ++i) {
        if (i % 32 == 0) engine.discard(1);
        switch ((i / 32 * 7 + seed) % 9) {
        case 0: x[i] = normal(engine) * 1e-41f; break;
        case 1: x[i] = normal(engine) * 1e37f; break;
        case 2: x[i] = 0; break;
        case 3: x[i] = float(int(engine() % 5) - 2); break;
        case 4: x[i] = std::ldexp(normal(engine), int(engine() % 250) - 125); break;
        case 5: x[i] = i % 2 ? 3.4e38f : -3.4e38f; break;
        default: x[i] = normal(engine); break;
        }
    }
    return x;
}

} // namespace

class BlockCodecs : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void encodes_data() { supportedSets(); }
    void encodes();
    void decodes_data() { supportedSets(); }
    void decodes();
    void setsAgree_data() { supportedSets(); }
    void setsAgree();
    void measures_data() { supportedSets(); }
    void measures();
    void shifts_data() { supportedSets(); }
    void shifts();
    void biases_data() { supportedSets(); }
    void biases();
    void registered();
};

/// The bytes must equal the reference. For formats whose encoder searches (_k), some blocks may differ in bytes but not
/// in decoded values.
void BlockCodecs::encodes() {
    QFETCH(const KernelSet*, kernels);
    const auto x = vectors()["x"].as<float>();
    for (std::size_t f = 0; f < kBlockFormats; ++f) {
        const BlockCodec& codec = blocksOf(*kernels).codecs[f];
        const auto& expected = vectors()[std::string(kNames[f]) + ".blocks"].bytes;
        const auto blocks = encoded(codec, x);
        QCOMPARE(blocks.size(), expected.size());
        const bool searched = std::string_view(kNames[f]).find("_k") != std::string_view::npos;
        std::size_t different = 0;
        for (std::size_t b = 0; b < blocks.size(); b += codec.bytes)
            different += std::memcmp(&blocks[b], &expected[b], codec.bytes) != 0;
        if (!searched)
            QVERIFY2(different == 0,
                     qPrintable(QStringLiteral("%1: %2 blocks").arg(QLatin1String(kNames[f])).arg(different)));
        QVERIFY(different < blocks.size() / codec.bytes / 4);
        const auto ours = decoded(codec, blocks), theirs = decoded(codec, expected);
        double ourError = 0, theirError = 0;
        for (std::size_t i = 0; i < x.size(); ++i) {
            QVERIFY2(ours[i] == theirs[i], qPrintable(QStringLiteral("%1 [%2]: %3 became %4, not %5")
                                                          .arg(QLatin1String(kNames[f]))
                                                          .arg(i)
                                                          .arg(double(x[i]))
                                                          .arg(double(ours[i]))
                                                          .arg(double(theirs[i]))));
            ourError += std::pow(double(ours[i] - x[i]), 2), theirError += std::pow(double(theirs[i] - x[i]), 2);
        }
        QVERIFY(theirError > 0 && ourError <= 1.01 * theirError);
    }
}

void BlockCodecs::decodes() {
    QFETCH(const KernelSet*, kernels);
    for (std::size_t f = 0; f < kBlockFormats; ++f) {
        const std::string name = std::string("random.") + kNames[f];
        const auto expected = vectors()[name + ".values"].as<float>();
        const auto values = decoded(blocksOf(*kernels).codecs[f], vectors()[name + ".blocks"].bytes);
        QCOMPARE(values.size(), expected.size());
        for (std::size_t i = 0; i < values.size(); ++i) QVERIFY2(same(values[i], expected[i]), name.c_str());
    }
}

/// Any number of blocks of any values: same bytes as the scalar set, codes below the level count, zeros stay 0.
void BlockCodecs::setsAgree() {
    QFETCH(const KernelSet*, kernels);
    for (std::size_t f = 0; f < kBlockFormats; ++f) {
        const BlockCodec &codec = blocksOf(*kernels).codecs[f], &scalar = scalarBlocks().codecs[f];
        const FormatTraits* format = findFormat(kNames[f]);
        const int levels = format ? int(format->levels.size()) : 16;
        for (const std::size_t blocks : {0, 1, 2, 3, 15, 16, 17, 37}) {
            const auto x = anything(blocks * codec.elements, unsigned(blocks + 100 * f));
            const auto bytes = encoded(codec, x);
            QVERIFY2(bytes == encoded(scalar, x), kNames[f]);
            const auto values = decoded(codec, bytes), expected = decoded(scalar, bytes);
            std::vector<std::uint8_t> codes(x.size()), scalarCodes(x.size());
            codec.codes(bytes.data(), blocks, codes.data()), scalar.codes(bytes.data(), blocks, scalarCodes.data());
            QVERIFY(codes == scalarCodes);
            for (std::size_t i = 0; i < x.size(); ++i) QVERIFY(same(values[i], expected[i]) && int(codes[i]) < levels);
            const std::vector<float> zeros(x.size());
            for (const float value : decoded(codec, encoded(codec, zeros))) QVERIFY(value == 0);
        }
    }
}

/// Integers with zero points, odd lengths and ties: codes and values must equal the reference.
void BlockCodecs::shifts() {
    QFETCH(const KernelSet*, kernels);
    for (const auto& [low, high] : {std::pair(0, 15), std::pair(-8, 7), std::pair(0, 255), std::pair(-128, 127)})
        for (const std::size_t n : {std::size_t(1), std::size_t(7), std::size_t(64), std::size_t(333)})
            for (const float zero : {0.0f, 3.0f, -5.5f, 7.25f}) {
                auto x = anything(n, unsigned(n) + unsigned(high));
                const GroupParams params{0.25f, zero};
                for (std::size_t i = 0; i < n; i += 3)
                    x[i] = float(int(i % 41) - 20) * 0.125f; // half-integer multiples of the
                                                             // scale: ties
                std::vector<float> levels;
                for (int level = low; level <= high; ++level) levels.push_back(float(level));
                Run run;
                run.x = x.data(), run.n = n, run.group = n, run.given = &params;
                run.encoder = Encoder::RoundAffine, run.zeroCode = -low;
                run.levels = levels.data(), run.levelCount = int(levels.size());
                std::vector<std::uint8_t> expected(n), codes(n);
                std::vector<float> values(n), decoded(n);
                RunOut out;
                out.codes = expected.data(), out.decoded = values.data();
                scalarKernels().quantize(run, out);
                const BlockSet& blocks = blocksOf(*kernels);
                float least = 0, most = 0;
                blocks.range(x.data(), n, least, most);
                QCOMPARE(least, std::min(0.0f, *std::min_element(x.begin(), x.end())));
                QCOMPARE(most, std::max(0.0f, *std::max_element(x.begin(), x.end())));
                blocks.shiftedCodes(x.data(), n, params, float(low), float(high), codes.data());
                QVERIFY2(codes == expected, qPrintable(QStringLiteral("%1 to %2, %3").arg(low).arg(high).arg(n)));
                blocks.shiftedValues(codes.data(), n, params, float(low), decoded.data());
                for (std::size_t i = 0; i < n; ++i) QCOMPARE(decoded[i], values[i]);
                least = most = x[0]; // a range that may exclude 0
                blocks.range(x.data(), n, least, most);
                QCOMPARE(least, *std::min_element(x.begin(), x.end()));
                QCOMPARE(most, *std::max_element(x.begin(), x.end()));
            }
}

/// Integers with a bias and a scale of either sign: odd lengths, ties, and a range of zero width.
void BlockCodecs::biases() {
    QFETCH(const KernelSet*, kernels);
    for (const int high : {3, 7, 15, 31, 63, 255})
        for (const std::size_t n : {std::size_t(1), std::size_t(7), std::size_t(64), std::size_t(333)})
            for (const GroupParams params : {GroupParams{0.25f, 0.25f, -5.5f}, GroupParams{-0.125f, -0.1251f, 3.0f},
                                             GroupParams{-1e-7f, -1e-7f, 0.0f}, GroupParams{-0.0f, -0.0f, 1.5f}}) {
                auto x = anything(n, unsigned(n) + unsigned(high));
                for (std::size_t i = 0; i < n; i += 3)
                    x[i] = float(int(i % 41) - 20) * 0.125f;                       // half-integer multiples of the
                                                                                   // scale: ties
                if (params.scale == 0) std::fill(x.begin(), x.end(), params.bias); // gives 0 / 0
                std::vector<float> levels;
                for (int level = 0; level <= high; ++level) levels.push_back(float(level));
                Run run;
                run.x = x.data(), run.n = n, run.group = n, run.given = &params;
                run.encoder = Encoder::RoundBiased;
                run.levels = levels.data(), run.levelCount = int(levels.size());
                std::vector<std::uint8_t> expected(n), codes(n);
                std::vector<float> values(n), decoded(n), zeros(1);
                RunOut out;
                out.codes = expected.data(), out.decoded = values.data(), out.zeros = zeros.data();
                kernels->quantize(run, out);
                QCOMPARE(zeros[0], params.bias);
                for (std::size_t i = 0; i < n; ++i) {
                    const float place = params.scale == 0 ? 0.0f : (x[i] - params.bias) / params.aux;
                    QCOMPARE(float(expected[i]), std::nearbyint(std::clamp(place, 0.0f, float(high))));
                    QVERIFY(values[i] == float(expected[i]) * params.scale + params.bias);
                }
                const BlockSet& blocks = blocksOf(*kernels);
                blocks.biasedCodes(x.data(), n, params, float(high), codes.data());
                QVERIFY2(codes == expected, qPrintable(QStringLiteral("%1 of %2").arg(high).arg(n)));
                blocks.biasedValues(codes.data(), n, params, decoded.data());
                QVERIFY(decoded == values);
            }
}

void BlockCodecs::measures() {
    QFETCH(const KernelSet*, kernels);
    const std::size_t n = 1024, group = 32;
    const BlockCodec& codec = *qs::codec(BlockFormat::Q4_0);
    std::vector<float> x(n);
    std::mt19937 engine(3);
    std::normal_distribution<float> normal;
    for (float& value : x) value = normal(engine);
    std::fill_n(x.begin() + 64, 32, 0.0f);
    const auto blocks = encoded(codec, x);
    const auto values = decoded(codec, blocks);
    std::vector<std::uint8_t> codes(n);
    std::vector<float> scales(n / group), errors(n), places(n), sse(n / group), ssw(n / group), most(n / group);
    codec.codes(blocks.data(), n / group, codes.data());
    codec.scales(blocks.data(), n / group, scales.data());
    x[5] = std::numeric_limits<float>::quiet_NaN(), x[700] = -std::numeric_limits<float>::infinity();
    const auto levels = findFormat("q4_0")->levels;
    ErrorSums sums, expected;
    RunOut out;
    std::vector<std::uint64_t> counts(16), expectedCounts(16);
    out.codeCounts = counts.data();
    out.sums = &sums, out.groupSse = sse.data(), out.groupSsw = ssw.data(), out.groupAbsMax = most.data();
    blocksOf(*kernels).measure({x.data(), values.data(), codes.data(), n, group, scales.data(), levels.data(), 16}, out,
                               errors.data(), places.data());
    for (std::size_t g = 0; g < n / group; ++g) {
        double groupSe2 = 0;
        for (std::size_t i = g * group; i < (g + 1) * group; ++i) {
            if (!std::isfinite(x[i])) {
                QVERIFY(std::isnan(errors[i]) && std::isnan(places[i]));
                continue;
            }
            const double w = double(x[i]), v = double(values[i]), e = double(values[i] - x[i]);
            QVERIFY(errors[i] == values[i] - x[i]);
            ++expectedCounts[codes[i]];
            QVERIFY(scales[g] == 0 ? places[i] == 0 : std::fabs(places[i] - x[i] / scales[g]) < 1e-5f);
            expected.n += 1, expected.se += e, expected.se2 += e * e, expected.sae += std::fabs(e);
            expected.sw2 += w * w, expected.swv += w * v, expected.sv2 += v * v;
            expected.maxAbs = std::max(expected.maxAbs, std::fabs(errors[i]));
            expected.zeros += v == 0, expected.signFlips += w * v < 0;
            expected.clipped += scales[g] != 0 && (places[i] < -8.000008f || places[i] > 7.000007f);
            groupSe2 += e * e;
        }
        QVERIFY(std::fabs(double(sse[g]) - groupSe2) <= 1e-6 * groupSe2);
    }
    QVERIFY(counts == expectedCounts);
    std::fill(counts.begin(), counts.end(), 0u);
    out.sums = nullptr;
    blocksOf(*kernels).measure({values.data(), values.data(), codes.data(), n, group, scales.data(), levels.data(), 16},
                               out, errors.data(), places.data()); // all values are finite
    ++expectedCounts[codes[5]], ++expectedCounts[codes[700]];
    QVERIFY(counts == expectedCounts);
    QCOMPARE(sums.n, expected.n);
    QCOMPARE(sums.maxAbs, expected.maxAbs);
    QCOMPARE(sums.zeros, expected.zeros);
    QCOMPARE(sums.signFlips, expected.signFlips);
    QCOMPARE(sums.clipped, expected.clipped);
    QVERIFY(sums.zeros > 30 && sums.clipped > 0);
    for (const auto& [a, b] : {std::pair(sums.se, expected.se),
                               {sums.se2, expected.se2},
                               {sums.sae, expected.sae},
                               {sums.sw2, expected.sw2},
                               {sums.swv, expected.swv},
                               {sums.sv2, expected.sv2}})
        QVERIFY(std::fabs(a - b) <= 1e-9 * expected.sw2);
}

/// The rows of the format registry agree with the codecs.
void BlockCodecs::registered() {
    for (const FormatTraits& format : formats()) {
        QVERIFY(format.kind != FormatKind::Superblock || format.codec);
        if (!format.codec) continue;
        const BlockCodec& codec = *format.codec;
        QCOMPARE(codec.elements % format.defaultBlock, 0u);
        std::vector<float> x(codec.elements);
        for (std::size_t i = 0; i < x.size(); ++i) x[i] = float(int(i * 37 % 101) - 50) / 16;
        const auto bytes = encoded(codec, x);
        const auto values = decoded(codec, bytes);
        std::vector<std::uint8_t> codes(x.size());
        std::vector<float> scales(x.size() / format.defaultBlock);
        codec.codes(bytes.data(), 1, codes.data()), codec.scales(bytes.data(), 1, scales.data());
        for (std::size_t g = 0; g < scales.size(); ++g) // equal steps in code give equal steps in value
            for (std::size_t i = g * format.defaultBlock; i + 1 < (g + 1) * format.defaultBlock; ++i) {
                const float step = (format.levels[codes[i + 1]] - format.levels[codes[i]]) * scales[g];
                QVERIFY2(std::fabs(values[i + 1] - values[i] - step) < 1e-5f, format.id);
            }
    }
}

QS_TEST(BlockCodecs)
#include "block_codecs_test.moc"
