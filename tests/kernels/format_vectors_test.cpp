// SPDX-License-Identifier: GPL-3.0-or-later
// Compares every kernel set and every integer and float format with vectors made by NumPy and ml_dtypes.

#include "kernels/kernel_set.h"
#include "tests/kernels/each_set.h"
#include "tests/support/golden.h"
#include "tests/support/test_program.h"

#include <QtTest>

#include <algorithm>
#include <cmath>

using namespace qs;
using namespace qs::test;

namespace {

const GoldenFile& formatVectors() {
    static const GoldenFile file = readGolden(QS_TEST_DATA "/formats/vectors.safetensors");
    return file;
}

/// The stored byte of a code: two's complement of the integer, or the bits of the float.
std::uint8_t storedOf(const FormatTraits& format, std::uint8_t code) {
    return format.kind == FormatKind::Float ? format.bytes[code] : std::uint8_t(int(code) + format.valueOffset);
}

std::vector<const FormatTraits*> rows(FormatKind kind) {
    std::vector<const FormatTraits*> out;
    for (const FormatTraits& format : formats())
        if (format.kind == kind) out.push_back(&format);
    return out;
}

} // namespace

class FormatVectors : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void casts_data() { sets(); }
    void casts();
    void scaled_data() { sets(); }
    void scaled();
    void floatLevels();

private:
    static void sets() {
        QTest::addColumn<const KernelSet*>("kernels");
        for (const KernelSet* set : kernelSets())
            if (set->supported()) QTest::newRow(set->id) << set;
    }
};

/// With scale 1, quantizing to a float format is a saturating cast.
void FormatVectors::casts() {
    QFETCH(const KernelSet*, kernels);
    const auto x = formatVectors()["casts.x"].as<float>();
    QVERIFY(x.size() > 1000);
    for (const FormatTraits* format : rows(FormatKind::Float)) {
        const auto expected = formatVectors()[std::string("casts.") + format->id].bytes;
        QCOMPARE(expected.size(), x.size());
        for (const std::size_t group : {x.size(), std::size_t(7)}) { // one group, and many small groups
            const GroupParams unit{1, 1};
            Run run = runFor(*format);
            run.x = x.data(), run.n = x.size(), run.group = group;
            run.given = &unit;
            std::vector<std::uint8_t> codes(x.size());
            std::vector<float> decoded(x.size());
            RunOut out;
            out.codes = codes.data(), out.decoded = decoded.data();
            kernels->quantize(run, out);
            for (std::size_t i = 0; i < x.size(); ++i) {
                const int stored = storedOf(*format, codes[i]);
                QVERIFY2(stored == int(expected[i]), qPrintable(QStringLiteral("%1: %2 became %3, not %4")
                                                                    .arg(QLatin1String(format->id))
                                                                    .arg(double(x[i]))
                                                                    .arg(stored)
                                                                    .arg(int(expected[i]))));
                QVERIFY(decoded[i] == format->levels[codes[i]]);
            }
        }
    }
}

void FormatVectors::scaled() {
    QFETCH(const KernelSet*, kernels);
    std::vector<std::string> unseen;
    for (const FormatKind kind : {FormatKind::Integer, FormatKind::Float})
        for (const FormatTraits* format : rows(kind)) {
            if (format->ownScale != OwnScale::F32)
                continue; // other scale types belong to core; rule_test checks
                          // them
            int seen = 0;
            for (const auto& [name, tensor] : formatVectors().tensors) {
                const auto dot = name.find('.'), colon = name.find(':'), end = name.rfind(".codes");
                if (end == std::string::npos || name.substr(dot + 1, colon - dot - 1) != format->id) continue;
                ++seen;
                const std::string spec = name.substr(0, end), how = name.substr(colon + 1, end - colon - 1);
                const GoldenFile golden = readGolden(QS_TEST_DATA "/golden/" + name.substr(0, dot) + ".safetensors");
                const auto x = golden["x"].as<float>();
                const std::size_t features = golden["x"].features();
                const std::size_t block = how == "scale=channel" ? features : std::size_t(std::stoul(how.substr(6)));
                const std::size_t groups = (features + block - 1) / block;
                const auto scales = formatVectors()[spec + ".scale"].as<float>();
                for (std::size_t r = 0; r < x.size() / features; ++r) {
                    Run run = runFor(*format);
                    run.x = x.data() + r * features, run.n = features, run.group = block;
                    std::vector<std::uint8_t> codes(features);
                    std::vector<float> made(groups);
                    RunOut out;
                    out.codes = codes.data(), out.scales = made.data();
                    kernels->quantize(run, out);
                    QVERIFY2(std::memcmp(made.data(), scales.data() + r * groups, groups * 4) == 0, name.c_str());
                    for (std::size_t i = 0; i < features; ++i)
                        QVERIFY2(storedOf(*format, codes[i]) == tensor.bytes[r * features + i], name.c_str());
                }
            }
            if (seen == 0) unseen.emplace_back(format->id);
        }
    QVERIFY2(unseen.empty(), unseen.empty() ? "" : (unseen.front() + " has no vectors").c_str());
}

/// Levels are ascending, zeroCode is the zero, and every finite value of the 256 bytes occurs once.
void FormatVectors::floatLevels() {
    for (const FormatTraits* format : rows(FormatKind::Float)) {
        const auto levels = format->levels;
        QVERIFY(std::is_sorted(levels.begin(), levels.end()));
        QVERIFY(levels[std::size_t(format->zeroCode)] == 0 && !std::signbit(levels[std::size_t(format->zeroCode)]));
        QCOMPARE(std::signbit(levels[std::size_t(format->zeroCode) - 1]), true);
        auto bytes = std::vector<std::uint8_t>(format->bytes.begin(), format->bytes.end());
        std::sort(bytes.begin(), bytes.end());
        QVERIFY(std::adjacent_find(bytes.begin(), bytes.end()) == bytes.end());
        QCOMPARE(bytes.size(), levels.size());
    }
}

QS_TEST(FormatVectors)
#include "format_vectors_test.moc"
