// SPDX-License-Identifier: GPL-3.0-or-later
// Nearest level: compares every kernel set with the number of boundaries below the value, for codebooks of any size.

#include "kernels/level_boundaries.h"
#include "tests/kernels/each_set.h"
#include "tests/support/test_program.h"

#include <algorithm>

using namespace qs;
using namespace qs::test;

namespace {

std::vector<float> someLevels(int count) {
    std::mt19937 engine{unsigned(count)};
    std::uniform_real_distribution<float> uniform(-1, 1);
    std::vector<float> levels;
    for (int i = 0; i < count; ++i) levels.push_back(uniform(engine));
    if (count > 3) levels[1] = levels[0]; // two equal levels: one of them is never the nearest
    std::sort(levels.begin(), levels.end());
    return levels;
}

/// Values at and around all boundaries. The value with the largest magnitude comes first.
std::vector<float> around(const std::vector<float>& boundaries) {
    std::vector<float> x = {1.0f};
    for (const float b : boundaries)
        for (const float v : {std::nextafter(b, -2.0f), b, std::nextafter(b, 2.0f)}) x.push_back(v);
    for (const float v : normalValues(200, 0.3f)) x.push_back(std::clamp(v, -1.0f, 1.0f));
    return x;
}

struct Result {
    std::vector<std::uint8_t> codes;
    std::vector<float> decoded;
    std::vector<std::uint64_t> counts = std::vector<std::uint64_t>(256);
};
Result quantized(const KernelSet& kernels, Run run) {
    Result result;
    result.codes.resize(run.n), result.decoded.resize(run.n);
    RunOut out;
    out.codes = result.codes.data(), out.decoded = result.decoded.data(), out.codeCounts = result.counts.data();
    kernels.quantize(run, out);
    return result;
}

} // namespace

class KernelLevels : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void anyCodebook_data() { supportedSets(); }
    void anyCodebook();
    void fp4AndAf4();
};

void KernelLevels::anyCodebook() {
    QFETCH(const KernelSet*, kernels);
    for (const int count : {2, 3, 4, 5, 15, 16, 17, 31, 32, 33, 64, 100, 255, 256}) {
        const auto levels = someLevels(count), boundaries = boundariesBetween(levels);
        const auto x = around(boundaries);
        for (const std::size_t group : {std::size_t(1), std::size_t(7), std::size_t(64), x.size()}) {
            static constexpr GroupParams unit{1, 1};
            Run run;
            run.x = x.data(), run.n = x.size(), run.group = group;
            run.given = &unit, run.encoder = Encoder::NearestLevel;
            run.levels = levels.data(), run.levelCount = count, run.boundaries = boundaries.data();
            const Result result = quantized(*kernels, run);
            for (std::size_t i = 0; i < x.size(); ++i) {
                const auto below =
                    std::count_if(boundaries.begin(), boundaries.end(), [&](float b) { return b < x[i]; });
                QCOMPARE(int(result.codes[i]), int(below));
                QCOMPARE(result.decoded[i], levels[std::size_t(below)]);
            }
            std::uint64_t counted = 0;
            for (const auto n : result.counts) counted += n;
            QCOMPARE(counted, std::uint64_t(x.size()));
        }
    }
}

/// The code must be the first of the nearest levels. Stored FP4 bytes must equal the bit patterns of bitsandbytes.
void KernelLevels::fp4AndAf4() {
    for (const char* id : {"fp4", "af4"}) {
        const FormatTraits& format = *findFormat(id);
        const auto x = around(boundariesBetween(format.levels));
        Run run = runFor(format);
        run.x = x.data(), run.n = x.size(), run.group = x.size();
        const Result result = quantized(scalarKernels(), run);
        for (std::size_t i = 0; i < x.size(); ++i) {
            double least = 9;
            for (const float level : format.levels) least = std::min(least, std::fabs(double(x[i]) - double(level)));
            // boundaries are rounded to f32, so the level may be half an ulp farther away than the nearest
            QVERIFY(std::fabs(double(x[i]) - double(result.decoded[i])) <= least + 1e-7);
        }
        QCOMPARE(format.levels[std::size_t(format.zeroCode)], 0.0f);
    }
    const FormatTraits& fp4 = *findFormat("fp4");
    static constexpr double twelfths[] = {0, 0.0625, 8, 12, 4, 6, 2, 3};
    const auto table = floatTable(fp4);
    for (unsigned bits = 0; bits < 16; ++bits)
        QCOMPARE(table[bits], float(twelfths[bits & 7] / 12) * (bits & 8 ? -1.0f : 1.0f));
    QVERIFY(std::signbit(table[8]) && !std::signbit(table[0]));
    static constexpr float zeros[] = {1, 0.0f, -0.0f, 1e-30f, -1e-30f};
    Run run = runFor(fp4);
    run.x = zeros, run.n = 5, run.group = 5;
    QCOMPARE(quantized(scalarKernels(), run).codes, (std::vector<std::uint8_t>{15, 8, 8, 8, 7}));
}

QS_TEST(KernelLevels)
#include "kernel_levels_test.moc"
