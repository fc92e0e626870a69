// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/quant/spec/calibration.h"
#include "core/quant/spec/spec.h"
#include "tests/support/test_program.h"

#include <QtTest>
#include <algorithm>

using namespace qs;

class SpecTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void everyCombinationKeepsItsText();
    void keysInAnyOrder();
    void canonical_data();
    void canonical();
    void refusals_data();
    void refusals();
    void adviceWorks();
    void adviceKeepsTheRest();
};

void SpecTest::everyCombinationKeepsItsText() {
    const std::vector<std::string> scales = {
        "",          ":scale=none", ":scale=tensor",      ":scale=channel", ":scale=block",
        ":axis=0",   ":axis=-1,0",  ":block=2",           ":block=96",      ":scale=block:block=65536",
        ":axis=out", ":flat=yes",   ":block=96:flat=yes", ":flat=no"};
    const std::vector<std::string> calibrations = {"", ":calib=absmax", ":calib=absmax,0.9", ":calib=absmean",
                                                   ":calib=std"};
    const std::vector<std::string> rest = {"",
                                           ":decode=table",
                                           ":decode=poly",
                                           ":nan=skip",
                                           ":nan=refuse",
                                           ":compute=input",
                                           ":compute=f32",
                                           ":dialect=eformer",
                                           ":dialect=bitnet",
                                           ":nan=skip:dialect=eformer"};
    int valid = 0, refused = 0;
    for (const auto& format : formats())
        for (const auto& scale : scales)
            for (const auto& calibration : calibrations)
                for (const auto& tail : rest) {
                    const auto spec = parseSpec(format.id + scale + calibration + tail);
                    if (!spec) {
                        ++refused;
                        QVERIFY(!spec.error().message.empty() && spec.error().sentence().size() <= 500);
                        continue;
                    }
                    ++valid;
                    const auto again = parseSpec(specText(*spec));
                    QVERIFY(again && *again == *spec);
                    const auto full = parseSpec(canonicalText(*spec));
                    QVERIFY2(full.has_value(), canonicalText(*spec).c_str());
                    QCOMPARE(canonicalText(*full), canonicalText(*spec));
                    QVERIFY(full->scaleKind() == spec->scaleKind() && full->blockSize() == spec->blockSize());
                    QVERIFY(full->effectiveDecode() == spec->effectiveDecode() &&
                            full->effectiveNan() == spec->effectiveNan());
                }
    QVERIFY(valid > 100 && refused > 100);
}

void SpecTest::keysInAnyOrder() {
    std::vector<std::string> keys = {"block=32", "calib=absmax,0.95", "decode=poly", "nan=skip"};
    const auto first = parseSpec("nf4:block=32:calib=absmax,0.95:decode=poly:nan=skip");
    QVERIFY(first.has_value());
    std::sort(keys.begin(), keys.end());
    do {
        const auto spec = parseSpec("nf4:" + keys[0] + ":" + keys[1] + ":" + keys[2] + ":" + keys[3]);
        QVERIFY(spec && *spec == *first);
    } while (std::next_permutation(keys.begin(), keys.end()));
}

void SpecTest::canonical_data() {
    QTest::addColumn<QString>("spec");
    QTest::addColumn<QString>("full");
    const auto row = [](const char* spec, const char* full) {
        QTest::newRow(spec) << QString::fromLatin1(spec) << QString::fromLatin1(full);
    };
    row("nf4", "nf4:block=64:calib=absmax:decode=table:nan=refuse:compute=f32:dialect=eformer");
    row("int8", "int8:axis=-1:calib=absmax:scaletype=f32:sym=yes:round=nearest:nan=refuse:compute=f32:dialect=eformer");
    row("int8:scale=channel",
        "int8:axis=-1:calib=absmax:scaletype=f32:sym=yes:round=nearest:nan=refuse:compute=f32:dialect=eformer");
    row("int8:scale=block",
        "int8:block=64:calib=absmax:scaletype=f32:sym=yes:round=nearest:nan=refuse:compute=f32:dialect=eformer");
    row("int8:axis=out",
        "int8:axis=out:calib=absmax:scaletype=f32:sym=yes:round=nearest:nan=refuse:compute=f32:dialect=eformer");
    row("int8:block=64:flat=yes",
        "int8:block=64:flat=yes:calib=absmax:scaletype=f32:sym=yes:round=nearest:nan=refuse:compute=f32:"
        "dialect=eformer");
    row("nf4:flat=no", "nf4:block=64:calib=absmax:decode=table:nan=refuse:compute=f32:dialect=eformer");
    row("ternary", "ternary:scale=none:calib=std:nan=refuse:dialect=eformer");
    row("ternary:dialect=bitnet", "ternary:scale=tensor:calib=absmean:nan=refuse:dialect=bitnet");
    row("binary", "binary:scale=none:nan=refuse:dialect=eformer");
    row("f16", "f16:nan=refuse:dialect=eformer");
    row("int4", "int4:block=64:calib=absmax:scaletype=f32:sym=yes:round=nearest:nan=refuse:dialect=eformer");
    row("int4:calib=absmax,0.9",
        "int4:block=64:calib=absmax,0.9:scaletype=f32:sym=yes:round=nearest:nan=refuse:dialect=eformer");
    row("int4:sym=no", "int4:block=64:calib=minmax:scaletype=f32:sym=no:round=nearest:nan=refuse:dialect=eformer");
    row("mxfp4", "mxfp4:block=32:calib=absmax:scaletype=e8m0:nan=refuse:dialect=ct");
    row("int3:scale=channel",
        "int3:axis=-1:calib=absmax:scaletype=f32:sym=yes:round=nearest:nan=refuse:dialect=eformer");
    row("fp8_e4m3", "fp8_e4m3:axis=-1:calib=absmax:scaletype=f32:round=nearest:nan=refuse:dialect=eformer");
    row("fp8_e5m2:scale=none", "fp8_e5m2:scale=none:scaletype=f32:round=nearest:nan=refuse:dialect=eformer");
}

void SpecTest::canonical() {
    QFETCH(QString, spec);
    QFETCH(QString, full);
    const auto parsed = parseSpec(spec.toStdString());
    QVERIFY(parsed.has_value());
    QCOMPARE(QString::fromStdString(canonicalText(*parsed)), full);
}

void SpecTest::refusals_data() {
    QTest::addColumn<QString>("spec");
    QTest::addColumn<QString>("says");
    const auto row = [](const char* spec, const char* says) {
        QTest::newRow(spec) << QString::fromLatin1(spec) << QString::fromLatin1(says);
    };
    row("nf4:block=63", "block of nf4 must be even: use nf4:block=62 or nf4:block=64");
    row("nf4:block=1", "use nf4:block=2");
    row("nf4:block=65538", "use nf4:block=65536");
    row("nf4:block=4294967296", "must be a whole number");
    row("nf4:block=-2", "must be a whole number");
    row("int8:axis=oout", "axis=oout is not a list of axes: use int8:axis=-1 or int8:axis=0,1 or int8:axis=out");
    row("int8:axis=out:axis=0", "the key 'axis' is given twice");
    row("int8:axis=out:block=64", "block=64 and axis cannot both say where the scales are");
    row("int8:axis=out:scale=tensor", "use int8:axis=out or int8:scale=tensor");
    row("nf4:axis=out", "nf4 does not have scales per channel or axis: use nf4:block=64");
    row("int8:flat=yes", "flat=yes is about blocks: use int8:block=64:flat=yes or int8");
    row("int4:flat=maybe", "'maybe' is not a value of flat: use int4:flat=yes or int4:flat=no");
    row("int4:tile=0x2:flat=yes", "tile and flat=yes both say where the blocks are");
    row("nf4:dialect=bnb:flat=yes",
        "dialect=bnb has blocks that run over the whole tensor already: use nf4:dialect=bnb");
    row("q4_k:flat=yes", "dialect=ggml of q4_k has blocks of the last axis alone: use q4_k");
    row("f32:flat=yes", "f32 has no blocks, which flat is about: use f32");
    row("int9", "there is no format 'int9': use int8");
    row("int9:block=32:nan=skip", "there is no format 'int9': use int8:block=32:nan=skip");
    row("nf5:sym=no", "there is no format 'nf5': use nf4");
    row("fp8_e4m8", "there is no format 'fp8_e4m8': use fp8_e4m3");
    row("iq4nl", "there is no format 'iq4nl': use iq4_nl");
    row("Q4_K_M", "there is no format 'Q4_K_M': use q4_k");
    row("fp8", "use fp8_e4m3");
    row("xyzzy", "there is no format 'xyzzy'; there are nf4, int8, binary, ");
    row("INT4:block=32", "formats are written in lower case: use int4:block=32");
    row("int4:blok=32:nan=skip", "use int4:block=32:nan=skip");
    row("int4:nan=skip:zzz=32", "use int4:nan=skip");
    row("int4:calib=absmaks", "use int4:calib=absmax or int4:calib=mse or int4:calib=snr");
    row("int4:calib=mze", "use int4:calib=mse or int4:calib=absmax or int4:calib=snr");
    row("int4:dialect=quix", "use int4:dialect=qwix or int4:dialect=eformer or int4:dialect=aqt");
    row("int4:scaletype=fp16",
        "int4 has no scaletype fp16: use int4:scaletype=f16 or int4:scaletype=f32 or int4:scaletype=bf16");
    row("int8:scale=chanel",
        "'chanel' is not a value of scale: use int8:scale=channel or int8:scale=tensor or int8:scale=block");
    row("int8:calib=fixed,x,1", "'x' in calib=fixed,x,1 is not a number: use int8:calib=fixed,-1,1");
    row("int8:calib=percentile,x", "'x' in calib=percentile,x is not a number: use int8:calib=percentile,99.9");
    row("nf4:sym=no:round=stochastic,1", "nf4 does not have zero points; int8 and int4 and ");
    row("int4:compute=input", "nf4 and int8 have compute=input");
    row("fp8_e4m3:decode=poly", "nf4 has decode=table and decode=poly");
    row("int4:scale=none", "use int4:scale=tensor or int4:scale=channel or int4:block=64");
    row("fp8_e5m2:scale=none:calib=absmax", "without a scale has nothing to calibrate");
    row("", "the format is missing");
    row("NF4", "use nf4");
    row("nf4:tile=1x2", "nf4 does not have tiles; int8 and int4 and ");
    row("binary:sparse=2/4", "binary does not have N:M sparsity; nf4 and int8 and ");
    row("nf4:tile=1y2", "not a list of AXISxSIZE");
    row("nf4:tile=0x2,0x4", "names axis 0 twice");
    row("nf4:sym=no", "does not have zero points");
    row("nf4:sym=maybe", "'maybe' is not a value of sym: use nf4:sym=yes");
    row("int4:sym=maybe", "'maybe' is not a value of sym: use int4:sym=yes or int4:sym=no");
    row("nf4:round=stochastic", "use nf4:round=nearest");
    row("int4:round=stochastic", "use int4:round=nearest or int4:round=stochastic,1");
    row("nf4:round=stochastic,1", "does not have random rounding");
    row("nf4:sparse=5/4", "not N/M");
    row("nf4:scaletype=f16", "nf4 has no scaletype f16: use nf4:scaletype=f32");
    row("nf4:bits=3", "does not have a choice of bits");
    row("nf4:bloc=2", "there is no key 'bloc'");
    row("nf4:block=64:block=64", "given twice");
    row("nf4:block", "is not key=value");
    row("nf4:block=", "has no value");
    row("nf4:scale=tensor", "use nf4:block=64");
    row("nf4:decode=cubic", "'cubic' is not a value of decode: use nf4:decode=table or nf4:decode=poly");
    row("int8:decode=poly", "no polynomial decode");
    row("binary:compute=input", "always computes in f32");
    row("int8:calib=absmean", "calib=absmean[,c,p] takes 2 numbers, not 0: use int8:calib=absmean,3,1");
    row("int8:calib=absmax,0", "must be above 0");
    row("int8:calib=absmax,nan", "is not a number");
    row("int8:calib=absmax,1,2", "takes at most 1");
    row("int8:axis=0,0", "twice");
    row("int8:axis=x", "is not a list of axes");
    row("int8:axis=0:block=32", "cannot both");
    row("int8:scale=tensor:block=32", "contradicts");
    row("int4:dialect=bnb", "use int4:dialect=eformer or int4:dialect=aqt or int4:dialect=aqt_max");
    row("ternary:dialect=bitnet:scale=none", "use ternary:scale=tensor:dialect=bitnet");
    row("f16:block=64", "has no scales");
}

void SpecTest::refusals() {
    QFETCH(QString, spec);
    QFETCH(QString, says);
    const auto parsed = parseSpec(spec.toStdString());
    QVERIFY(!parsed.has_value());
    const QString message = QString::fromStdString(parsed.error().sentence());
    QVERIFY2(message.contains(says), qPrintable(message));
    QVERIFY(!message.contains(QLatin1Char('\n')));
}

/// Every format with options it does not have: what is advised are whole specs of that format that work.
void SpecTest::adviceWorks() {
    const auto has = [](const FormatTraits& format, ScaleKind kind) {
        return (format.scaleKinds & std::uint8_t(kind)) != 0;
    };
    int followed = 0;
    for (const FormatTraits& format : formats()) {
        std::vector<std::string> senseless = {
            ":block=0",   ":block=70000",    ":calib=nosuch",  ":dialect=nosuch",   ":scaletype=e9m9",    ":bits=9",
            ":nan=maybe", ":block=x",        ":sym=no:sym=no", ":tile=0x2:block=4", ":nan=skip:nosuch=1", ":nan",
            ":nan=",      ":calib=absmax,x", ":axis=0,0",      ":tile=0x2,0x2",     ":scale=nosuch"};
        if (!format.affine) senseless.push_back(":sym=no");
        if (!format.tiles) senseless.push_back(":tile=0x2");
        if (!format.sparse) senseless.push_back(":sparse=2/4");
        if (!format.stochastic) senseless.push_back(":round=stochastic,1");
        if (!format.computeInput) senseless.push_back(":compute=input");
        if (format.polyLevels.empty()) senseless.push_back(":decode=poly");
        if (format.blockMultiple > 1) senseless.insert(senseless.end(), {":block=63", ":block=1"});
        if (format.minBlock > 1) senseless.push_back(":block=1");
        if (has(format, ScaleKind::Axes)) senseless.insert(senseless.end(), {":axis=x", ":axis=0:scale=tensor"});
        if (has(format, ScaleKind::Block) && has(format, ScaleKind::Axes)) senseless.push_back(":block=32:axis=0");
        if (!has(format, ScaleKind::Tensor) && format.kind != FormatKind::Identity)
            senseless.push_back(":scale=tensor");
        if (format.stochastic) senseless.push_back(":round=up");
        if (format.tiles) senseless.insert(senseless.end(), {":tile=0x0", ":tile=2"});
        if (format.sparse) senseless.insert(senseless.end(), {":sparse=5/4", ":sparse=1/3"});
        if (!format.polyLevels.empty()) senseless.push_back(":decode=cubic");
        if (format.computeInput) senseless.push_back(":compute=f64");
        for (const auto calibration : calibrationIds(format))
            if (calibration == "rms" || calibration == "percentile")
                senseless.insert(senseless.end(),
                                 {":calib=" + std::string(calibration), ":calib=" + std::string(calibration) + ",0"});
        for (const std::string& keys : senseless) {
            const auto parsed = parseSpec(format.id + keys);
            QVERIFY2(!parsed, (format.id + keys).c_str());
            const Error& error = parsed.error();
            QVERIFY2(!error.works.empty(), error.message.c_str());
            for (const std::string& one : error.works) {
                const auto again = parseSpec(one);
                QVERIFY2(again && again->format == format.id, (error.sentence() + " | " + one).c_str());
            }
            ++followed;
        }
        // For a misspelled name the message offers the format, with its keys.
        const std::string id = format.id;
        for (const std::string& typed : {id + "x", id.substr(0, 1) + id, id + "_"}) {
            if (findFormat(typed)) continue;
            const auto parsed = parseSpec(typed + ":nan=skip");
            QVERIFY(!parsed);
            const auto message = QString::fromStdString(parsed.error().sentence());
            QVERIFY2(message.endsWith(QString::fromStdString("use " + id + ":nan=skip")), qPrintable(message));
        }
    }
    QVERIFY(followed > 600);
}

/// What is advised keeps the other keys, those behind the wrong one too; validate() advises as parseSpec() does.
void SpecTest::adviceKeepsTheRest() {
    const auto works = [](const char* text) { return parseSpec(text).error().works; };
    using Works = std::vector<std::string>;
    QCOMPARE(works("nf4:block=63:nan=skip"), (Works{"nf4:block=62:nan=skip", "nf4:block=64:nan=skip"}));
    QCOMPARE(works("int4:scale=chanel:nan=skip:sparse=2/4").front(),
             std::string("int4:scale=channel:nan=skip:sparse=2/4"));
    QCOMPARE(works("int4:nan=skip:nan=skip:sym=no"), Works{"int4:nan=skip:sym=no"});
    QuantSpec odd = *parseSpec("nf4:nan=skip");
    odd.block = 63;
    QCOMPARE(validate(odd).error().works, (Works{"nf4:block=62:nan=skip", "nf4:block=64:nan=skip"}));
    const Error error = failAt("model", advise("two", {"a", "b"}).value()).value();
    QCOMPARE(error.sentence(), std::string("model: two: use a or b"));
    QCOMPARE(fail("none").value().sentence(), std::string("none"));
}

QS_TEST(SpecTest)
#include "spec_test.moc"
