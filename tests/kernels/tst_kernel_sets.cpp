// SPDX-License-Identifier: GPL-3.0-or-later
// Every supported kernel set against the scalar one: same bits, on every format, length, block and nasty input.

#include "tests/kernels/kernel_inputs.h"

#include <QtTest>

#include <numeric>

using namespace qs;
using namespace qs::test;
Q_DECLARE_METATYPE(const qs::KernelSet*)

namespace {

struct Case {
    std::string name;
    const FormatTraits* format;
    GroupStatistic statistic;
    Encoder encoder;
    float clip = 1;
    bool poly = false;
};

/// Every format with every encoder, statistic, decode and clip that it has.
std::vector<Case> makeCases() {
    std::vector<Case> cases;
    for (const FormatTraits& format : formats()) {
        const auto add = [&](const char* how, GroupStatistic statistic, Encoder encoder, float clip = 1,
                             bool poly = false) {
            cases.push_back({std::string(format.id) + how, &format, statistic, encoder, clip, poly});
        };
        const std::string calibrations(format.calibrations);
        const bool unscaled = format.scaleKinds & std::uint8_t(ScaleKind::None);
        if (unscaled && calibrations.find("std") == std::string::npos)
            add(" unscaled", GroupStatistic::None, format.encoder);
        if (calibrations.find("absmax") != std::string::npos) {
            add("", GroupStatistic::AbsMax, format.encoder);
            add(" clipped", GroupStatistic::AbsMax, format.encoder, 0.7f);
            if (!format.polyLevels.empty()) add(" poly", GroupStatistic::AbsMax, format.encoder, 1, true);
        }
        if (calibrations.find("std") != std::string::npos) add(" std", GroupStatistic::HalfStd, format.encoder);
        if (calibrations.find("absmean") != std::string::npos)
            add(" scaled", unscaled && format.levels.size() == 3 ? GroupStatistic::MeanAbsTwn : GroupStatistic::MeanAbs,
                format.encoder);
        if (std::string(format.dialects).find("bitnet") != std::string::npos)
            add(" bitnet", GroupStatistic::MeanAbs, Encoder::RoundTernary);
    }
    return cases;
}
const std::vector<Case> kCases = makeCases();

Run runOf(const Case& c, const std::vector<float>& x, std::size_t group, bool skip) {
    const auto levels = c.poly ? c.format->polyLevels : c.format->levels;
    Run run = runFor(*c.format);
    run.x = x.data(), run.n = x.size(), run.group = group;
    run.statistic = c.statistic, run.encoder = c.encoder, run.clip = c.clip;
    run.levels = levels.data(), run.skipNonFinite = skip;
    return run;
}

struct Outputs {
    std::vector<std::uint8_t> codes;
    std::vector<float> scales, decoded, sse, ssw, absMax;
    ErrorSums sums;
    std::vector<std::uint64_t> codeCounts = std::vector<std::uint64_t>(256);
    std::vector<std::uint32_t> errorBins = std::vector<std::uint32_t>(kFloatBins), valueBins = errorBins;

    Outputs(const KernelSet& kernels, const Run& run) {
        const std::size_t groups = (run.n + run.group - 1) / run.group;
        codes.resize(run.n, 99), decoded.resize(run.n);
        scales.resize(groups), sse.resize(groups), ssw.resize(groups), absMax.resize(groups);
        kernels.quantize(run, RunOut{codes.data(), scales.data(), decoded.data(), &sums, codeCounts.data(),
                                     errorBins.data(), valueBins.data(), sse.data(), ssw.data(), absMax.data()});
    }
};

/// What differs, or nullptr.
const char* difference(const Outputs& a, const Outputs& b, bool finiteGroups) {
    if (!sameBits(a.codes, b.codes)) return "codes";
    if (finiteGroups && !sameBits(a.scales, b.scales)) return "scales";
    if (finiteGroups && !sameBits(a.decoded, b.decoded)) return "decoded";
    if (a.codeCounts != b.codeCounts) return "code counts";
    if (finiteGroups && a.errorBins != b.errorBins) return "error histogram";
    if (finiteGroups && a.valueBins != b.valueBins) return "value histogram";
    if (finiteGroups && !sameBits(a.sse, b.sse)) return "group errors";
    if (!sameBits(a.ssw, b.ssw)) return "group squares";
    if (!sameBits(a.absMax, b.absMax)) return "group maxima";
    const auto close = [](double x, double y, double scale) { // NaN: levels * scale may overflow at FLT_MAX
        return std::fabs(x - y) <= 5e-7 * scale || x == y || (std::isnan(x) && std::isnan(y));
    };
    const ErrorSums &s = a.sums, &t = b.sums;
    if (s.n != t.n || s.clipped != t.clipped || s.zeros != t.zeros || s.signFlips != t.signFlips) return "counts";
    if (!finiteGroups) return nullptr;
    if (s.maxAbs != t.maxAbs) return "largest error";
    // f32 squares: those below 2^-149 of a group with a magnitude of at least 2^-36 are lost.
    const double lost = 1e-20 * s.sw2 / 5e-7;
    if (!close(s.se, t.se, s.sae) || !close(s.sae, t.sae, s.sae) || !close(s.se2, t.se2, s.se2 + lost))
        return "error sums";
    if (!close(s.sw2, t.sw2, s.sw2) || !close(s.sv2, t.sv2, s.sv2) || !close(s.swv, t.swv, std::sqrt(s.sw2 * s.sv2)))
        return "energy sums";
    return nullptr;
}

std::vector<std::size_t> groupsFor(std::size_t n) {
    std::vector<std::size_t> groups = {1, 2, 3, 4, 6, 7, 8, 10, 15, 16, 17, 24, 32, 48, 64, 100, 128, 250, 1000, 4096};
    std::erase_if(groups, [n](std::size_t g) { return g > n && g != 64; });
    return groups;
}

} // namespace

class KernelSets : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void quantize_data() { sets(); }
    void quantize();
    void quantizeWithGivenScales_data() { sets(); }
    void quantizeWithGivenScales();
    void outputsAreOptional_data() { sets(); }
    void outputsAreOptional();
    void packedAndStored_data() { sets(); }
    void packedAndStored();
    void nf4Decisions_data() { sets(); }
    void nf4Decisions();
    void int8Decisions_data() { sets(); }
    void int8Decisions();
    void statistics_data() { sets(); }
    void statistics();
    void nonFinitePolicy_data() { sets(); }
    void nonFinitePolicy();
    void largeGroupWithNan_data() { sets(); }
    void largeGroupWithNan();
    void nf4ThresholdsAreTheRule();

private:
    static void sets() {
        QTest::addColumn<const KernelSet*>("kernels");
        for (const KernelSet* set : kernelSets())
            if (set->supported()) QTest::newRow(set->id) << set;
    }
};

void KernelSets::quantize() {
    QFETCH(const KernelSet*, kernels);
    for (const Case& c : kCases)
        for (const Input& input : inputs())
            for (const std::size_t n : kLengths) {
                const auto x = input.make(n);
                for (const std::size_t group : groupsFor(n)) {
                    if (input.name != "normal" && (n > 300 || (n + group) % 3)) continue; // for time
                    const Run run = runOf(c, x, group, !input.finite);
                    const char* wrong = difference(Outputs(scalarKernels(), run), Outputs(*kernels, run), true);
                    QVERIFY2(!wrong,
                             qPrintable(QString::fromLatin1("%1, %2, n %3, group %4: %5")
                                            .arg(QLatin1String(c.name.c_str()), QLatin1String(input.name.c_str()))
                                            .arg(n)
                                            .arg(group)
                                            .arg(QLatin1String(wrong))));
                    if (input.finite) continue;
                    const Run refused = runOf(c, x, group, false); // codes are defined even where NaN is refused
                    wrong = difference(Outputs(scalarKernels(), refused), Outputs(*kernels, refused), false);
                    QVERIFY2(!wrong, wrong);
                }
            }
}

void KernelSets::quantizeWithGivenScales() {
    QFETCH(const KernelSet*, kernels);
    const std::vector<GroupParams> odd = {{1, 1},           {0.5f, 0.5f}, {0, FLT_MIN},      {0, 0},     {3e38f, 3e38f},
                                          {1e-40f, 1e-40f}, {1, 0.25f},   {0.01f, INFINITY}, {NAN, NAN}, {INFINITY, 1}};
    for (const Case& c : kCases)
        for (const std::size_t n : {1u, 15u, 16u, 17u, 40u, 129u, 1500u})
            for (const std::size_t group : {1u, 2u, 5u, 16u, 33u, 2000u})
                for (const bool each : {false, true}) {
                    const auto x = normalValues(n);
                    std::vector<GroupParams> given(n);
                    for (std::size_t i = 0; i < n; ++i)
                        given[i] = n % 2 ? GroupParams{0.3f + float(i), 0.2f + float(i)} : odd[i % odd.size()];
                    Run run = runOf(c, x, group, false);
                    run.given = given.data(), run.givenStride = each ? 1 : 0;
                    const bool tame = n % 2 || !each;
                    const char* wrong = difference(Outputs(scalarKernels(), run), Outputs(*kernels, run), tame);
                    QVERIFY2(!wrong, qPrintable(QString::fromLatin1("%1, n %2, group %3, each %4: %5")
                                                    .arg(QLatin1String(c.name.c_str()))
                                                    .arg(n)
                                                    .arg(group)
                                                    .arg(each)
                                                    .arg(QLatin1String(wrong))));
                }
}

void KernelSets::outputsAreOptional() {
    QFETCH(const KernelSet*, kernels);
    for (const Case& c : kCases)
        for (const std::size_t group : {8u, 64u, 100u}) {
            const auto x = normalValues(1100);
            const Run run = runOf(c, x, group, false);
            const Outputs all(*kernels, run);
            kernels->quantize(run, RunOut{});
            RunOut out;
            std::vector<std::uint32_t> bins(kFloatBins);
            out.errorBins = bins.data();
            kernels->quantize(run, out);
            QVERIFY(bins == all.errorBins);
            ErrorSums sums;
            out = {};
            out.sums = &sums;
            kernels->quantize(run, out);
            QCOMPARE(sums.se2, all.sums.se2);
            std::vector<std::uint64_t> counts(256);
            out = {};
            out.codeCounts = counts.data();
            kernels->quantize(run, out);
            QVERIFY(counts == all.codeCounts);
            std::vector<float> sse(all.sse.size());
            out = {};
            out.groupSse = sse.data();
            kernels->quantize(run, out);
            QVERIFY(sameBits(sse, all.sse));
        }
}

void KernelSets::packedAndStored() {
    QFETCH(const KernelSet*, kernels);
    const KernelSet& scalar = scalarKernels();
    for (const Input& input : inputs()) {
        if (!input.finite) continue;
        for (std::size_t n : kLengths) {
            const auto x = input.make(n);
            for (const std::size_t group : groupsFor(n)) {
                const std::size_t groups = (n + group - 1) / group;
                const std::string at = input.name + ", n " + std::to_string(n) + ", group " + std::to_string(group);
                std::vector<float> s1(groups), s2(groups), d1(n), d2(n);
                std::vector<std::int8_t> q1(n), q2(n);
                scalar.quantizeInt8Stored(x.data(), n, group, q1.data(), s1.data());
                kernels->quantizeInt8Stored(x.data(), n, group, q2.data(), s2.data());
                QVERIFY2(sameBits(q1, q2) && sameBits(s1, s2), at.c_str());
                std::vector<std::uint8_t> t1(groups * ((group + 3) / 4)), t2(t1);
                scalar.quantizeTernaryPacked(x.data(), n, group, t1.data(), s1.data());
                kernels->quantizeTernaryPacked(x.data(), n, group, t2.data(), s2.data());
                QVERIFY2(sameBits(t1, t2) && sameBits(s1, s2), at.c_str());
                if (n % 2 || group % 2) continue;
                std::vector<std::uint8_t> p1(n / 2), p2(p1);
                ErrorSums e1, e2;
                scalar.quantizeNf4Packed(x.data(), n, group, p1.data(), s1.data(), &e1);
                kernels->quantizeNf4Packed(x.data(), n, group, p2.data(), s2.data(), &e2);
                QVERIFY2(sameBits(p1, p2) && sameBits(s1, s2), at.c_str());
                QVERIFY2(e1.n == e2.n && e1.maxAbs == e2.maxAbs, at.c_str());
                QVERIFY2(std::fabs(e1.se2 - e2.se2) <= 1e-6 * e1.se2 + 1e-20 * e1.sw2, at.c_str());
                QVERIFY2(std::fabs(e1.sw2 - e2.sw2) <= 1e-6 * e1.sw2, at.c_str());
                p2.assign(n / 2, 0);
                kernels->quantizeNf4Packed(x.data(), n, group, p2.data(), s2.data(), nullptr);
                QVERIFY2(sameBits(p1, p2) && sameBits(s1, s2), at.c_str());
                scalar.dequantizeNf4Packed(p1.data(), n, group, s1.data(), nf4PolyLevels().data(), d1.data());
                kernels->dequantizeNf4Packed(p1.data(), n, group, s1.data(), nf4PolyLevels().data(), d2.data());
                QVERIFY2(sameBits(d1, d2), at.c_str());
            }
        }
    }
    // Past the caches the outputs may be streamed.
    const std::size_t large = (std::size_t(4) << 20) + 64;
    const auto x = normalValues(large);
    std::vector<std::uint8_t> packed(large / 2);
    std::vector<float> scales(large / 64), d1(large), d2(large);
    kernels->quantizeNf4Packed(x.data(), large, 64, packed.data(), scales.data(), nullptr);
    scalar.dequantizeNf4Packed(packed.data(), large, 64, scales.data(), nf4Levels().data(), d1.data());
    kernels->dequantizeNf4Packed(packed.data(), large, 64, scales.data(), nf4Levels().data(), d2.data());
    QVERIFY(sameBits(d1, d2));
    std::vector<std::int8_t> q1(large), q2(large);
    std::vector<float> otherScales(scales);
    scalar.quantizeInt8Stored(x.data(), large, 64, q1.data(), scales.data());
    kernels->quantizeInt8Stored(x.data(), large, 64, q2.data(), otherScales.data());
    QVERIFY(sameBits(q1, q2) && sameBits(scales, otherScales));
}

// Around every decision of every one of many scales: the thresholds in units of x must be exact, not merely close.
void KernelSets::nf4Decisions() {
    QFETCH(const KernelSet*, kernels);
    std::mt19937 engine(5);
    for (int round = 0; round < 3000; ++round) {
        const auto exponent = int(engine() % 250) - 140;
        const float bound = std::ldexp(1.0f + float(engine() % 0x800000) / 8388608.0f, exponent);
        std::vector<float> x(64);
        x[0] = bound;
        const float divisor = bound + FLT_MIN;
        for (std::size_t i = 1; i < 64; ++i) {
            const std::size_t k = (i - 1) / 4 % 15;
            float v = nf4Thresholds().threshold[k] * divisor;
            for (std::size_t step = (i - 1) % 4; step > 0; --step) v = std::nextafter(v, step % 2 ? -FLT_MAX : FLT_MAX);
            if ((i - 1) % 4 == 3) v = std::nextafter(std::nextafter(v, FLT_MAX), FLT_MAX);
            x[i] = v;
        }
        std::vector<std::uint8_t> p1(32), p2(32);
        float a1 = 0, a2 = 0;
        scalarKernels().quantizeNf4Packed(x.data(), 64, 64, p1.data(), &a1, nullptr);
        kernels->quantizeNf4Packed(x.data(), 64, 64, p2.data(), &a2, nullptr);
        QVERIFY2(sameBits(p1, p2) && a1 == a2, qPrintable(QString::number(double(bound))));
    }
}

void KernelSets::int8Decisions() {
    QFETCH(const KernelSet*, kernels);
    std::mt19937 engine(6);
    for (int round = 0; round < 3000; ++round) {
        const float bound = std::ldexp(1.0f + float(engine() % 0x800000) / 8388608.0f, int(engine() % 250) - 140);
        const float scale = bound / 127.0f + FLT_MIN;
        std::vector<float> x(80);
        x[0] = bound;
        for (std::size_t i = 1; i < x.size(); ++i) {
            float v = (float(int(engine() % 253) - 126) + 0.5f) * scale;
            for (unsigned step = engine() % 3; step > 0; --step) v = std::nextafter(v, i % 2 ? FLT_MAX : -FLT_MAX);
            x[i] = std::fabs(v) <= bound ? v : bound;
        }
        std::vector<std::int8_t> q1(80), q2(80);
        float s1 = 0, s2 = 0;
        scalarKernels().quantizeInt8Stored(x.data(), 80, 80, q1.data(), &s1);
        kernels->quantizeInt8Stored(x.data(), 80, 80, q2.data(), &s2);
        QVERIFY2(sameBits(q1, q2) && s1 == s2, qPrintable(QString::number(double(bound))));
    }
}

void KernelSets::statistics() {
    QFETCH(const KernelSet*, kernels);
    const KernelSet& scalar = scalarKernels();
    for (const Input& input : inputs())
        for (const std::size_t n : kLengths) {
            const auto x = input.make(n);
            for (const bool finiteOnly : {false, true}) {
                if (!input.finite && !finiteOnly) {
                    QCOMPARE(std::isnan(kernels->absMax(x.data(), n, false)),
                             std::isnan(scalar.absMax(x.data(), n, false)));
                    continue;
                }
                std::uint64_t c1 = 0, c2 = 0;
                QCOMPARE(kernels->absMax(x.data(), n, finiteOnly), scalar.absMax(x.data(), n, finiteOnly));
                QCOMPARE(kernels->sumAbs(x.data(), n, finiteOnly, &c1), scalar.sumAbs(x.data(), n, finiteOnly, &c2));
                QCOMPARE(c1, c2);
                QCOMPARE(kernels->sum(x.data(), n, finiteOnly, &c1), scalar.sum(x.data(), n, finiteOnly, &c2));
                QCOMPARE(c1, c2);
                QCOMPARE(kernels->sumSquaredDeviation(x.data(), n, 0.1f, finiteOnly),
                         scalar.sumSquaredDeviation(x.data(), n, 0.1f, finiteOnly));
            }
            for (const float threshold : {0.0f, 0.5f, -1.0f, INFINITY}) {
                const AboveSum a = kernels->sumAbsAbove(x.data(), n, threshold),
                               b = scalar.sumAbsAbove(x.data(), n, threshold);
                QVERIFY(a.sum == b.sum && a.count == b.count);
            }
            const Moments a = kernels->moments(x.data(), n), b = scalar.moments(x.data(), n);
            QVERIFY(a.n == b.n && a.s1 == b.s1 && a.s2 == b.s2 && a.s3 == b.s3 && a.s4 == b.s4);
            QVERIFY(sameBits(&a.min, &b.min, 1) && sameBits(&a.max, &b.max, 1));
            QVERIFY(a.nan == b.nan && a.inf == b.inf && a.zeros == b.zeros);
            std::vector<std::uint32_t> bins1(kFloatBins), bins2(kFloatBins);
            kernels->floatBins(x.data(), n, bins1.data());
            scalar.floatBins(x.data(), n, bins2.data());
            QVERIFY(bins1 == bins2);
            std::vector<float> m1(n, 0.2f), m2(m1);
            kernels->columnAbsMax(x.data(), n, m1.data());
            scalar.columnAbsMax(x.data(), n, m2.data());
            QVERIFY(sameBits(m1, m2));
        }
}

void KernelSets::nonFinitePolicy() {
    QFETCH(const KernelSet*, kernels);
    for (const Case& c : kCases) {
        auto x = normalValues(64);
        auto without = x;
        x[5] = NAN, x[20] = INFINITY, x[63] = -INFINITY;
        for (const std::size_t at : {5u, 20u, 63u}) without[at] = 0;
        Run run = runOf(c, x, 64, true);
        const Outputs out(*kernels, run);
        QCOMPARE(out.sums.n, 61.0);
        QVERIFY(std::isfinite(out.sums.se2) && std::isfinite(out.scales[0]));
        if (c.format->zeroCode >= 0) {
            QCOMPARE(int(out.codes[5]), run.zeroCode);
            QCOMPARE(int(out.codes[20]), run.levelCount - 1);
            QCOMPARE(int(out.codes[63]), 0);
            QCOMPARE(std::accumulate(out.codeCounts.begin(), out.codeCounts.end(), std::uint64_t(0)), 61u);
        }
        if (c.statistic != GroupStatistic::AbsMax) continue;
        run.x = without.data();
        QCOMPARE(out.scales[0], Outputs(*kernels, run).scales[0]);
    }
}

void KernelSets::largeGroupWithNan() {
    QFETCH(const KernelSet*, kernels);
    auto x = normalValues(70000);
    x[3] = x[65001] = NAN, x[40000] = INFINITY;
    const GroupParams given{2.0f, 2.0f};
    for (const Case& c : kCases) {
        Run run = runOf(c, x, x.size(), true);
        run.given = &given;
        ErrorSums a, b;
        RunOut out;
        out.sums = &a;
        kernels->quantize(run, out);
        out.sums = &b;
        scalarKernels().quantize(run, out);
        QCOMPARE(a.n, 69997.0);
        QCOMPARE(b.n, 69997.0);
        QVERIFY(std::fabs(a.se2 - b.se2) <= 1e-9 * b.se2);
        QCOMPARE(a.maxAbs, b.maxAbs);
    }
}

// The threshold table against the rule itself: argmin over the levels, the first of equals.
void KernelSets::nf4ThresholdsAreTheRule() {
    const auto rule = [](float v) {
        int best = 0;
        for (int code = 1; code < 16; ++code)
            if (std::fabs(v - nf4Levels()[std::size_t(code)]) < std::fabs(v - nf4Levels()[std::size_t(best)]))
                best = code;
        return best;
    };
    const Nf4Thresholds& t = nf4Thresholds();
    for (int k = 0; k < 15; ++k) {
        QCOMPARE(rule(t.threshold[k]), k + 1);
        QCOMPARE(rule(std::nextafter(t.threshold[k], -2.0f)), k);
        // An estimate that is off by 1e-6 still finds the bucket.
        const float place = t.threshold[k] * Nf4Thresholds::kBucketScale;
        QVERIFY(std::fabs(place - std::floor(place) - 0.5f) > 1e-3f);
    }
    std::mt19937 engine(1);
    std::uniform_real_distribution<float> any(-1, 1);
    for (int i = 0; i < 100000; ++i) {
        const float v = any(engine);
        int code = 0;
        while (code < 15 && v >= t.threshold[code]) ++code;
        QCOMPARE(code, rule(v));
    }
}

QTEST_GUILESS_MAIN(KernelSets)
#include "tst_kernel_sets.moc"
