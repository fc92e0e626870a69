// SPDX-License-Identifier: GPL-3.0-or-later
// Measures products with quantized weights relative to a roof measured beside them. The probe and the kernel run in
// turn; the table shows the median of the ratios per round. Up to 8 rows of x the roof is the read bandwidth. For more
// rows it is the peak rate of multiply-adds in the dtype of the product.
// Usage: bench_matmul [--rounds N] [--threads N] [--n N] [--k K] [--m M[,M...]] [--warm] [--kn] [--only TEXT]
//                     [--self-check]
//   --rounds 11   rounds of probe and kernel
//   --threads 1   each thread is pinned to its own CPU
//   --m 1         rows of x; each value is a separate case
//   --warm        one copy of the weights; by default copies of 512 MiB together, so that weights come from memory
//   --kn          y = x W with W [K,N]; by default y = x W^T with W [N,K]
//   --only TEXT   cases whose name or variant contains TEXT
//   --self-check  tiny sizes, to check that the program works

#include "kernels/kernel_set.h"
#include "kernels/roofs.h"
#include "tests/bench/matmul_cases.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

using namespace qs;
using namespace qs::bench;

namespace {

struct Options {
    int rounds = 11, threads = 1;
    std::size_t n = 4096, k = 4096, coldBytes = std::size_t(512) << 20;
    std::vector<std::size_t> m = {1};
    bool warm = false, kn = false;
    std::string only;
};

double secondsNow() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
double median(std::vector<double> v) {
    std::sort(v.begin(), v.end());
    return v[v.size() / 2];
}

void measure(const Options& options, const MatmulCase& c, const MatmulVariant& variant, std::size_t m, ThreadTeam& team,
             Aligned<char>& stream) {
    const MatmulProblem p = problemOf(c, {m, options.n, options.k, options.kn});
    if (variant.declines(p)) return;
    const RandomWeight weight(p);

    const double prepareStart = secondsNow();
    std::vector<std::unique_ptr<PreparedMatmul>> copies;
    copies.push_back(variant.prepare(p, weight.operand(), team));
    const double prepareTime = secondsNow() - prepareStart;
    const std::size_t bytes = copies[0]->weightBytes();
    const bool memoryBound = m <= 8;
    while (!options.warm && memoryBound && copies.size() * bytes < options.coldBytes)
        copies.push_back(copies[0]->clone());

    const Aligned<float> x = randomRows(m, p.k);
    Aligned<float> y(m * p.n);
    std::size_t turn = 0;
    const auto once = [&] { copies[turn++ % copies.size()]->run({x.data(), nullptr}, {y.data(), nullptr}, team, {}); };
    const PeakKind kind = variant.compute == NumberType::I8     ? PeakKind::I8
                          : variant.compute == NumberType::Bf16 ? PeakKind::Bf16
                                                                : PeakKind::F32;
    const double operations = 2.0 * double(m) * double(p.n) * double(p.k);
    const std::size_t window =
        options.warm ? std::min(bytes / 256 * 256, stream.size()) : std::min<std::size_t>(stream.size(), 64u << 20);
    std::size_t at = 0;
    const auto probe = [&]() -> double { // bytes or operations per second
        const double start = secondsNow();
        if (memoryBound) {
            const char* from = stream.data() + at;
            at = options.warm || at + 2 * window > stream.size() ? 0 : at + window;
            const int times = options.warm ? 8 : 1;
            for (int i = 0; i < times; ++i)
                team.run([&](int worker) {
                    const auto [begin, end] = shareOf(window, worker, team.size(), 256);
                    readStream(from + begin, end - begin);
                });
            return double(window) * times / (secondsNow() - start);
        }
        const double steps = runPeak(kind, 1) ? operations / runPeak(kind, 1) / 4 / team.size() : 0;
        team.run([&](int) { runPeak(kind, std::size_t(steps) + 1); });
        return runPeak(kind, std::size_t(1)) * double(std::size_t(steps) + 1) * team.size() / (secondsNow() - start);
    };
    const int runs = memoryBound ? (options.warm ? 10 : 4) : 1;
    std::vector<double> times, ratios, limits;
    // On a virtual machine the first access to new pages is slow, so all pages are touched before timing.
    for (std::size_t i = 0; i < copies.size(); ++i) once();
    for (std::size_t i = 0; i == 0 || at != 0; ++i) probe();
    for (int round = 0; round < options.rounds; ++round) {
        const double limit = probe(), start = secondsNow();
        for (int i = 0; i < runs; ++i) once();
        const double time = (secondsNow() - start) / runs;
        times.push_back(time), limits.push_back(limit);
        ratios.push_back((memoryBound ? double(bytes) : operations) / time / limit);
    }
    const double time = median(times);
    std::printf("| %s | %s | %zu | %.3f | %.1f | %.0f | %.1f | %.0f %% (%.0f-%.0f %%) | %.0f |\n", c.name, variant.id,
                m, time * 1e3, double(bytes) / time / 1e9, operations / time / 1e9, median(limits) / 1e9,
                median(ratios) * 100, *std::min_element(ratios.begin(), ratios.end()) * 100,
                *std::max_element(ratios.begin(), ratios.end()) * 100, prepareTime * 1e3);
    std::fflush(stdout);
}

} // namespace

int main(int argc, char** argv) {
    Options options;
    for (int i = 1; i < argc; ++i) {
        const std::string name = argv[i];
        const auto value = [&] { return i + 1 < argc ? argv[++i] : "0"; };
        if (name == "--rounds") {
            options.rounds = std::atoi(value());
        } else if (name == "--threads") {
            options.threads = std::atoi(value());
        } else if (name == "--n") {
            options.n = std::strtoull(value(), nullptr, 10);
        } else if (name == "--k") {
            options.k = std::strtoull(value(), nullptr, 10);
        } else if (name == "--m") {
            options.m.clear();
            for (char* p = const_cast<char*>(value()); *p; p += *p == ',')
                options.m.push_back(std::strtoull(p, &p, 10));
        } else if (name == "--warm") {
            options.warm = true;
        } else if (name == "--kn") {
            options.kn = true;
        } else if (name == "--only") {
            options.only = value();
        } else if (name == "--self-check") {
            options.rounds = 1, options.n = 96, options.k = 192, options.m = {1, 12}, options.coldBytes = 1 << 16;
        } else {
            std::fprintf(stderr, "unknown argument %s\n", name.c_str());
            return 2;
        }
    }
    if (options.rounds < 1 || options.n < 1 || options.k < 1 || options.m.empty()) return 2;
    ThreadTeam team(options.threads);
    const ThreadTeam::Pin pin(team);
    Aligned<char> stream(options.coldBytes);
    std::printf("%s, %d threads, N %zu, K %zu, %s, %s\n\n", bestKernels().title, team.size(), options.n, options.k,
                options.kn ? "W [K,N]" : "W [N,K]", options.warm ? "warm" : "cold");
    std::printf("| weight | variant | M | ms | GB/s | GFLOP/s | probe | of the probe (spread) | prepare ms |\n"
                "|---|---|---|---|---|---|---|---|---|\n");
    for (const std::size_t m : options.m)
        for (const MatmulCase& c : matmulCases())
            for (const MatmulVariant* variant : matmulVariants()) {
                const bool wanted = options.only.empty() ||
                                    (std::string(c.name) + " " + variant->id).find(options.only) != std::string::npos;
                if (wanted && variant->supported() && variant->fromM != 0)
                    measure(options, c, *variant, m, team, stream);
            }
    return 0;
}
