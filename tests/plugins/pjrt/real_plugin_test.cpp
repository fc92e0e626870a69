// SPDX-License-Identifier: GPL-3.0-or-later
// Compiles and runs every program with XLA on the CPU and compares with f64 results of the same operands.
#include "made_formats.h"
#include "opened_backend.h"
#include "real_plugin.h"
#include "tests/support/test_program.h"
#include "tests/support/thinned.h"

#include <QtTest>

#include <cfloat>
#include <cmath>
#include <cstring>
#include <memory>

using namespace qs;
using namespace qs::test;

class RealPluginTest : public QObject {
    Q_OBJECT
    std::unique_ptr<OpenedBackend> backend_;
    int programs_ = 0;
    /// Compiling a program takes 0.1 s. So all programs run only if QUANTSCOPE_REQUIRE_PJRT is set, otherwise every
    /// 11th.
    std::size_t every_ = qEnvironmentVariableIsEmpty("QUANTSCOPE_REQUIRE_PJRT") ? 11 * kThinning : 1, turn_ = 0;

    void everyVariant(MadeProblem& problem, const std::string& where) {
        const auto variants = backend_->variants(problem);
        QVERIFY2(!variants.empty(), (where + ": " + backend_->reason).c_str());
        const auto reference = problem.reference();
        auto approximate = reference; // uses the levels that an approximate variant reports
        for (std::size_t i = 0; i < variants.size(); ++i) {
            if (i % every_ != turn_ % every_) continue;
            const auto& variant = variants[i];
            const auto name = where + ", " + variant.id;
            auto info = sized<qs_kernel_info>();
            qs_kernel* kernel = backend_->prepare(problem, variant.id, &info);
            QVERIFY2(kernel != nullptr, (name + ": " + backend_->text()).c_str());
            const bool approx = variant.flags & QS_VARIANT_APPROX;
            QCOMPARE(approx, std::strstr(variant.id, "poly5_approx") != nullptr);
            QCOMPARE(variant.levels_n, approx ? 16u : 0u);
            if (approx) approximate = problem.reference({variant.levels, variant.levels + variant.levels_n});
            auto out = problem.output();
            QVERIFY2(backend_->execute(kernel, problem, out), (name + ": " + backend_->text()).c_str());
            const double error = nmse(out, approx ? approximate : reference);
            QVERIFY2(error <= variant.nmse_limit, (name + ": NMSE " + std::to_string(error * 1e12) + "e-12, limit " +
                                                   std::to_string(variant.nmse_limit * 1e12) + "e-12")
                                                      .c_str());
            QVERIFY2(info.compile_ms > 0 && info.arg_bytes > 0, name.c_str());
            backend_->table->kernel_destroy(kernel);
            ++programs_;
        }
        ++turn_;
    }

private Q_SLOTS:
    void initTestCase() {
        if (const auto why = whyNoRealPlugin(); !why.isEmpty()) {
            QVERIFY2(qEnvironmentVariableIsEmpty("QUANTSCOPE_REQUIRE_PJRT"), qPrintable(why));
            QSKIP(qPrintable(why));
        }
        QVERIFY(pjrtTable() != nullptr);
        backend_ = std::make_unique<OpenedBackend>(Pairs{{"path", realPluginPath().toStdString()}});
#if defined(__SANITIZE_ADDRESS__)
        if (backend_->code != QS_OK) QSKIP(backend_->error.msg);
#endif
        QVERIFY2(backend_->code == QS_OK, backend_->error.msg);
    }
    void cleanupTestCase() {
        qInfo("%d programs compiled and compared", programs_);
        backend_.reset();
    }

    void saysWhatItIs() {
        char text[4096];
        std::uint64_t need = 0;
        QCOMPARE(backend_->table->describe(backend_->context, text, sizeof text, &need, &backend_->error), QS_OK);
        QVERIFY(need == std::strlen(text) + 1);
        for (const char* part : {"\"pjrt_api\":\"0.", "\"stablehlo_current_version\":[1,", "\"platform\":\"cpu\""})
            QVERIFY2(std::strstr(text, part) != nullptr, text);
        auto device = sized<qs_device>();
        QCOMPARE(backend_->table->device_get(backend_->context, 0, &device, &backend_->error), QS_OK);
        QCOMPARE(device.kind, QS_DEVICE_CPU);
        QCOMPARE(backend_->table->device_get(backend_->context, 1, &device, &backend_->error), QS_INVALID_ARGUMENT);
    }

    void products_data() {
        QTest::addColumn<int>("format");
        QTest::addColumn<int>("granularity");
        QTest::addColumn<bool>("kn");
        const auto formats = madeFormats();
        for (int f = 0; f < int(formats.size()); ++f)
            for (int g = 0; g < 5; ++g)
                for (const bool kn : {false, true}) {
                    if (formats[std::size_t(f)].scaleDtype == "none" && g > 0) continue;
                    QTest::addRow("%s %s granularity %d %s", formats[std::size_t(f)].format.c_str(),
                                  formats[std::size_t(f)].packing.c_str(), g, kn ? "kn" : "nk")
                        << f << g << kn;
                }
    }
    /// Each row uses the next activation type and the next tail shape, so that over all rows they are combined.
    void products() {
        QFETCH(int, format);
        QFETCH(int, granularity);
        QFETCH(bool, kn);
        static constexpr MadeAct kActs[] = {MadeAct::F32, MadeAct::Int8Dynamic, MadeAct::BF16, MadeAct::Int8Given};
        static constexpr std::int64_t kShapes[][3] = {{1, 16, 64}, {3, 40, 72}, {5, 8, 128}, {2, 24, 8}, {17, 56, 200}};
        const int turn = format * 7 + granularity * 3 + int(kn);
        auto shape = granularities()[std::size_t(granularity)];
        const auto* sides = kShapes[turn % 5];
        shape.m = sides[0];
        shape.n = sides[1];
        shape.k = sides[2];
        shape.kn = kn;
        const auto made = madeFormats()[std::size_t(format)];
        MadeProblem problem(made, shape, kActs[turn % 4], turn % 3 == 0, "matmul", turn % 5 == 3 ? "bf16" : "f32",
                            std::uint32_t(turn));
        everyVariant(problem, QTest::currentDataTag());
    }

    /// Sizes that fill neither bytes nor blocks.
    void oddSides_data() {
        QTest::addColumn<int>("format");
        QTest::addColumn<bool>("kn");
        for (const int f : {0, 2, 4, 5, 7})
            for (const bool kn : {false, true}) QTest::addRow("format %d %s", f, kn ? "kn" : "nk") << f << kn;
    }
    void oddSides() {
        QFETCH(int, format);
        QFETCH(bool, kn);
        const auto made = madeFormats()[std::size_t(format)];
        int turn = format;
        for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{2, 1, 1}, {1, 33, 65}, {3, 7, 63}}) {
            for (const int g : {0, 2 + turn % 2}) {
                auto shape = granularities()[std::size_t(g)];
                shape.m = m, shape.n = n, shape.k = k, shape.kn = kn;
                MadeProblem problem(made, shape, g == 0 ? MadeAct::F32 : MadeAct::Int8Dynamic, true, "matmul", "f32",
                                    9);
                everyVariant(problem, QTest::currentDataTag());
            }
            ++turn;
        }
    }

    void dequantizes_data() {
        QTest::addColumn<int>("format");
        for (int f = 0; f < int(madeFormats().size()); ++f)
            QTest::addRow("%d %s", f, madeFormats()[std::size_t(f)].format.c_str()) << f;
    }
    void dequantizes() {
        QFETCH(int, format);
        const auto made = madeFormats()[std::size_t(format)];
        auto shape = granularities()[made.scaleDtype == "none" ? 0 : std::size_t(format % 5)];
        shape.m = 1, shape.n = 9, shape.k = 72;
        MadeProblem problem(made, shape, MadeAct::F32, false, "dequantize", format % 2 ? "bf16" : "f32", 3);
        everyVariant(problem, QTest::currentDataTag());
    }

    void quantizesActivationsToTheBit() {
        constexpr std::int64_t m = 7, k = 129;
        MadeProblem problem({}, {m, 1, k}, MadeAct::Int8Dynamic, false, "quant_act", "f32", 5);
        MadeTensor q{"out", "i8", {m, k}, std::vector<std::byte>(m * k)},
            s{"out_scale", "f32", {m}, std::vector<std::byte>(4 * m)};
        qs_kernel* kernel = backend_->prepare(problem, "quant_act_int8");
        QVERIFY2(kernel != nullptr, backend_->error.msg);
        qs_tensor* outs[] = {q.output(), s.output()};
        const auto acts = problem.acts();
        QCOMPARE(backend_->table->execute(kernel, acts.data(), 1, outs, 2, &backend_->error), QS_OK);
        const auto* x = static_cast<const float*>(acts[0]->data);
        for (std::int64_t i = 0; i < m; ++i) {
            float peak = 0, scale = 0;
            for (std::int64_t j = 0; j < k; ++j) peak = std::max(peak, std::abs(x[i * k + j]));
            std::memcpy(&scale, s.bytes.data() + 4 * i, 4);
            QCOMPARE(scale, peak / 127 + FLT_MIN);
            for (std::int64_t j = 0; j < k; ++j)
                QCOMPARE(int(std::to_integer<std::int8_t>(q.bytes[std::size_t(i * k + j)])),
                         int(std::int8_t(std::nearbyint(x[i * k + j] / scale))));
        }
        backend_->table->kernel_destroy(kernel);
    }

    void timesAndGivesTheLastResult() {
        const auto made = madeFormats()[0];
        auto shape = granularities()[0];
        shape.m = 2, shape.n = 64, shape.k = 256;
        MadeProblem problem(made, shape, MadeAct::F32, false);
        qs_kernel* kernel = backend_->prepare(problem, "nf4_gather_f32");
        QVERIFY(kernel != nullptr);
        for (const std::uint32_t sets : {1u, 4u}) {
            std::vector<std::uint64_t> samples(16);
            auto out = problem.output();
            auto result = sized<qs_run_result>();
            result.cap = 16;
            result.samples_ns = samples.data();
            result.last_out = out.output();
            auto options = sized<qs_run_opts>();
            options.warmup = 2;
            options.iters = 50;
            options.chain = 3;
            options.buffer_sets = sets;
            options.max_seconds = 5;
            const auto acts = problem.acts();
            QVERIFY2(backend_->table->bench(kernel, acts.data(), 1, &options, &result, &backend_->error) == QS_OK,
                     backend_->error.msg);
            QCOMPARE(result.n, 16u); // at most the capacity of the array
            QCOMPARE(result.clock, QS_CLOCK_HOST);
            QCOMPARE(result.timing_valid, 1);
            for (std::uint32_t i = 0; i < result.n; ++i) QVERIFY(samples[i] > 0);
            QVERIFY(nmse(out, problem.reference()) <= 1e-9);
        }
        backend_->table->kernel_destroy(kernel);
    }

    void measuresRoofs() {
        for (const char* kind : {"f32", "read_bw"}) {
            std::uint64_t samples[3] = {};
            auto result = sized<qs_run_result>();
            result.cap = 3;
            result.samples_ns = samples;
            auto options = sized<qs_run_opts>();
            options.iters = 3;
            options.chain = 1;
            options.buffer_sets = 1;
            options.max_seconds = 1;
            double work = 0;
            QVERIFY2(backend_->table->roof(backend_->context, 0, kind, &options, &result, &work, &backend_->error) ==
                         QS_OK,
                     backend_->error.msg);
            QVERIFY(result.n > 0 && samples[0] > 0 && work > 0);
            qInfo("roof %s: %.1f G/s", kind, work / double(samples[0]));
        }
        auto result = sized<qs_run_result>();
        std::uint64_t sample = 0;
        result.cap = 1;
        result.samples_ns = &sample;
        const auto options = sized<qs_run_opts>();
        double work = 0;
        QCOMPARE(backend_->table->roof(backend_->context, 0, "write_bw", &options, &result, &work, &backend_->error),
                 QS_UNIMPLEMENTED);
    }

    void showsItsPrograms() {
        MadeProblem problem(madeFormats()[2], {1, 8, 32, false, -1, 0, 0}, MadeAct::F32, false);
        qs_kernel* kernel = backend_->prepare(problem, "int8_affine_f32");
        QVERIFY(kernel != nullptr);
        std::uint64_t need = 0;
        QCOMPARE(backend_->table->artifact(kernel, "stablehlo", nullptr, 0, &need, &backend_->error), QS_OK);
        std::string text(need, '\0');
        QCOMPARE(backend_->table->artifact(kernel, "stablehlo", text.data(), need, &need, &backend_->error), QS_OK);
        QVERIFY(text.starts_with("module @int8_affine_f32"));
        QCOMPARE(backend_->table->artifact(kernel, "hlo_with_config", nullptr, 0, &need, &backend_->error), QS_OK);
        text.assign(need, '\0');
        QCOMPARE(backend_->table->artifact(kernel, "hlo_with_config", text.data(), need, &need, &backend_->error),
                 QS_OK);
        const QString hlo = QString::fromStdString(text);
        QVERIFY2(hlo.startsWith(QStringLiteral("HloModule int8_affine_f32")), qPrintable(hlo));
        QVERIFY2(hlo.contains(QStringLiteral("\nENTRY %")) && hlo.contains(QStringLiteral("\n  ROOT %")),
                 qPrintable(hlo));
        QVERIFY2(hlo.contains(QRegularExpression(QStringLiteral("s8\\[[0-9,]+\\](\\{[0-9,]*\\})? parameter\\("))) &&
                     !hlo.contains(QRegularExpression(QStringLiteral("[(,=] %[0-9]+[,)\n]"))), // all names are resolved
                 qPrintable(hlo));
        QCOMPARE(backend_->table->artifact(kernel, "ptx", nullptr, 0, &need, &backend_->error), QS_NOT_FOUND);
        backend_->table->kernel_destroy(kernel);
    }

    /// For a weight of realistic size XLA materialises the decoded weight in memory. The verdict must say so.
    void seesAMaterialisedWeight() {
        MadeProblem problem(madeFormats()[2], {1, 1024, 1024, false, -1, 0, 0}, MadeAct::F32, false);
        auto info = sized<qs_kernel_info>();
        qs_kernel* kernel = backend_->prepare(problem, "int8_affine_f32", &info);
        QVERIFY(kernel != nullptr);
        QCOMPARE(info.weight_bytes, 1024 * 1024 + 4096);
        if (info.temp_bytes >= 4 << 20)
            QCOMPARE(info.fusion, QS_FUSION_MATERIALISED);
        else
            QCOMPARE(info.fusion, QS_FUSION_FUSED);
        backend_->table->kernel_destroy(kernel);
    }
};

QS_TEST(RealPluginTest)
#include "real_plugin_test.moc"
