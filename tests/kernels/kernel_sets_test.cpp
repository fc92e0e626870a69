// SPDX-License-Identifier: GPL-3.0-or-later
// Compares quantization by every supported kernel set with the scalar set: same bits for every format, length, block
// size and difficult input.

#include "tests/kernels/each_set.h"
#include "tests/support/test_program.h"

#include <numeric>

using namespace qs;
using namespace qs::test;

namespace {

struct Case {
    std::string name;
    const FormatTraits* format;
    GroupStatistic statistic;
    Encoder encoder;
    float clip = 1;
    bool poly = false;
};

/// Every format with each of its encoders, statistics, decoders and clip values.
std::vector<Case> makeCases() {
    std::vector<Case> cases;
    for (const FormatTraits& format : formats()) {
        const auto add = [&](const char* how, GroupStatistic statistic, Encoder encoder, float clip = 1,
                             bool poly = false) {
            cases.push_back({std::string(format.id) + how, &format, statistic, encoder, clip, poly});
        };
        const bool unscaled = format.scaleKinds & std::uint8_t(ScaleKind::None);
        if (unscaled && format.unscaledBy == GroupStatistic::None)
            add(" unscaled", GroupStatistic::None, format.encoder);
        if (format.scaledBy == GroupStatistic::AbsMax) {
            add("", GroupStatistic::AbsMax, format.encoder);
            add(" clipped", GroupStatistic::AbsMax, format.encoder, 0.7f);
            if (!format.polyLevels.empty()) add(" poly", GroupStatistic::AbsMax, format.encoder, 1, true);
        }
        if (format.unscaledBy == GroupStatistic::HalfStd) add(" std", GroupStatistic::HalfStd, format.encoder);
        if (format.scaledBy != GroupStatistic::None && format.bitWidths.empty())
            add(" scaled", unscaled && format.levels.size() == 3 ? GroupStatistic::MeanAbsTwn : GroupStatistic::MeanAbs,
                format.encoder);
        if (format.encoder == Encoder::Threshold) add(" bitnet", GroupStatistic::MeanAbs, Encoder::RoundTernary);
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

    /// Bits of `wanted`: 0 codes, 1 sums, 2 code counts, 3 error histogram, 4 value histogram, 5 results per group, 6
    /// decoded values.
    Outputs(const KernelSet& kernels, const Run& run, unsigned wanted = 127) {
        const std::size_t groups = (run.n + run.group - 1) / run.group;
        codes.resize(run.n, 99), decoded.resize(run.n);
        scales.resize(groups), sse.resize(groups), ssw.resize(groups), absMax.resize(groups);
        RunOut out{codes.data(),     scales.data(),    nullptr,    decoded.data(), &sums,        codeCounts.data(),
                   errorBins.data(), valueBins.data(), sse.data(), ssw.data(),     absMax.data()};
        if (!(wanted & 1)) out.codes = nullptr;
        if (!(wanted & 2)) out.sums = nullptr;
        if (!(wanted & 4)) out.codeCounts = nullptr;
        if (!(wanted & 8)) out.errorBins = nullptr;
        if (!(wanted & 16)) out.valueBins = nullptr;
        if (!(wanted & 32)) out.groupSse = out.groupSsw = out.groupAbsMax = nullptr;
        if (!(wanted & 64)) out.decoded = nullptr;
        kernels.quantize(run, out);
    }
};

/// The name of the first output that differs, or nullptr.
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
    const auto close = [](double x, double y, double scale) { // NaN can occur: levels * scale may overflow at FLT_MAX
        return std::fabs(x - y) <= 5e-7 * scale || x == y || (std::isnan(x) && std::isnan(y));
    };
    const ErrorSums &s = a.sums, &t = b.sums;
    if (s.n != t.n || s.clipped != t.clipped || s.zeros != t.zeros || s.signFlips != t.signFlips) return "counts";
    if (!finiteGroups) return nullptr;
    if (s.maxAbs != t.maxAbs) return "largest error";
    // Squares are computed in f32: in a group with magnitudes of at least 2^-36, squares below 2^-149 become 0.
    const double lost = 1e-20 * s.sw2 / 5e-7;
    if (!close(s.se, t.se, s.sae) || !close(s.sae, t.sae, s.sae) || !close(s.se2, t.se2, s.se2 + lost))
        return "error sums";
    if (!close(s.sw2, t.sw2, s.sw2) || !close(s.sv2, t.sv2, s.sv2) || !close(s.swv, t.swv, std::sqrt(s.sw2 * s.sv2)))
        return "energy sums";
    return nullptr;
}

/// The supported sets other than scalar. The scalar result is computed once and compared with all of them.
std::vector<const KernelSet*> othersThanScalar() {
    std::vector<const KernelSet*> sets;
    for (const KernelSet* set : kernelSets())
        if (set->supported() && set != &scalarKernels()) sets.push_back(set);
    return sets;
}
/// For example "avx2: codes"; empty if all sets agree with the scalar set.
std::string wrongSet(const Run& run, bool finiteGroups, unsigned wanted = 127) {
    static const auto others = othersThanScalar();
    if (others.empty()) return {};
    const Outputs scalar(scalarKernels(), run, wanted);
    for (const KernelSet* set : others)
        if (const char* what = difference(scalar, Outputs(*set, run, wanted), finiteGroups))
            return std::string(set->id) + ": " + what;
    return {};
}

} // namespace

class KernelSets : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void quantize();
    void quantizeWithGivenScales();
    void outputsAreOptional_data() { supportedSets(); }
    void outputsAreOptional();
    void frequentOutputs();
    void nonFinitePolicy_data() { supportedSets(); }
    void nonFinitePolicy();
    void largeGroupWithNan_data() { supportedSets(); }
    void largeGroupWithNan();
};

void KernelSets::quantize() {
    if (othersThanScalar().empty()) QSKIP("this processor has no other set");
    std::size_t turn = 0;
    for (const Case& c : kCases)
        for (const Input& input : inputs())
            for (const std::size_t n : kLengths) {
                const auto x = input.make(n);
                for (const std::size_t group : groupsFor(n)) {
                    if (input.name != "normal" && (n > 300 || (n + group) % 3))
                        continue; // fewer combinations, to save
                                  // time
                    if (!taken(turn++)) continue;
                    const Run run = runOf(c, x, group, !input.finite);
                    std::string wrong = wrongSet(run, true);
                    QVERIFY2(wrong.empty(),
                             qPrintable(QString::fromLatin1("%1, %2, n %3, group %4: %5")
                                            .arg(QLatin1String(c.name.c_str()), QLatin1String(input.name.c_str()))
                                            .arg(n)
                                            .arg(group)
                                            .arg(QLatin1String(wrong.c_str()))));
                    if (input.finite) continue;
                    const Run refused = runOf(c, x, group, false); // codes are defined even if NaN is refused
                    wrong = wrongSet(refused, false);
                    QVERIFY2(wrong.empty(), wrong.c_str());
                }
            }
}

void KernelSets::quantizeWithGivenScales() {
    if (othersThanScalar().empty()) QSKIP("this processor has no other set");
    const std::vector<GroupParams> odd = {{1, 1},           {0.5f, 0.5f}, {0, FLT_MIN},      {0, 0},     {3e38f, 3e38f},
                                          {1e-40f, 1e-40f}, {1, 0.25f},   {0.01f, INFINITY}, {NAN, NAN}, {INFINITY, 1}};
    std::size_t turn = 0;
    for (const Case& c : kCases)
        for (const std::size_t n : {1u, 15u, 16u, 17u, 40u, 129u, 1500u})
            for (const std::size_t group : {1u, 2u, 5u, 16u, 33u, 2000u})
                for (const bool each : {false, true}) {
                    if (!taken(turn++)) continue;
                    const auto x = normalValues(n);
                    std::vector<GroupParams> given(n);
                    for (std::size_t i = 0; i < n; ++i)
                        given[i] = n % 2 ? GroupParams{0.3f + float(i), 0.2f + float(i)} : odd[i % odd.size()];
                    Run run = runOf(c, x, group, false);
                    run.given = given.data(), run.givenStride = each ? 1 : 0;
                    const bool tame = n % 2 || !each;
                    const std::string wrong = wrongSet(run, tame);
                    QVERIFY2(wrong.empty(), qPrintable(QString::fromLatin1("%1, n %2, group %3, each %4: %5")
                                                           .arg(QLatin1String(c.name.c_str()))
                                                           .arg(n)
                                                           .arg(group)
                                                           .arg(each)
                                                           .arg(QLatin1String(wrong.c_str()))));
                }
}

void KernelSets::outputsAreOptional() {
    QFETCH(const KernelSet*, kernels);
    std::size_t turn = 0;
    for (const Case& c : kCases)
        for (const std::size_t group : {8u, 64u, 100u}) {
            if (!taken(turn++)) continue;
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

/// Combinations of outputs for which a set may have special kernels. Some groups need the general code.
void KernelSets::frequentOutputs() {
    if (othersThanScalar().empty()) QSKIP("this processor has no other set");
    std::size_t turn = 0;
    for (const Case& c : kCases)
        for (const std::size_t group : {16u, 64u, 128u, 192u, 320u, 512u, 4096u})
            for (const std::size_t n : {std::size_t(64) * 37 + 5, group * 20}) {
                if (n < group || n > 25000 || !taken(turn++)) continue;
                auto x = normalValues(n);
                for (std::size_t i = 0; i < n; ++i) {
                    if (i / group == 5) x[i] = 0;
                    if (i / group == 7) x[i] *= 1e-25f;
                    if (i / group == 18) x[i] *= 1e20f;
                }
                const Run run = runOf(c, x, group, false);
                for (const unsigned wanted : {1u, 3u, 11u, 30u, 62u, 43u}) {
                    const std::string wrong = wrongSet(run, true, wanted);
                    QVERIFY2(wrong.empty(), qPrintable(QString::fromLatin1("%1, n %2, group %3, wanted %4: %5")
                                                           .arg(QLatin1String(c.name.c_str()))
                                                           .arg(n)
                                                           .arg(group)
                                                           .arg(wanted)
                                                           .arg(QLatin1String(wrong.c_str()))));
                }
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
    std::size_t turn = 0;
    for (const Case& c : kCases) {
        if (!taken(turn++)) continue;
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

QS_TEST(KernelSets)
#include "kernel_sets_test.moc"
