// SPDX-License-Identifier: GPL-3.0-or-later
// The backend cpu (our kernels) through the backend interface: all wrong calls.
#include "plugins/cpu/cpu_backend.h"
#include "tests/plugins/support/abi_module.h"
#include "tests/support/test_program.h"

#include <QtTest>

using namespace qs::test;

class CpuRefusals : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init() {
        module = std::make_unique<AbiModule>(quantscope_cpu_backend());
        QCOMPARE(module->open({{"threads", "2"}}), std::string());
    }
    void refusesOptions();
    void declinesWithAReason();
    void refusesTensorsThatDoNotFit();
    void takesSmallerStructs();

private:
    std::unique_ptr<AbiModule> module;
};

void CpuRefusals::refusesOptions() {
    for (const char* threads : {"x", "-1", "1.5", "99999"}) {
        AbiModule other(quantscope_cpu_backend());
        QCOMPARE(other.probe({{"threads", threads}}).state, QS_PROBE_NEEDS_CONFIG);
        QVERIFY(!other.open({{"threads", threads}}).empty());
    }
}

void CpuRefusals::declinesWithAReason() {
    const auto declined = [&](const char* what, auto&& change) {
        AbiProblem problem({.weight = "nf4", .m = 2, .n = 4, .k = 64});
        qs_format format = *problem.problem.weight;
        qs_problem asked = problem.problem;
        asked.weight = &format;
        change(asked, format);
        const auto support = module->query(asked);
        QVERIFY2(support.level == QS_SUPPORT_NO && !support.reason.empty() && support.variants.empty(), what);
        qs_kernel* kernel = nullptr;
        QVERIFY2(module->table()->prepare(module->context(), 0, &asked, "", problem.inputs.data(), 2, &kernel, nullptr,
                                          nullptr) != QS_OK &&
                     !kernel,
                 what);
    };
    declined("operation", [](qs_problem& p, qs_format&) { p.op = "convolve"; });
    declined("no operation", [](qs_problem& p, qs_format&) { p.op = nullptr; });
    declined("packing", [](qs_problem&, qs_format& f) { f.packing = "spiral"; });
    declined("zero points", [](qs_problem&, qs_format& f) { f.zero_dtype = "u8"; });
    declined("format", [](qs_problem&, qs_format& f) { f.format = "qx9", f.codebook = nullptr; });
    declined("scales", [](qs_problem&, qs_format& f) { f.scale_dtype = "f64"; });
    declined("bits", [](qs_problem&, qs_format& f) { f.bits = 3; });
    declined("block axis", [](qs_problem&, qs_format& f) { f.block_axis = 7; });
    declined("empty", [](qs_problem& p, qs_format&) { p.k = 0; });
    declined("negative", [](qs_problem& p, qs_format&) { p.m = -1; });
    declined("no weight", [](qs_problem& p, qs_format&) { p.weight = nullptr; });
    declined("no activations", [](qs_problem& p, qs_format&) { p.act = nullptr; });
    declined("result", [](qs_problem& p, qs_format&) { p.out = "f64"; });
}

void CpuRefusals::refusesTensorsThatDoNotFit() {
    const auto refused = [&](const char* what, auto&& change) {
        AbiProblem problem({.weight = "nf4", .m = 2, .n = 4, .k = 128, .bias = true});
        qs_tensor weight = *problem.inputs[0], scale = *problem.inputs[1], bias = *problem.inputs[2];
        std::vector<const qs_tensor*> in = {&weight, &scale, &bias};
        change(weight, scale, in);
        qs_kernel* kernel = nullptr;
        auto error = sized<qs_error>();
        const int code = module->table()->prepare(module->context(), 0, &problem.problem, "", in.data(),
                                                  std::uint32_t(in.size()), &kernel, nullptr, &error);
        QVERIFY2(code == QS_INVALID_ARGUMENT && !kernel && error.msg[0], what);
    };
    using Tensors = std::vector<const qs_tensor*>;
    refused("bytes", [](qs_tensor& w, qs_tensor&, Tensors&) { --w.bytes; });
    refused("dims", [](qs_tensor& w, qs_tensor&, Tensors&) { w.dims[0] = 5; });
    refused("huge dims", [](qs_tensor& w, qs_tensor&, Tensors&) { w.dims[0] = w.dims[1] = std::int64_t(1) << 62; });
    refused("rank", [](qs_tensor& w, qs_tensor&, Tensors&) { w.rank = 9; });
    refused("dtype", [](qs_tensor& w, qs_tensor&, Tensors&) { w.dtype = "i8"; });
    refused("odd dtype", [](qs_tensor& w, qs_tensor&, Tensors&) { w.dtype = "u7"; });
    refused("no data", [](qs_tensor&, qs_tensor& s, Tensors&) { s.data = nullptr; });
    refused("no scale", [](qs_tensor&, qs_tensor&, Tensors& in) { in.erase(in.begin() + 1); });
    refused("no bias", [](qs_tensor&, qs_tensor&, Tensors& in) { in.pop_back(); });
    refused("unknown role", [](qs_tensor&, qs_tensor& s, Tensors&) { s.role = "zero"; });
    refused("null", [](qs_tensor&, qs_tensor&, Tensors& in) { in[0] = nullptr; });
    refused("nothing", [](qs_tensor&, qs_tensor&, Tensors& in) { in.clear(); });

    AbiProblem problem({.weight = "nf4", .m = 2, .n = 4, .k = 128});
    qs_tensor shorter = *problem.acts[0];
    shorter.bytes -= 4;
    problem.acts[0] = &shorter;
    QCOMPARE(module->run(problem, "").code, QS_INVALID_ARGUMENT);
    problem.acts.clear();
    QCOMPARE(module->run(problem, "").code, QS_INVALID_ARGUMENT);
    QCOMPARE(module->run(AbiProblem({.weight = "nf4", .m = 2, .n = 4, .k = 128}), "no_such_variant").code,
             QS_NOT_FOUND);
}

// Bytes beyond the caller's struct_size must not be read or written.
void CpuRefusals::takesSmallerStructs() {
    AbiProblem problem({.weight = "nf4", .m = 1, .n = 4, .k = 64});
    auto support = sized<qs_support>();
    std::memset(&support, 0x55, sizeof support);
    support.struct_size = offsetof(qs_support, reason);
    QCOMPARE(module->table()->query(module->context(), 0, &problem.problem, &support, nullptr), QS_OK);
    QVERIFY(support.level > 0);
    QCOMPARE(support.reason[0], char(0x55));
    auto error = sized<qs_error>();
    error.struct_size = 8, error.msg[0] = 'x';
    QCOMPARE(module->table()->device_get(module->context(), 5, nullptr, &error), QS_INVALID_ARGUMENT);
    QCOMPARE(error.code, QS_INVALID_ARGUMENT);
    QCOMPARE(error.msg[0], 'x');
    module->table()->kernel_destroy(nullptr);
    module->table()->close(nullptr);
}

QS_TEST(CpuRefusals)
#include "cpu_refusals_test.moc"
