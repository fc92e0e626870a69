// SPDX-License-Identifier: GPL-3.0-or-later
// For a machine with a GPU. Compares every variant of the backend cuda with the f64 result and times it. Then prints
// the goals of tests/bench/README.md as ratios to roofs and baselines measured in the same run.
//   cuda_check [--quick] [--goals] [--plugin cuda.so] [--bitsandbytes libbitsandbytes_cuda130.so]
//   --quick   fewer shapes, no times
//   --goals   leaves out the shapes below, and checks and times only what the goals need
//   --bitsandbytes   the CUDA library of an installed bitsandbytes, the baseline of one goal
// Exit code 0: all correct; 1: an error; 77: no device, nothing checked. A wrong variant is not timed.
#include "tests/plugins/cuda/bitsandbytes_peer.h"
#include "tests/plugins/cuda/reference_codes.h"
#include "tests/plugins/support/abi_module.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <map>
#include <utility>

using namespace qs::test;

namespace {

int wrong = 0, right = 0;
constexpr std::pair<int, int> kShapes[] = {{1, 64},     {15, 127},  {16, 128},  {33, 129},
                                           {130, 1000}, {64, 2100}, {600, 4230}}; // N, K

/// Median times in us with cold caches: [weight, M, N, K, activations and operation][variant]. Roofs in bytes or
/// operations per us.
std::map<std::string, std::map<std::string, double>> cold;
std::map<std::string, double> roofs;
std::string keyOf(const Case& c) {
    return c.weight + ' ' + std::to_string(c.m) + 'x' + std::to_string(c.n) + 'x' + std::to_string(c.k) + ' ' + c.act +
           ' ' + c.op;
}

/// What is timed: nothing, with copies of the weight in turn (cold), or also with one copy (warm).
enum class Timed { No, Cold, ColdAndWarm };

void checkProduct(AbiModule& module, const Case& c, Timed timed) {
    const AbiProblem problem(c, std::uint32_t(c.m + 3 * c.n + 7 * c.k));
    const auto support = module.query(problem.problem);
    if (support.variants.empty()) {
        std::printf("declined  %s: %s\n", c.name().c_str(), support.reason.c_str());
        wrong += support.level != QS_SUPPORT_NO || support.reason.empty();
        return;
    }
    for (const auto& variant : support.variants) {
        // The few sums of a tiny product can all be small beside their terms. The same rounding then is a larger share of them.
        const double few = c.m * c.n < 64 ? 4 : 1;
        const double limit = variant.nmseLimit < 0 ? 0 : few * (variant.nmseLimit > 0 ? variant.nmseLimit : 1e-9);
        const auto show = [&](const AbiModule::Run& run, bool ok) {
            std::printf("%s %-24s %s: NMSE %.2e (limit %.0e)%s %s\n", ok ? "ok    " : "WRONG ", variant.id.c_str(),
                        c.name().c_str(), run.nmse, limit, run.guardsWhole ? "" : ", guards overwritten",
                        run.message.c_str());
        };
        const auto check = [&](const AbiModule::Run& run) {
            const bool ok = run.code == 0 && run.guardsWhole && run.nmse <= limit;
            ok ? ++right : ++wrong;
            return ok;
        };
        if (timed == Timed::No) {
            const auto run = module.run(problem, variant.id);
            if (!check(run)) show(run, false);
            continue;
        }
        const auto copies = std::uint32_t(std::clamp<std::int64_t>(
            (std::int64_t(400) << 20) / std::max<std::int64_t>(std::int64_t(problem.inputs[0]->bytes), 1) + 1, 2, 512));
        for (const std::uint32_t sets : {copies, 1u}) {
            if (sets == 1 && timed == Timed::Cold) continue;
            auto run = module.run(problem, variant.id, 30, sets, 2);
            const bool ok = check(run);
            if (!ok || sets > 1) show(run, ok);
            if (!ok) break;
            if (run.samples.empty() || run.lastOutNmse > limit) {
                ++wrong;
                std::printf("WRONG  %s in its timed loop: NMSE %.2e %s\n", variant.id.c_str(), run.lastOutNmse,
                            run.message.c_str());
                break;
            }
            std::sort(run.samples.begin(), run.samples.end());
            const double us = double(run.samples[run.samples.size() / 2]) * 1e-3;
            if (sets > 1) cold[keyOf(c)][variant.id] = us;
            std::printf("       %s, %zu samples: median %.2f us (min %.2f), weights %.1f GB/s, %.2f TFLOP/s\n",
                        sets > 1 ? "cold" : "warm", run.samples.size(), us, double(run.samples[0]) * 1e-3,
                        double(run.info.weight_bytes) / us * 1e-3, 2.0 * double(c.m * c.n * c.k) / us * 1e-6);
        }
    }
}

/// Expected error sums: sum (V - W)^2, sum W^2, max |V - W|, max |W|, with V decoded from the codes. One scale per row
/// or block, as in the problem.
std::vector<double> wantedSums(const Case& c, const AbiProblem& problem, const ReferenceCodes& expected) {
    const qs_format& format = *problem.problem.weight;
    const std::vector<float> table = qs::floatTable(*qs::findFormat("fp8_e4m3"));
    const int bits = int(format.bits), perByte = 8 / bits;
    const std::size_t rowBytes = expected.codes.size() / std::size_t(c.n);
    std::vector<double> sums(4);
    for (std::int64_t row = 0; row < c.n; ++row)
        for (std::int64_t column = 0; column < c.k; ++column) {
            const unsigned byte = expected.codes[std::size_t(row) * rowBytes + std::size_t(column / perByte)];
            const int place = c.weight == "nf4" ? perByte - 1 - int(column % perByte) : int(column % perByte);
            const unsigned code = byte >> (place * bits) & ((1u << bits) - 1);
            const float level = c.weight == "nf4"     ? format.codebook[code]
                                : expected.smallFloat ? table[code]
                                : c.weight == "int8"  ? float(static_cast<signed char>(code))
                                                      : float(int(code) + format.code_bias);
            const float scale = expected.scales[std::size_t(row * expected.blocks + column / expected.block)];
            const double w = double(problem.source[std::size_t(row * c.k + column)]), e = double(level * scale) - w;
            sums[0] += e * e, sums[1] += w * w;
            sums[2] = std::max(sums[2], std::fabs(e)), sums[3] = std::max(sums[3], std::fabs(w));
        }
    return sums;
}

/// Quantizers must give the bits of the reference, and the error sums of f64.
void checkQuantize(AbiModule& module, const Case& c, bool measures = false) {
    AbiProblem problem(c, 5, false);
    if (measures) problem.problem.op = "quantize_stats";
    qs_error error{};
    error.struct_size = sizeof error;
    qs_kernel* kernel = nullptr;
    qs_kernel_info info{};
    info.struct_size = sizeof info;
    const ReferenceCodes expected = referenceCodes(c, problem);
    std::vector<unsigned char> codes(expected.codes.size());
    std::vector<float> scales(expected.scales.size());
    std::vector<double> sums(4);
    qs_tensor outs[3] = {};
    for (qs_tensor& t : outs) t.struct_size = sizeof t, t.rank = 1;
    outs[0].role = "out", outs[0].dtype = expected.smallFloat ? c.weight.c_str() : c.weight == "int8" ? "i8" : "u8";
    outs[0].out = codes.data(), outs[0].bytes = codes.size();
    outs[1].role = "out_scale", outs[1].dtype = "f32", outs[1].out = scales.data(), outs[1].bytes = 4 * scales.size();
    outs[2].role = "out_sums", outs[2].dtype = "f64", outs[2].out = sums.data(), outs[2].bytes = 32;
    qs_tensor* list[] = {&outs[0], &outs[1], &outs[2]};
    const qs_backend* table = module.table();
    const char* variant = c.weight == "nf4" || c.weight == "int8" ? "quantize" : "quantize_search";
    int code = table->prepare(module.context(), 0, &problem.problem, variant, problem.inputs.data(), 1, &kernel, &info,
                              &error);
    if (!code) code = table->execute(kernel, nullptr, 0, list, measures ? 3 : 2, &error);
    table->kernel_destroy(kernel);
    bool ok =
        code == 0 && codes == expected.codes && !std::memcmp(scales.data(), expected.scales.data(), 4 * scales.size());
    const char* what = "other bits than the reference";
    if (ok && measures) {
        const std::vector<double> wanted = wantedSums(c, problem, expected);
        for (std::size_t i = 0; i < 4; ++i) ok &= std::fabs(sums[i] - wanted[i]) <= 1e-12 * wanted[i];
        what = "other sums than in f64";
    }
    ok ? ++right : ++wrong;
    if (!ok) std::printf("WRONG  %s%s: %s\n", c.name().c_str(), measures ? ", measured" : "", code ? error.msg : what);
}

void showRoofs(AbiModule& module) {
    for (const char* kind : {"read_bw", "cache_bw", "copy_bw", "f32", "bf16", "i8", "fp8_e4m3"}) {
        std::uint64_t samples[20];
        qs_run_opts opts{};
        opts.struct_size = sizeof opts, opts.warmup = 3, opts.iters = 20, opts.buffer_sets = 2, opts.max_seconds = 2;
        qs_run_result result{};
        result.struct_size = sizeof result, result.cap = 20, result.samples_ns = samples;
        qs_error error{};
        error.struct_size = sizeof error;
        double work = 0;
        if (module.table()->roof(module.context(), 0, kind, &opts, &result, &work, &error)) {
            std::printf("roof %s: %s\n", kind, error.msg);
            continue;
        }
        std::sort(samples, samples + result.n);
        roofs[kind] = work / double(samples[result.n / 2]) * 1e3;
        std::printf("roof %s: %.3f T%s/s\n", kind, roofs[kind] * 1e-6, std::strstr(kind, "_bw") ? "B" : "op");
    }
}

/// Times 30 runs; checkQuantize() checks the bits.
void timeQuantize(AbiModule& module, const Case& c, bool measures = false) {
    AbiProblem problem(c, 5, false);
    if (measures) problem.problem.op = "quantize_stats";
    PreparedKernel kernel(module, problem, "quantize");
    std::vector<double> us;
    for (int i = 0; i < 30 && kernel.error().empty(); ++i) us.push_back(double(kernel.sample(2)) * 1e-3);
    if (us.empty() || us[0] == 0) return void(std::printf("%s: %s\n", c.name().c_str(), kernel.error().c_str()));
    std::sort(us.begin(), us.end());
    cold[keyOf(c)][problem.problem.op] = us[us.size() / 2];
}

void goal(const char* what, double reached, double wanted) {
    if (reached > 0)
        std::printf("| %s | %.2f | %.2f | %s |\n", what, wanted, reached, reached >= wanted ? "reached" : "missed");
    else
        std::printf("| %s | %.2f | not measured | |\n", what, wanted);
}

/// Prints each goal as a ratio and the value it should reach.
void showGoals(AbiModule& module, const std::string& bitsandbytes) {
    constexpr std::int64_t n = 8192, k = 28672, square = 4096, codes = 8192;
    const auto product = [&](const char* weight, std::int64_t m, std::int64_t rows, std::int64_t columns,
                             const char* act) -> std::map<std::string, double>& {
        const Case c{.weight = weight, .m = m, .n = rows, .k = columns, .act = act};
        if (!cold.count(keyOf(c))) checkProduct(module, c, Timed::Cold);
        return cold[keyOf(c)];
    };
    const auto ratio = [](double a, double b) { return a > 0 && b > 0 ? a / b : 0; };
    auto &one = product("nf4", 1, n, k, "bf16"), &sixteen = product("nf4", 16, n, k, "bf16");
    auto &oneInt8 = product("int8", 1, n, k, "bf16"), &oneTernary = product("ternary", 1, n, k, "bf16");
    auto& many = product("nf4", 1024, square, square, "bf16");
    auto& integers = product("int8", codes, codes, codes, "int8");
    auto& small = product("fp8_e4m3", codes, codes, codes, "dynamic fp8");
    const auto best = [](std::map<std::string, double>& times, std::initializer_list<const char*> ids) {
        double least = 0;
        for (const char* id : ids)
            if (times[id] > 0 && (least == 0 || times[id] < least)) least = times[id];
        return least;
    };
    const double oneBest = best(one, {"mma_stream", "mma_staged"});
    const double sixteenBest = best(sixteen, {"mma_stream", "mma_staged"});
    const double manyBest = best(many, {"mma_tiles", "mma_stream", "dequantize_cublas_bf16"});
    checkProduct(module, {.weight = "nf4", .n = codes, .k = codes, .op = "dequantize"}, Timed::Cold);
    for (const char* weight : {"nf4", "int8"})
        for (const bool measures : {false, true})
            timeQuantize(module, {.weight = weight, .n = codes, .k = codes, .op = "quantize"}, measures);
    PeerRun peer;
    if (!bitsandbytes.empty()) {
        peer = bitsandbytesNf4(bitsandbytes, {.weight = "nf4", .m = 1, .n = n, .k = k, .act = "bf16"});
        std::printf("bitsandbytes: %s NMSE %.2e, median %.2f us\n", peer.problem.c_str(), peer.nmse, peer.us);
    }
    const double count = double(codes) * codes, nf4Bytes = 0.5 + 4.0 / 64;
    const auto ofCopy = [&](const Case& c, const char* id, double bytes) {
        return ratio(bytes * count / roofs["copy_bw"], cold[keyOf(c)][id]);
    };
    std::printf("\n| goal | at least | reached | |\n|---|---|---|---|\n");
    goal("nf4, M = 1, 8192 x 28672: of the read stream", ratio(double(n * k) * nf4Bytes / roofs["read_bw"], oneBest),
         0.80);
    goal("the same: times cuBLAS bf16", ratio(one["dequantized_cublas_bf16"], oneBest), 3.0);
    goal("the same: times bitsandbytes (--bitsandbytes)", ratio(peer.us, oneBest), 1.3);
    goal("nf4, M = 16: the time of M = 1 over its own", ratio(oneBest, sixteenBest), 1 / 1.1);
    goal("int8, M = 1, 8192 x 28672: of the read stream",
         ratio(double(n * k) / roofs["read_bw"], best(oneInt8, {"mma_stream", "mma_staged"})), 0.80);
    goal("ternary, M = 1, 8192 x 28672: of the read stream",
         ratio(double(n * k) / 4 / roofs["read_bw"], best(oneTernary, {"mma_stream", "mma_staged"})), 0.80);
    goal("nf4, M = 1024, 4096 x 4096, best variant: times cuBLAS bf16",
         ratio(many["dequantized_cublas_bf16"], manyBest), 0.75);
    goal("the same, fused tiles alone", ratio(many["dequantized_cublas_bf16"], many["mma_tiles"]), 0.75);
    const double cubed = 2.0 * double(codes) * double(codes) * double(codes);
    goal("int8 x int8, 8192 cubed, with scaling: of cuBLASLt alone",
         ratio(cubed / roofs["i8"], integers["cublaslt_i8"]), 0.9);
    goal("fp8 x fp8, 8192 cubed, with quantizing x and scaling: of cuBLASLt alone",
         ratio(cubed / roofs["fp8_e4m3"], small["cublaslt_e4m3"]), 0.9);
    goal("nf4 dequantized to f32, 8192 x 8192: of the copy stream",
         ofCopy({.weight = "nf4", .n = codes, .k = codes, .op = "dequantize"}, "dequantize", 4 + nf4Bytes), 0.85);
    goal("nf4 quantized: of the copy stream",
         ofCopy({.weight = "nf4", .n = codes, .k = codes, .op = "quantize"}, "quantize", 4 + nf4Bytes), 0.85);
    goal("int8 quantized: of the copy stream",
         ofCopy({.weight = "int8", .n = codes, .k = codes, .op = "quantize"}, "quantize", 5), 0.85);
    goal("nf4 quantized with its error sums: of the copy stream",
         ofCopy({.weight = "nf4", .n = codes, .k = codes, .op = "quantize"}, "quantize_stats", 4 + nf4Bytes), 0.85);
    goal("int8 quantized with its error sums: of the copy stream",
         ofCopy({.weight = "int8", .n = codes, .k = codes, .op = "quantize"}, "quantize_stats", 5), 0.85);
}

/// All formats, scales, orders and operations at shapes that fill no tile, against the f64 result.
void checkShapes(AbiModule& module, bool quick) {
    for (const char* weight : {"nf4", "int8", "int4", "ternary", "binary", "fp8_e4m3", "f32", "bf16"})
        for (const bool kn : {false, true})
            for (const char* scale : {"", "column", "block"})
                for (const std::int64_t m : {1, 2, 3, 5, 8, 9, 17, 33, 64, 65, 129})
                    for (const auto& [n, k] : kShapes) {
                        if (quick && (m == 2 || m == 5 || m == 64 || n == 33)) continue;
                        const bool plain = !std::strcmp(weight, "f32") || !std::strcmp(weight, "bf16");
                        if (plain && *scale) continue;
                        Case c{.weight = weight, .m = m, .n = n, .k = k, .kn = kn, .bias = n == 15, .scale = scale};
                        c.act = k == 127 || m == 9 ? "bf16" : "f32", c.out = m == 3 ? "bf16" : "f32";
                        c.block = n == 64 ? 64 : 32;
                        checkProduct(module, c, Timed::No);
                    }
    for (const char* act : {"int8", "dynamic"})
        for (const bool kn : {false, true})
            for (const std::int64_t m : {1, 3, 17, 128})
                checkProduct(module,
                             {.weight = "int8",
                              .m = m,
                              .n = 50,
                              .k = 300,
                              .kn = kn,
                              .bias = m == 3,
                              .act = act,
                              .scale = kn ? "column" : "row"},
                             Timed::No);
    for (const bool kn : {false, true})
        for (const std::int64_t m : {1, 3, 17, 128})
            checkProduct(module,
                         {.weight = "fp8_e4m3",
                          .m = m,
                          .n = 50,
                          .k = 300,
                          .kn = kn,
                          .bias = m == 3,
                          .act = "dynamic fp8",
                          .scale = kn ? "column" : "row"},
                         Timed::No);
    for (const char* weight : {"nf4", "int8", "ternary", "binary", "int4"})
        for (const char* out : {"f32", "bf16"})
            checkProduct(module, {.weight = weight, .n = 37, .k = 300, .op = "dequantize", .out = out}, Timed::No);
    for (const std::int64_t k : {1, 63, 64, 65, 1000, 4096})
        for (const char* weight : {"nf4", "int8"})
            for (const bool measures : {false, true})
                checkQuantize(module, {.weight = weight, .n = 19, .k = k, .op = "quantize"}, measures);
    for (const std::int64_t k : {1, 63, 64, 65, 1000, 4096})
        for (const char* weight : {"int4", "fp8_e4m3"})
            for (const char* scale : {"", "block"})
                for (const bool measures : {false, true})
                    checkQuantize(module,
                                  {.weight = weight, .n = 19, .k = k, .scale = scale, .block = 32, .op = "quantize"},
                                  measures);
}

} // namespace

int main(int argc, char** argv) {
    std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ); // what was found stays, also when a limit of time ends the program
    std::string plugin = QS_BUILT_BACKENDS "/cuda.so", bitsandbytes;
    bool quick = false, goals = false;
    for (int i = 1; i < argc; ++i) {
        if (!std::strcmp(argv[i], "--quick")) quick = true;
        if (!std::strcmp(argv[i], "--goals")) goals = true;
        if (!std::strcmp(argv[i], "--plugin") && i + 1 < argc) plugin = argv[++i];
        if (!std::strcmp(argv[i], "--bitsandbytes") && i + 1 < argc) bitsandbytes = argv[++i];
    }
    AbiModule module(plugin);
    if (!module.error().empty()) return std::printf("%s\n", module.error().c_str()), 1;
    const auto probe = module.probe();
    if (probe.state != QS_PROBE_AVAILABLE) return std::printf("nothing checked: %s\n", probe.reason.c_str()), 77;
    if (const std::string problem = module.open(); !problem.empty())
        return std::printf("nothing checked: %s\n", problem.c_str()), 77;
    std::printf("%s\n", module.describe().c_str());

    if (!goals) checkShapes(module, quick);
    std::printf("%d right, %d wrong\n", right, wrong);
    if (quick) return wrong != 0;

    showRoofs(module);
    if (goals) {
        showGoals(module, bitsandbytes);
        return std::printf("%d right, %d wrong\n", right, wrong), wrong != 0;
    }
    for (const char* weight : {"nf4", "int8", "ternary", "f32"})
        for (const std::int64_t m : {1, 8, 16, 32, 128, 512})
            checkProduct(module, {.weight = weight, .m = m, .n = 4096, .k = 4096}, Timed::ColdAndWarm);
    for (const char* weight : {"nf4", "int8", "ternary"})
        checkProduct(module, {.weight = weight, .m = 1, .n = 8192, .k = 28672}, Timed::ColdAndWarm);
    checkProduct(module, {.weight = "int8", .m = 512, .n = 4096, .k = 4096, .act = "int8"}, Timed::ColdAndWarm);
    showGoals(module, bitsandbytes);
    std::printf("%d right, %d wrong\n", right, wrong);
    return wrong != 0;
}
