// SPDX-License-Identifier: GPL-3.0-or-later
// Scales by calibration, dialect, scale type and tile. Compared with AQT, qwix and compressed-tensors, with published
// figures, and with values computed by hand.
#include "made_rule.h"
#include "tests/support/test_program.h"

#include <set>

class RuleTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void peers();
    void figures_data();
    void figures();
    void calibrations();
    void searchesImprove();
    void searchesAtTheEndsOfF32();
    void tilesAreBlocks();
    void longAndStridedGroups();
    void affineBits();
    void stochastic();
    void stochasticFloats();
    void sparse();
    void manualStrings();
    void firstAxisAlone();
};

/// A tensor of experts, whole and expert by expert: where quantizesByFirstAxis() says so, the bits are the same.
void RuleTest::firstAxisAlone() {
    std::set<std::string> texts{"int8:scale=tensor",
                                "int8:axis=0",
                                "nf4:block=64:dialect=bnb",
                                "codebook:block=64",
                                "nf4:block=64:flat=yes",
                                "int8:axis=out",
                                "int4:block=32:sym=no",
                                "q4_k",
                                "nf4:dialect=bnb:scaletype=u8dq",
                                "nvfp4:dialect=ct",
                                "int8:round=stochastic,1",
                                "ternary:scale=channel"};
    for (const auto& [name, codes] : readGolden(QS_TEST_DATA "/formats/peer_vectors.safetensors").tensors)
        if (const std::size_t slash = name.find('/'), end = name.rfind(".codes"); end != std::string::npos)
            texts.insert(name.substr(slash + 1, end - slash - 1));
    const Held whole = held(normalValues(3 * 4 * 256), {3, 4, 256});
    std::set<std::string> alone, together;
    for (const std::string& text : texts) {
        const auto spec = parseSpec(text);
        if (!spec || !quantizeTensor(whole.view(), *spec, Job{})) continue;
        if (!quantizesByFirstAxis(*spec, whole.info)) {
            together.insert(text);
            continue;
        }
        alone.insert(text);
        const auto expected = materialize(quantized(whole, text));
        for (std::size_t i = 0; i < 3; ++i) {
            const auto first = whole.values.begin() + std::ptrdiff_t(i * 1024);
            const auto one = materialize(quantized(held({first, first + 1024}, {1, 4, 256}), text));
            QVERIFY2(std::equal(one.begin(), one.end(), expected.begin() + std::ptrdiff_t(i * 1024)), text.c_str());
        }
    }
    QVERIFY2(alone.size() > 50, qPrintable(QString::number(alone.size())));
    for (const char* text : {"int4:block=32:sym=no", "q4_k", "ternary:scale=channel"})
        QVERIFY2(alone.count(text), text);
    for (const char* text : {"int8:scale=tensor", "int8:axis=0", "codebook:block=64", "nf4:dialect=bnb:scaletype=u8dq",
                             "int8:round=stochastic,1"})
        QVERIFY2(together.count(text), text);
}

/// Codes, scales and zero points of the packages, bit for bit.
void RuleTest::peers() {
    const GoldenFile file = readGolden(QS_TEST_DATA "/formats/peer_vectors.safetensors");
    int seen = 0;
    for (const auto& [name, codes] : file.tensors) {
        const std::size_t slash = name.find('/'), end = name.rfind(".codes");
        if (end == std::string::npos) continue;
        ++seen;
        const std::string base = name.substr(0, end), text = name.substr(slash + 1, end - slash - 1);
        const GoldenTensor& source = file[name.substr(0, slash)];
        const Held x = held(source.as<float>(), source.shape);
        const QuantizedTensor ours = quantized(x, text);
        const CodeSet set = codeSetOf(ours.spec);
        const bool halves = codes.dtype == "I16", floats = codes.dtype == "F32";
        const bool isHalves = ours.spec.effectiveDialect() == "aqt_halves";
        for (std::size_t i = 0; i < x.values.size(); ++i) {
            const float level = set.levels[ours.codes[i]] * (isHalves ? 2.0f : 1.0f);
            const float expected = floats   ? codes.as<float>()[i]
                                   : halves ? float(codes.as<std::int16_t>()[i])
                                            : float(codes.as<std::int8_t>()[i]);
            QVERIFY2(level == expected, qPrintable(QStringLiteral("%1: element %2, %3 became %4, not %5")
                                                       .arg(QString::fromStdString(name))
                                                       .arg(i)
                                                       .arg(double(x.values[i]))
                                                       .arg(double(level))
                                                       .arg(double(expected))));
        }
        const auto scales = file[base + ".scale"].as<float>();
        if (scales.size() == 1 || scales.size() == ours.scales.size())
            for (std::size_t i = 0; i < ours.scales.size(); ++i)
                QVERIFY2(ours.scales[i] == scales[scales.size() == 1 ? 0 : i], base.c_str());
        else
            QVERIFY2(false, base.c_str());
        const auto zero = file.tensors.find(base + ".zero");
        QCOMPARE(zero != file.tensors.end(), !ours.zeros.empty());
        if (zero == file.tensors.end()) continue;
        const auto zeros = zero->second.as<float>();
        for (std::size_t i = 0; i < ours.zeros.size(); ++i)
            QVERIFY2(ours.zeros[i] == zeros[zeros.size() == 1 ? 0 : i], base.c_str());
    }
    QVERIFY(seen > 300);
}

void RuleTest::figures_data() {
    QTest::addColumn<QString>("spec");
    QTest::addColumn<double>("decibels");
    QTest::newRow("int4") << "int4" << 19.36;
    QTest::newRow("affine") << "int4:sym=no" << 20.83;
    QTest::newRow("e2m1 and e8m0, 64") << "mxfp4:block=64:dialect=ocp" << 18.93;
    QTest::newRow("mxfp4") << "mxfp4" << 19.03;
    QTest::newRow("mxfp4, OCP") << "mxfp4:dialect=ocp" << 18.79;
    QTest::newRow("nf4") << "nf4" << 20.74;
}

void RuleTest::figures() {
    QFETCH(QString, spec);
    QFETCH(double, decibels);
    const Held x = held(normalValues(std::size_t(1) << 19), {512, 1024});
    const double found = sqnr(x, spec.toStdString());
    QVERIFY2(std::fabs(found - decibels) < 0.05, qPrintable(QString::number(found)));
}

void RuleTest::calibrations() {
    const Held x = held({3, -4, 0, 1, 2, 0, -5, 0}, {2, 4});
    const auto scales = [&](const char* spec) { return quantized(x, spec).scales; };
    using Scales = std::vector<float>;
    // 127 levels of int8; FLT_MIN is too small to matter.
    QCOMPARE(scales("int8:calib=rms,2"), (Scales{2 * std::sqrt(6.5f) / 127, 2 * std::sqrt(7.25f) / 127}));
    QCOMPARE(scales("int8:calib=fixed,2"), (Scales{2.0f / 127, 2.0f / 127}));
    QCOMPARE(scales("int8:calib=absmean,3,1"), (Scales{8.0f / 127, 10.5f / 127}));  // 3 (3+4+1)/3, 3 (2+5)/2
    QCOMPARE(scales("int8:calib=percentile,50"), (Scales{2.0f / 127, 1.0f / 127})); // between 1 and 3; 0 and 2
    QCOMPARE(scales("int8:calib=percentile,100"), (Scales{4.0f / 127, 5.0f / 127}));
    QCOMPARE(scales("int8:calib=absmax,0.5"), (Scales{2.0f / 127, 2.5f / 127}));
    QCOMPARE(scales("int8:scaletype=f16"), (Scales{0.031494140625f, 0.0393676758f}));
    QCOMPARE(scales("int8:scaletype=po2"), (Scales{0.03125f * 1.0f * 2, 0.0625f}));
    QCOMPARE(scales("int8:scaletype=e8m0"), (Scales{0.0625f, 0.0625f})); // 2^(2 - 6)
    const QuantizedTensor affine = quantized(x, "int8:sym=no");
    QCOMPARE(affine.scales, (Scales{7.0f / 255, 7.0f / 255}));
    QCOMPARE(affine.zeros, (Scales{std::nearbyint(-128 + 4 / (7.0f / 255)), std::nearbyint(-128 + 5 / (7.0f / 255))}));
    // Zeros stay zeros.
    const auto back = materialize(affine);
    QVERIFY(back[2] == 0 && back[5] == 0 && back[7] == 0);
    // A tensor of zeros decodes to zeros with every calibration.
    const Held nothing = held(std::vector<float>(64), {4, 16});
    for (const char* spec :
         {"int8:sym=no", "int4:calib=mse", "int4:calib=snr", "int4:calib=rms,3", "int4:dialect=aqt",
          "int4:calib=absmean,3,2", "mxfp4", "mxfp8", "nvfp4", "int4:dialect=qwix", "int4:dialect=ct",
          "int4:calib=percentile,99", "int4:scaletype=f16", "int4:scaletype=e4m3"})
        for (const float v : materialize(quantized(nothing, spec))) QVERIFY2(v == 0, spec);
}

/// No scale of the search grid has less error than the chosen one.
void RuleTest::searchesImprove() {
    auto values = normalValues(64 * 64, 5);
    for (std::size_t i = 0; i < values.size(); i += 97) values[i] *= 6;
    const Held x = held(std::move(values), {64, 64});
    for (const char* format : {"int3", "int4", "nf4", "mxfp4", "fp4", "int4:sym=no"}) {
        const std::string spec = format, key = spec.find("sym=no") == spec.npos ? ":calib=absmax," : "";
        const double best = sqnr(x, spec + ":calib=mse");
        if (key.empty()) {
            QVERIFY(best >= sqnr(x, spec));
            continue;
        }
        for (const char* clip : {"1", "0.9", "0.75", "0.6", "0.5"})
            QVERIFY2(best >= sqnr(x, spec + key + clip), format);
    }
    QVERIFY(sqnr(x, "int3:calib=mse") > sqnr(x, "int3") + 0.5);
    QVERIFY(sqnr(x, "int3:calib=snr") > sqnr(x, "int3"));
}

void RuleTest::tilesAreBlocks() {
    const Held x = held(normalValues(96 * 130), {96, 130});
    const auto same = [&](const char* a, const char* b) {
        const auto first = quantized(x, a), second = quantized(x, b);
        return first.codes == second.codes && first.scales == second.scales &&
               materialize(first) == materialize(second);
    };
    QVERIFY(same("int4:tile=-1x13", "int4:block=13"));
    QVERIFY(same("int4:tile=1x10", "int4:block=10"));
    QVERIFY(same("fp8_e4m3:tile=0x96", "fp8_e4m3:axis=0"));
    QVERIFY(same("int8:tile=0x96,1x130", "int8:scale=tensor"));
    QVERIFY(same("int8:tile=0x1,1x130", "int8:scale=channel"));
    const auto tiles = quantized(x, "int4:tile=0x32,1x65");
    QCOMPARE(tiles.grid.scaleShape, (std::vector<std::int64_t>{3, 2}));
    float most = 0;
    for (std::size_t r = 32; r < 64; ++r)
        for (std::size_t c = 65; c < 130; ++c) most = std::max(most, std::fabs(x.values[r * 130 + c]));
    QCOMPARE(tiles.scales[3], most / 7);
}

/// Groups longer than a work unit: the scales must equal those of values in one piece.
void RuleTest::longAndStridedGroups() {
    const Held x = held(normalValues(70 * 3000, 3), {70, 3000});
    const auto all = normalValues(70 * 3000, 3);
    for (const char* calib : {"minmax", "mse", "fixed,-1,2"}) {
        std::string text = "int4:scale=tensor:sym=no:calib=";
        text += calib;
        const QuantizedTensor tensor = quantized(x, text);
        const GroupParams whole =
            RunEncoder(planOf(text), DType::F32).params(planOf(text)->run(), all.data(), all.size());
        QCOMPARE(tensor.scales, std::vector<float>{whole.scale});
        QCOMPARE(tensor.zeros, std::vector<float>{whole.aux});
    }
    for (const char* calib : {"rms,3", "percentile,99", "absmean,3,1.5", "mse", "snr"}) {
        std::string text = "int4:axis=0:calib=";
        text += calib;
        const QuantizedTensor tensor = quantized(x, text);
        for (const std::size_t column : {0u, 17u, 2999u}) {
            std::vector<float> values;
            for (std::size_t r = 0; r < 70; ++r) values.push_back(x.values[r * 3000 + column]);
            const auto expected = RunEncoder(planOf(text), DType::F32).params(planOf(text)->run(), values.data(), 70);
            QVERIFY2(std::fabs(tensor.scales[column] - expected.scale) <= 1e-6f * expected.scale, calib);
        }
    }
}

// Squares of such values leave f32; the shares that are found are those of ordinary values.
void RuleTest::searchesAtTheEndsOfF32() {
    const Held x = held(normalValues(4096), {16, 256});
    for (const std::string text : {"int4:block=64:calib=mse", "int4:sym=no:calib=mse", "int3:calib=snr",
                                   "fp8_e4m3:scale=channel:calib=mse", "int4:scale=tensor:calib=mse"}) {
        const auto base = quantized(x, text).scales;
        QVERIFY2(base != quantized(x, text.substr(0, text.rfind(":calib"))).scales, text.c_str());
        for (const int exponent : {90, -90, -100}) {
            Held moved = x;
            for (float& value : moved.values) value = std::ldexp(value, exponent);
            const auto scales = quantized(moved, text).scales;
            std::size_t same = 0;
            for (std::size_t i = 0; i < scales.size(); ++i)
                same += std::fabs(std::ldexp(double(scales[i]), -exponent) / double(base[i]) - 1) < 1e-6;
            QVERIFY2(same * 50 >= scales.size() * 49, (text + " at 2^" + std::to_string(exponent)).c_str());
        }
    }
}

void RuleTest::affineBits() {
    const std::int64_t shape[] = {64, 128};
    const auto bits = [&](const char* spec) {
        return bitsPerWeight(*storedSize(specOf(spec), shape, DType::F32), 64 * 128);
    };
    QCOMPARE(bits("int4:block=32"), 5.0);
    QCOMPARE(bits("int4:block=32:sym=no"), 5.25); // one byte of zero point per block
    QCOMPARE(bits("int4:block=32:scaletype=f16"), 4.5);
    QCOMPARE(bits("mxfp4"), 4.25);
    QCOMPARE(bits("mxfp8"), 8.25);
    QCOMPARE(bits("nvfp4"), 4.5 + 32.0 / (64 * 128));
    QCOMPARE(bits("int8:tile=0x32,1x32"), 8 + 8 * 32.0 / (64 * 128));
}

void RuleTest::stochastic() {
    const Held x = held(std::vector<float>(40000, 0.3f), {4, 10000});
    const std::string spec = "int8:scale=tensor:calib=fixed,127:round=stochastic,";
    const auto first = quantized(x, spec + "7");
    QCOMPARE(first.codes, quantized(x, spec + "7").codes);
    QVERIFY(first.codes != quantized(x, spec + "8").codes);
    double mean = 0;
    for (const float v : materialize(first)) {
        QVERIFY(v == 0 || v == 1);
        mean += double(v) / 40000;
    }
    QVERIFY(std::fabs(mean - 0.3) < 0.01); // 4.4 standard deviations
    // Every element has its own noise, wherever the work is split.
    const QuantSpec parsed = specOf(spec + "7");
    RunEncoder encode(composedPlan(parsed), DType::F32);
    const GroupParams unit{1, 1};
    Run run = EncodePlan(parsed).run();
    run.x = x.values.data() + 12345, run.n = 10, run.group = 10, run.given = &unit, run.index = 12345;
    std::vector<std::uint8_t> codes(10);
    RunOut out;
    out.codes = codes.data();
    encode(run, out);
    QVERIFY(std::equal(codes.begin(), codes.end(), first.codes.begin() + 12345));
    // Exact multiples of the scale: only the noise acts on them, and it rounds back.
    const Held exact = held({1, 2, -3, 127}, {1, 4});
    QCOMPARE(materialize(quantized(exact, spec + "1")), exact.values);
}

/// AQT's stochastic rounding to floats: the chance to round up is the relative distance, also for subnormals and the
/// largest values.
void RuleTest::stochasticFloats() {
    struct Case {
        const char* format;
        float x, below, above;
    };
    const Case cases[] = {{"fp8_e4m3", 0.3f, 0.28125f, 0.3125f},
                          {"fp8_e4m3", -0.3f, -0.28125f, -0.3125f},
                          {"fp8_e4m3", 447, 416, 448},
                          {"fp8_e4m3", 0.7f * 0x1p-9f, 0, 0x1p-9f},
                          {"fp8_e4m3", 3.25f * 0x1p-9f, 3 * 0x1p-9f, 4 * 0x1p-9f},
                          {"fp8_e5m2", 1.1f, 1, 1.25f},
                          {"fp8_e5m2", 1.9f, 1.75f, 2},
                          {"fp8_e4m3fnuz", -0.2f * 0x1p-10f, 0, -0x1p-10f},
                          {"fp8_e5m2fnuz", 50000, 49152, 57344}};
    for (const Case& one : cases) {
        const Held x = held(std::vector<float>(40000, one.x), {4, 10000});
        const std::string spec = std::string(one.format) + ":scale=none:round=stochastic,";
        const auto first = quantized(x, spec + "7");
        QCOMPARE(first.codes, quantized(x, spec + "7").codes);
        QVERIFY(first.codes != quantized(x, spec + "8").codes);
        double above = 0;
        for (const float v : materialize(first)) {
            QVERIFY2(v == one.below || v == one.above, one.format);
            above += double(v == one.above) / 40000;
        }
        const double expected = double(one.x - one.below) / double(one.above - one.below);
        QVERIFY2(std::fabs(above - expected) < 0.01, one.format); // 4 standard deviations
    }
    // Values that are exact, and values beyond the range, are not random.
    for (const FormatTraits& format : formats()) {
        if (format.kind != FormatKind::Float || !format.stochastic) continue;
        std::vector<float> values(format.levels.begin(), format.levels.end());
        values.insert(values.end(), {1e9f, -1e9f});
        std::vector<float> expected = values;
        expected[values.size() - 2] = format.levels.back(), expected.back() = -format.levels.back();
        const auto back = materialize(quantized(held(values, {1, std::int64_t(values.size())}),
                                                std::string(format.id) + ":scale=none:round=stochastic,1"));
        for (std::size_t i = 0; i < values.size(); ++i)
            QVERIFY2(back[i] == expected[i] && std::signbit(back[i]) == std::signbit(expected[i]), format.id);
    }
}

void RuleTest::sparse() {
    const Held x = held({1, -3, 2, 0.5f, 5, 5, -5, 5}, {1, 8});
    const auto back = materialize(quantized(x, "int8:scale=tensor:calib=fixed,127:sparse=2/4"));
    QCOMPARE(back, (std::vector<float>{0, -3, 2, 0, 5, 5, 0, 0})); // of equal values the first is kept
    std::vector<float> one{0.5f, -4, 3, 3, 2};
    keepLargest({1, 2}, one.data(), one.size());
    QCOMPARE(one, (std::vector<float>{0, -4, 3, 0, 2}));
}

void RuleTest::manualStrings() {
    const FormatTraits& e4m3 = *findFormat("fp8_e4m3");
    const auto one = parseManualQuantize("fixed,1,1", e4m3);
    QVERIFY(one && one->scale == 1.0f / 448);
    QCOMPARE(QString::number(double(one->divisor), 'f', 7), QStringLiteral("0.0022278"));
    QCOMPARE(parseManualQuantize("fixed,anything,0", e4m3)->scale, 1.0f);
    QCOMPARE(parseManualQuantize("fixed,2,254", *findFormat("int8"))->divisor, 2.0f);
    const auto says = [&](const char* text, const char* what) {
        const auto parsed = parseManualQuantize(text, e4m3);
        return !parsed && parsed.error().sentence().find(what) != std::string::npos &&
               parsed.error().sentence().find(text) != std::string::npos;
    };
    QVERIFY(says("absmax", "is not a fixed calibration"));
    QVERIFY(says("fixed,1", "three fields"));
    QVERIFY(says("fixed,1,2,3", "three fields"));
    QVERIFY(says("fixed,1,lots", "does not end in a number"));
    // MaxText's arithmetic: clip(x / bf16(scale)), integers truncated, decoded with the unrounded scale.
    const Held x = held({0.5f, -0.3f, 1.7f, -2, 0.004f, 0}, {1, 6});
    const std::string manual = ":scale=tensor:dialect=maxtext:calib=";
    const QuantizedTensor bytes = quantized(x, "int8" + manual + "fixed,1,1");
    const float scale = 1.0f / 127, divisor = 0.007873535f; // bf16 of 0.0078740157
    QCOMPARE(bytes.scales, std::vector<float>{scale});
    const auto back = materialize(bytes);
    for (std::size_t i = 0; i < back.size(); ++i)
        QCOMPARE(back[i], std::clamp(std::trunc(x.values[i] / divisor), -128.0f, 127.0f) * scale);
    const auto floats = materialize(quantized(x, "fp8_e4m3" + manual + "fixed,1,1"));
    QCOMPARE(floats[0], 224.0f / 448); // 0.5 / 0.0022278 = 224.4
    QCOMPARE(floats[2], 1.0f);
    QCOMPARE(materialize(quantized(x, "fp8_e5m2" + manual + "fixed,7,0"))[2], 1.75f); // a scale of 0 is replaced by 1
}

QS_TEST(RuleTest)
#include "rule_test.moc"
