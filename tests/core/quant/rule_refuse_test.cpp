// SPDX-License-Identifier: GPL-3.0-or-later
// Contradicting rules in a spec, and the message for each.
#include "made_rule.h"
#include "tests/support/test_program.h"

#include <memory>

class RuleRefuseTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void refusals_data();
    void refusals();
    void gridRefusals();
};

void RuleRefuseTest::refusals_data() {
    QTest::addColumn<QString>("spec");
    QTest::addColumn<QString>("says");
    const auto row = [](const char* spec, const char* says) {
        QTest::newRow(spec) << QString::fromLatin1(spec) << QString::fromLatin1(says);
    };
    row("int4:calib=minmax",
        "calib=minmax is for zero points, which int4 has with sym=no: use int4:calib=minmax:sym=no");
    row("int8:block=32:calib=hqq", "use int8:block=32:calib=hqq:sym=no");
    row("int4:dialect=aqt:calib=minmax", "use int4:dialect=aqt:calib=absmax or int4:dialect=aqt:calib=mse or "
                                         "int4:dialect=aqt:calib=snr"); // AQT has no zero points
    row("nf4:calib=minmax", "use nf4:calib=absmax or nf4:calib=mse or nf4:calib=snr");
    row("q4_0:block=64", "q4_0 has blocks of 32 alone, not 64: use q4_0");
    row("int4:sym=no:calib=rms,3", "use int4:sym=no:calib=minmax or int4:sym=no:calib=mse or int4:sym=no:calib=hqq");
    row("int4:calib=rms", "calib=rms,c takes 1 number, not 0: use int4:calib=rms,3");
    row("int4:calib=percentile,0", "use int4:calib=percentile,99.9");
    row("int4:calib=percentile,101", "use int4:calib=percentile,99.9");
    row("int4:calib=fixed,-1,2",
        "calib=fixed,-1,2 is not symmetric: use int4:calib=fixed,2 or int4:calib=fixed,-1,2:sym=no");
    row("int4:sym=no:calib=fixed,1,2",
        "the range of calib=fixed must hold 0 and more, not 1 to 2: use int4:sym=no:calib=fixed,-1,1");
    row("int4:calib=fixed,0", "the bound of calib=fixed must be above 0, not 0: use int4:calib=fixed,1");
    row("int4:calib=absmean", "calib=absmean[,c,p] takes 2 numbers, not 0: use int4:calib=absmean,3,1");
    row("binary:scale=tensor:calib=absmean,1,1", "takes no numbers");
    row("int4:calib=mse,2", "takes no numbers");
    row("int4:calib=snr,-1", "must be above 0");
    row("nf4:sym=no", "does not have zero points");
    row("int4:sym=no:dialect=aqt", "use int4:sym=no:dialect=qwix");
    row("int4:sym=no:scaletype=e8m0", "use int4:sym=no:scaletype=po2 or int4:sym=no:scaletype=f16");
    row("int4:scaletype=u8dq", "use nf4:dialect=bnb:scaletype=u8dq");
    row("int4:scaletype=e5m2",
        "int4 has no scaletype e5m2: use int4:scaletype=e4m3 or int4:scaletype=f32 or int4:scaletype=f16");
    row("nf4:scaletype=u8dq", "use nf4:dialect=bnb:scaletype=u8dq");
    row("nf4:dialect=bnb:block=48", "use nf4:dialect=bnb:block=32");
    row("nf4:dialect=bnb:block=8192", "use nf4:dialect=bnb:block=4096");
    row("fp4:dialect=bnb:sparse=2/4", "dialect=bnb of fp4 has no N:M sparsity: use fp4:dialect=bnb");
    row("fp4:dialect=bnb:scale=channel", "has no scales but those of blocks");
    row("nf4:dialect=bnb:decode=poly", "has no polynomial decode");
    row("mxfp4:dialect=ggml:block=64", "use mxfp4:dialect=ggml");
    row("mxfp4:dialect=ggml:calib=mse",
        "dialect=ggml of mxfp4 has its own search, not calib=mse: use mxfp4:dialect=ggml");
    row("nvfp4:dialect=ggml:scaletype=e4m3", "nvfp4 has no scaletype e4m3: use nvfp4:dialect=ggml:scaletype=ue4m3");
    row("nvfp4:dialect=qwix:scaletype=e4m3", "nvfp4 has no scaletype e4m3: use nvfp4:dialect=qwix:scaletype=ue4m3");
    row("fp8_e4m3:dialect=maxtext",
        "one scale per tensor: use fp8_e4m3:scale=tensor:dialect=maxtext:calib=fixed,1,0.5");
    row("int8:scale=tensor:dialect=maxtext", "is manual_quantize, whose calibration is fixed,SCALE,MAX");
    row("int8:scale=tensor:dialect=maxtext:calib=fixed,1",
        "'fixed,1' does not have three fields: use int8:scale=tensor:dialect=maxtext:calib=fixed,1,0.5");
    row("int8:scale=tensor:dialect=maxtext:calib=fixed,1,-1", "has a maximum below 0");
    row("int8:scale=tensor:dialect=maxtext:calib=fixed,1,1:sparse=2/4", "does not know sparse");
    row("mxfp8:dialect=ggml", "use mxfp8:dialect=ct or mxfp8:dialect=qwix");
    row("int4:dialect=bnb", "use int4:dialect=eformer or int4:dialect=aqt or int4:dialect=aqt_max");
    row("mxfp4:round=stochastic,1", "does not have random rounding");
    row("mxfp4:scale=channel", "use mxfp4:block=32");
    row("int4:sparse=1/3", "the M of sparse=1/3 must be a power of two up to 4096: use int4:sparse=2/4");
    row("int8:dialect=bnb:block=64", "dialect=bnb of int8 has a scale per row: use int8:dialect=bnb");
    row("int8:dialect=bnb:axis=0", "dialect=bnb of int8 has a scale per row: use int8:dialect=bnb");
    row("int8:dialect=bnb:tile=0x2", "dialect=bnb of int8 has a scale per row: use int8:dialect=bnb");
    for (const char* key :
         {"sparse=2/4", "round=stochastic,1", "sym=no", "calib=mse", "calib=absmax,0.9", "scaletype=f16", "nan=skip"}) {
        const std::string text = std::string("int8:dialect=bnb:") + key;
        row(text.c_str(), "which does not know");
    }
    row("int4:dialect=bnb", "int4 has no dialect 'bnb'");
    for (const char* key :
         {"sparse=2/4", "round=stochastic,1", "sym=yes", "calib=minmax,0.9", "calib=absmax", "nan=skip"}) {
        const std::string text = std::string("int4:dialect=mlx:") + key;
        row(text.c_str(), "which does not know");
    }
    for (const char* key : {"block=16", "block=256", "scale=channel", "scale=tensor", "axis=0", "tile=0x2"}) {
        const std::string text = std::string("int8:dialect=mlx:") + key;
        row(text.c_str(), "per group of 32, 64 or 128 of a row: use int8:dialect=mlx");
    }
    row("int4:dialect=mlx:scaletype=e8m0", "use int4:scaletype=po2 or int4:dialect=mlx:scaletype=f16");
    row("int4:dialect=mlx:flat=yes", "blocks of the last axis alone");
    row("int7:dialect=mlx", "int7 has no dialect 'mlx'");
    row("int4:scaletype=input",
        "int4 has no scaletype input: use int4:scaletype=f32 or int4:scaletype=f16 or int4:scaletype=bf16");
    row("int8:compute=input:dialect=aqt", "compute=input is the arithmetic of eformer alone");
    row("int4:tile=0x2:block=4", "tile and block, axis or scale both say where the scales are: use int4:block=4");
    row("fp8_e4m3:dialect=qwix:round=stochastic,1",
        "dialect=qwix rounds at random only what are integers: use fp8_e4m3:dialect=qwix");
}

void RuleRefuseTest::refusals() {
    QFETCH(QString, spec);
    QFETCH(QString, says);
    const auto parsed = parseSpec(spec.toStdString());
    QVERIFY(!parsed);
    QVERIFY2(QString::fromStdString(parsed.error().sentence()).contains(says), parsed.error().sentence().c_str());
}

void RuleRefuseTest::gridRefusals() {
    const std::int64_t shape[] = {10, 12};
    const auto says = [&](const char* spec, const char* what) {
        const auto grid = scaleGrid(specOf(spec), shape);
        const bool right = !grid && grid.error().sentence().find(what) != std::string::npos;
        if (!right && !grid) qWarning("%s", grid.error().sentence().c_str());
        return right;
    };
    QVERIFY(says("int4:tile=0x4", "does not divide axis 0 of shape [10, 12]: use int4:tile=0x2 or int4:tile=0x5"));
    QVERIFY(says("int4:tile=2x4", "the axes of shape [10, 12] are -2 to 1"));
    QVERIFY(says("int4:tile=1x4,-1x4", "twice"));
    QVERIFY(says("int4:sparse=2/8", "does not divide the last axis of shape [10, 12]: use int4:sparse=1/4"));
    QVERIFY(says("int4:block=6:sparse=2/4", "does not divide blocks of 6: use int4:block=6:sparse=1/2"));
    QVERIFY(says("int4:block=5:sparse=2/4", "use int4:block=5"));
}

QS_TEST(RuleRefuseTest)

#include "rule_refuse_test.moc"
