// SPDX-License-Identifier: GPL-3.0-or-later
// The whole backend cuda without a device. The runtime, cuBLAS and cuBLASLt are fakes that compute on the host (see
// faked/); the kernels are emulated.
#include "plugins/common/shared_library.h"
#include "plugins/cuda/plan.h"
#include "tests/plugins/cuda/faked/runtime.h"
#include "tests/plugins/support/abi_module.h"
#include "tests/support/test_program.h"
#include "tests/support/thinned.h"

#include <QtTest>

using namespace qs::test;

namespace {

const AbiModule::Options kLibraries = {{"path", QS_FAKE_CUDA_LIBRARIES}};

/// The number of live cuBLASLt handles.
int ltHandles() {
    qs::plugin::SharedLibrary library;
    int (*count)() = nullptr;
    const bool found =
        library.load(QS_FAKE_CUDA_LIBRARIES "/libcublasLt.so.13") && library.resolve(count, "fakeLtHandles");
    return found ? count() : -1;
}

} // namespace

class CudaFaked : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init() {
        fakeRuntime() = {};
        qunsetenv("QS_FAKE_LT_VERSION"), qunsetenv("QS_FAKE_LT_REFUSES");
    }
    void cleanup() {
        QCOMPARE(fakeRuntime().allocations, std::size_t(0));
        QCOMPARE(fakeRuntime().streams, std::size_t(0));
        QCOMPARE(fakeRuntime().events, std::size_t(0));
        QCOMPARE(ltHandles(), 0);
    }
    void runsEveryVariant();
    void scalesByCublasltWhereItCan();
    void goesOnWithoutALibraryThatDoesNotBegin();
    void keepsNothingWhenMemoryEnds();
    void refusesWhatIsNotThere();
};

void CudaFaked::runsEveryVariant() {
    AbiModule module(quantscope_backend_query(QS_ABI_MAJOR, 0));
    QCOMPARE(module.open(kLibraries), std::string());
    std::vector<Case> cases;
    for (const char* weight : {"nf4", "int8", "ternary", "fp8_e4m3", "f32", "bf16"})
        for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{1, 33, 130}, {5, 272, 257}, {18, 16, 64}})
            for (const bool kn : {false, true})
                cases.push_back({.weight = weight,
                                 .m = m,
                                 .n = n,
                                 .k = k,
                                 .kn = kn,
                                 .bias = n == 33,
                                 .act = k == 257 ? "bf16" : "f32",
                                 .out = m == 5 ? "bf16" : "f32"});
    for (const auto& [weight, act] : {std::pair{"int8", "int8"}, {"int8", "dynamic"}, {"fp8_e4m3", "dynamic fp8"}})
        for (const std::int64_t n : {1, 16, 50, 64})
            for (const bool kn : {false, true})
                cases.push_back({.weight = weight,
                                 .m = n == 16 ? 16 : 5,
                                 .n = n,
                                 .k = 70,
                                 .kn = kn,
                                 .bias = kn && n == 16,
                                 .act = act,
                                 .scale = kn ? "column" : "row",
                                 .out = n == 50 ? "bf16" : "f32"});
    for (const char* weight : {"nf4", "int8", "int4"})
        cases.push_back({.weight = weight, .n = 9, .k = 130, .op = "dequantize"});
    std::size_t turn = 0, runs = 0;
    for (const Case& c : cases) {
        if (!taken(turn++)) continue;
        const AbiProblem problem(c);
        const auto support = module.query(problem.problem);
        QVERIFY2(!support.variants.empty(), (c.name() + ": " + support.reason).c_str());
        for (const auto& variant : support.variants) {
            // Small products: 3 timed runs over 2 copies of the weight, so that a copy is used again.
            const std::uint32_t runsOfOne = c.m <= 5 && c.n <= 33 ? 3 : 1;
            const auto run = module.run(problem, variant.id, runsOfOne, std::min(runsOfOne, 2u));
            const std::string what = c.name() + ", " + variant.id + ": " + run.message;
            const double limit = variant.nmseLimit < 0 ? 0 : variant.nmseLimit;
            QVERIFY2(run.code == 0 && run.guardsWhole && run.samples.size() == runsOfOne, what.c_str());
            QVERIFY2(run.nmse <= limit && run.lastOutNmse <= limit, what.c_str());
            ++runs;
        }
    }
    QVERIFY(runs > 30 || kThinning > 1);
}

/// cuBLASLt applies the scales if it can; otherwise a kernel of ours does. The note of the variant says which.
void CudaFaked::scalesByCublasltWhereItCan() {
    struct Way {
        const char *version, *refuses;
        std::int64_t n;
        bool bias, scales;
    };
    for (const Way& way : {Way{"130100", "", 32, false, true}, Way{"120900", "", 32, false, true},
                           Way{"120899", "", 32, false, false}, Way{"130100", "rows", 32, false, false},
                           Way{"130100", "", 33, false, false}, Way{"130100", "", 32, true, false}}) {
        qputenv("QS_FAKE_LT_VERSION", way.version), qputenv("QS_FAKE_LT_REFUSES", way.refuses);
        AbiModule module(quantscope_backend_query(QS_ABI_MAJOR, 0));
        QCOMPARE(module.open(kLibraries), std::string());
        for (const char* out : {"f32", "bf16"}) {
            const AbiProblem problem({.weight = "fp8_e4m3",
                                      .m = 7,
                                      .n = way.n,
                                      .k = 150,
                                      .bias = way.bias,
                                      .act = "dynamic fp8",
                                      .scale = "row",
                                      .out = out});
            const auto support = module.query(problem.problem);
            QCOMPARE(support.variants.size(), std::size_t(1));
            QCOMPARE(support.variants[0].note == qs::cuda::kScaledInProduct, way.scales);
            const auto run = module.run(problem, support.variants[0].id, 3, 3);
            QVERIFY2(run.code == 0 && run.guardsWhole, run.message.c_str());
            QVERIFY(run.nmse < 1e-5 && run.lastOutNmse < 1e-5);
            const std::int64_t padded = 16 * 256, sums = way.scales ? 0 : 4 * 16 * qs::cuda::roundUp(way.n, 16);
            QCOMPARE(run.info.temp_bytes, padded + sums);
        }
    }
}

void CudaFaked::goesOnWithoutALibraryThatDoesNotBegin() {
    qputenv("QS_FAKE_LT_REFUSES", "all");
    AbiModule module(quantscope_backend_query(QS_ABI_MAJOR, 0));
    QCOMPARE(module.open(kLibraries), std::string());
    QVERIFY(module.describe().find("cublasLtCreate failed") != std::string::npos);
    const AbiProblem integers({.weight = "int8", .m = 2, .n = 16, .k = 16, .act = "dynamic"});
    QVERIFY(module.query(integers.problem).reason.find("cublasLtCreate failed") != std::string::npos);
    const AbiProblem nf4({.weight = "nf4", .m = 2, .n = 16, .k = 16});
    QCOMPARE(module.run(nf4, "mma_stream").code, 0);
}

/// Out of memory at any allocation must give an error and leave nothing allocated. The next product must work.
void CudaFaked::keepsNothingWhenMemoryEnds() {
    for (const Case& c : {Case{.weight = "nf4", .m = 3, .n = 40, .k = 140},
                          Case{.weight = "int8", .m = 3, .n = 20, .k = 40, .act = "dynamic"},
                          Case{.weight = "fp8_e4m3", .m = 3, .n = 32, .k = 40, .act = "dynamic fp8", .scale = "row"}}) {
        AbiModule module(quantscope_backend_query(QS_ABI_MAJOR, 0));
        QCOMPARE(module.open(kLibraries), std::string());
        const std::size_t before = fakeRuntime().allocations;
        const int handles = ltHandles();
        const AbiProblem problem(c);
        for (const auto& variant : module.query(problem.problem).variants) {
            std::size_t room = 0;
            for (;; ++room) {
                fakeRuntime().failAfter = room;
                const auto run = module.run(problem, variant.id, 2, 3);
                fakeRuntime().failAfter = ~std::size_t(0);
                QCOMPARE(fakeRuntime().allocations, before);
                QCOMPARE(ltHandles(), handles);
                QCOMPARE(fakeRuntime().events, std::size_t(0));
                QCOMPARE(fakeRuntime().lastError, 0); // otherwise the next launch would report this error
                if (run.code == 0) break;
                QCOMPARE(run.code, QS_RESOURCE_EXHAUSTED);
                QVERIFY2(run.message.find("no room on the device") != std::string::npos, run.message.c_str());
                QVERIFY(room < 40);
            }
            QVERIFY(room > 3);
        }
    }
    fakeRuntime().failAfter = 0; // now the workspace of cuBLASLt cannot be allocated
    AbiModule module(quantscope_backend_query(QS_ABI_MAJOR, 0));
    QVERIFY(module.open(kLibraries).find("no room on the device") != std::string::npos);
}

void CudaFaked::refusesWhatIsNotThere() {
    for (const char* number : {"2", "-1", "one", "1x", ""}) {
        AbiModule module(quantscope_backend_query(QS_ABI_MAJOR, 0));
        const std::string problem = module.open({{"device", number}});
        QVERIFY2(problem.find("there is no device") != std::string::npos, number);
    }
    fakeRuntime().capability = 75;
    AbiModule old(quantscope_backend_query(QS_ABI_MAJOR, 0));
    QVERIFY(old.open(kLibraries).find("compute capability") != std::string::npos);
    fakeRuntime().capability = 80;
    AbiModule module(quantscope_backend_query(QS_ABI_MAJOR, 0));
    QCOMPARE(module.open({{"device", "1"}, kLibraries[0]}), std::string());
    const AbiProblem small({.weight = "fp8_e4m3", .m = 2, .n = 16, .k = 16, .act = "dynamic fp8", .scale = "row"});
    QVERIFY(module.query(small.problem).reason.find("8.9") != std::string::npos);

    qs_error error{};
    error.struct_size = sizeof error;
    qs_run_opts options{};
    options.struct_size = sizeof options, options.iters = 1, options.max_seconds = 1;
    std::uint64_t sample = 0;
    qs_run_result result{};
    result.struct_size = sizeof result, result.cap = 1, result.samples_ns = &sample;
    const auto roof = [&](std::uint32_t device, const char* kind) {
        return module.table()->roof(module.context(), device, kind, &options, &result, nullptr, &error);
    };
    QCOMPARE(roof(0, "cache_bw"), QS_UNIMPLEMENTED); // this device does not report its cache size
    QCOMPARE(roof(0, "warp"), QS_UNIMPLEMENTED);
    QCOMPARE(roof(1, "read_bw"), QS_NOT_FOUND);
    result.samples_ns = nullptr;
    QCOMPARE(roof(0, "bf16"), QS_INVALID_ARGUMENT);
}

QS_TEST(CudaFaked)
#include "cuda_faked_test.moc"
