// SPDX-License-Identifier: GPL-3.0-or-later
// Measures OpenBLAS through its backend with three core types: the one it detects, the one the backend chooses, and
// Haswell.
//   bench_openblas [--rounds N] [--library PATH]
// OpenBLAS fixes the core type when it is loaded, so each setting runs in its own process. The processes take turns,
// one sample of each case per turn.
#include "tests/plugins/support/abi_module.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <sys/wait.h>
#include <unistd.h>

using namespace qs::test;

namespace {

struct Setting {
    const char *coreType, *threads;
    int ask[2] = {-1, -1}, answer[2] = {-1, -1};
    char who[512] = {};
};
struct Bench {
    Case problem;
    const char* variant;
    std::uint32_t copies; ///< cold: all copies together are well above the last-level cache
};
std::vector<Bench> benches() {
    const Case vector{.weight = "f32", .m = 1, .n = 4096, .k = 4096},
        matrix{.weight = "f32", .m = 512, .n = 4096, .k = 4096};
    Case nf4Matrix = matrix, nf4Vector = vector;
    nf4Matrix.weight = nf4Vector.weight = "nf4";
    return {{vector, "sgemv", 4},
            {matrix, "sgemm", 1},
            {nf4Vector, "dequantize_sgemv", 4},
            {nf4Matrix, "dequantize_sgemm", 1}};
}

/// Child process for one setting: for each byte it reads, it runs one sample of that case.
[[noreturn]] void serve(const Setting& setting, const AbiModule::Options& options) {
    AbiModule module(QS_BUILT_BACKENDS "/openblas.so");
    char who[sizeof setting.who] = {};
    std::string problem = module.error().empty() ? module.open(options) : module.error();
    std::snprintf(who, sizeof who, "%s", problem.empty() ? module.describe().c_str() : problem.c_str());
    std::vector<std::unique_ptr<AbiProblem>> problems;
    std::vector<std::unique_ptr<PreparedKernel>> kernels;
    if (problem.empty())
        for (const Bench& bench : benches()) {
            problems.push_back(std::make_unique<AbiProblem>(bench.problem, 1, false));
            kernels.push_back(std::make_unique<PreparedKernel>(module, *problems.back(), bench.variant));
        }
    if (::write(setting.answer[1], who, sizeof who) != sizeof who) std::_Exit(1);
    unsigned char which = 0;
    while (problem.empty() && ::read(setting.ask[0], &which, 1) == 1) {
        const std::uint64_t ns = kernels[which]->sample(benches()[which].copies);
        if (::write(setting.answer[1], &ns, sizeof ns) != sizeof ns) break;
    }
    std::_Exit(problem.empty() ? 0 : 1);
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

} // namespace

int main(int argc, char** argv) {
    int rounds = 11;
    const char* library = nullptr;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (!std::strcmp(argv[i], "--rounds")) rounds = std::max(1, std::atoi(argv[i + 1]));
        if (!std::strcmp(argv[i], "--library")) library = argv[i + 1];
    }
    Setting settings[] = {{"default", "1"}, {nullptr, "1"}, {"Haswell", "1"},
                          {"default", "2"}, {nullptr, "2"}, {"Haswell", "2"}};
    for (Setting& setting : settings) {
        if (::pipe(setting.ask) || ::pipe(setting.answer)) return 1;
        if (::fork() == 0) {
            AbiModule::Options options{{"threads", setting.threads}};
            if (setting.coreType) options.emplace_back("coretype", setting.coreType);
            if (library) options.emplace_back("path", library);
            ::close(setting.ask[1]); // so that the child ends when the parent ends
            serve(setting, options);
        }
        ::close(setting.ask[0]), ::close(setting.answer[1]);
        if (::read(setting.answer[0], setting.who, sizeof setting.who) != sizeof setting.who) return 1;
        std::printf("%s, %s threads: %s\n", setting.coreType ? setting.coreType : "chosen", setting.threads,
                    setting.who);
    }
    const std::vector<Bench> cases = benches();
    std::vector<std::vector<std::vector<double>>> ms(std::size(settings),
                                                     std::vector<std::vector<double>>(cases.size()));
    for (int round = 0; round < rounds; ++round)
        for (unsigned char c = 0; c < cases.size(); ++c)
            for (std::size_t s = 0; s < std::size(settings); ++s) {
                std::uint64_t ns = 0;
                if (::write(settings[s].ask[1], &c, 1) != 1 ||
                    ::read(settings[s].answer[0], &ns, sizeof ns) != sizeof ns)
                    return 1;
                ms[s][c].push_back(double(ns) * 1e-6);
            }
    std::printf("\n| case | core type | threads | median ms | GFLOP/s | of default (median of the rounds' ratios) "
                "|\n|---|---|---|---|---|---|\n");
    for (std::size_t c = 0; c < cases.size(); ++c)
        for (std::size_t s = 0; s < std::size(settings); ++s) {
            std::vector<double> ratios;
            for (int round = 0; round < rounds; ++round)
                ratios.push_back(ms[s / 3 * 3][c][std::size_t(round)] / ms[s][c][std::size_t(round)]);
            const double time = median(ms[s][c]),
                         flops = 2.0 * double(cases[c].problem.m * cases[c].problem.n * cases[c].problem.k);
            std::printf("| %s %s | %s | %s | %.2f | %.0f | %.2f |\n", cases[c].problem.name().c_str(), cases[c].variant,
                        settings[s].coreType ? settings[s].coreType : "chosen", settings[s].threads, time,
                        flops / time * 1e-6, median(ratios));
        }
    for (Setting& setting : settings) ::close(setting.ask[1]);
    while (::wait(nullptr) > 0) {
    }
    return 0;
}
