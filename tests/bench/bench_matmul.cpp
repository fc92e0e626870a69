// SPDX-License-Identifier: GPL-3.0-or-later
// Products with quantized weights against the limit measured beside them. For every case the probe and the kernel take
// turns, round by round; the table shows the median of the per-round ratios. Up to 8 rows of x the limit is the read
// stream, beyond it the multiply-add loop of the products' type.
// Usage: bench_matmul [--rounds N] [--threads N] [--n N] [--k K] [--m M[,M...]] [--warm] [--kn] [--only TEXT]
// [--self-check]
//   --rounds 11   of probe and kernel
//   --threads 1   pinned to CPUs of their own
//   --m 1         rows of x; several are separate cases
//   --warm        one copy of the weights; else copies that together are 512 MiB, so they come from memory
//   --kn          y = x W with W [K,N]; else y = x W^T with W [N,K]
//   --only TEXT   cases whose name or variant contains TEXT
//   --self-check  tiny sizes, to see that it runs

#include "kernels/format.h"
#include "kernels/kernel_set.h"
#include "kernels/matmul.h"
#include "kernels/matmul_operands.h"
#include "kernels/roofs.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

using namespace qs;

namespace {

struct Options {
    int rounds = 11, threads = 1;
    std::size_t n = 4096, k = 4096, coldBytes = std::size_t(512) << 20;
    std::vector<std::size_t> m = {1};
    bool warm = false, kn = false;
    std::string only;
};

struct Case {
    const char* name;
    WeightFormat format;
    NumberType act;
};

std::vector<Case> cases() {
    using enum NumberType;
    const std::vector<float> nf4(nf4Levels().begin(), nf4Levels().end());
    const auto packed = [](const char* id, int bits, Packing packing, std::size_t block, int bias,
                           std::vector<float> levels) {
        WeightFormat f;
        f.id = id, f.bits = bits, f.element = bits == 8 && levels.empty() ? I8 : U8, f.packing = packing,
        f.packAxis = bits == 8 ? -1 : 1;
        f.scale = F32, f.block = block, f.blockAxis = block ? 1 : -1, f.channelAxis = block ? -1 : 0;
        f.codeBias = bias, f.levels = std::move(levels);
        return f;
    };
    const auto plain = [](const char* id, NumberType type) {
        WeightFormat f;
        f.id = id, f.bits = int(bytesOf(type)) * 8, f.element = type;
        return f;
    };
    const WeightFormat nf4b64 = packed("nf4", 4, Packing::PairHiFirst, 64, 0, nf4);
    const WeightFormat int8 = packed("int8", 8, Packing::None, 0, 0, {});
    const WeightFormat int8b64 = packed("int8", 8, Packing::None, 64, 0, {});
    const WeightFormat int4 = packed("int4", 4, Packing::PairLoFirst, 64, -8, {});
    const WeightFormat ternary = packed("ternary", 2, Packing::QuadLoFirst, 0, -1, {});
    const WeightFormat binary = packed("binary", 1, Packing::OctetLoFirst, 0, 0, {-1, 1});
    return {{"nf4:block=64", nf4b64, F32},
            {"nf4:block=16", packed("nf4", 4, Packing::PairHiFirst, 16, 0, nf4), F32},
            {"nf4:block=128", packed("nf4", 4, Packing::PairHiFirst, 128, 0, nf4), F32},
            {"int8", int8, F32},
            {"int8, act int8", int8, I8},
            {"int8:block=64, act int8", int8b64, I8},
            {"int4:block=64", int4, F32},
            {"int4:block=64, act int8", int4, I8},
            {"ternary", ternary, F32},
            {"ternary, act int8", ternary, I8},
            {"binary", binary, F32},
            {"binary, act int8", binary, I8},
            {"fp8_e4m3", plain("fp8_e4m3", Fp8E4m3), F32},
            {"fp8_e5m2", packed("fp8_e5m2", 8, Packing::None, 0, 0, floatTable(*findFormat("fp8_e5m2"))), F32},
            {"bf16", plain("bf16", Bf16), F32},
            {"f32", plain("f32", F32), F32}};
}

std::uint64_t nextRandom() {
    static std::uint64_t state = 88172645463325252u;
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state;
}

/// Random codes that are finite numbers.
Aligned<std::uint8_t> randomCodes(const WeightFormat& f, std::size_t bytes) {
    Aligned<std::uint8_t> codes(bytes);
    for (std::size_t i = 0; i + 8 <= bytes; i += 8) {
        std::uint64_t r = nextRandom();
        if (f.element == NumberType::F32) r = (r & 0x807fffff807fffffu) | 0x3f0000003f000000u;
        if (f.element == NumberType::Bf16) r = (r & 0x807f807f807f807fu) | 0x3f003f003f003f00u;
        if (f.id.rfind("fp8", 0) == 0) r &= 0xbfbfbfbfbfbfbfbfu;
        if (f.id == "ternary") r &= ~((r & 0x5555555555555555u) << 1); // 3 becomes 1
        std::memcpy(codes.data() + i, &r, 8);
    }
    return codes;
}

double secondsNow() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
double median(std::vector<double> v) {
    std::sort(v.begin(), v.end());
    return v[v.size() / 2];
}

void measure(const Options& options, const Case& c, const MatmulVariant& variant, std::size_t m, ThreadTeam& team,
             Aligned<char>& stream) {
    MatmulProblem p;
    p.m = m, p.n = options.n, p.k = options.k, p.weightIsKn = options.kn, p.weight = c.format, p.act = c.act;
    p.dynamicAct = c.act == NumberType::I8;
    if (variant.declines(p)) return;
    WeightOperand operand;
    operand.rowBytes = p.cols() * std::size_t(c.format.bits) / 8;
    const Aligned<std::uint8_t> codes = randomCodes(c.format, p.rows() * operand.rowBytes);
    operand.scaleCols = c.format.blockAxis == 1 ? (p.cols() + c.format.block - 1) / c.format.block : 0;
    Aligned<float> scales(std::max<std::size_t>(storedScales(p, operand.scaleCols), 1));
    for (std::size_t i = 0; i < scales.size(); ++i) scales[i] = 0.01f + float(nextRandom() % 1000) * 1e-5f;
    operand.codes = codes.data(), operand.scales = scales.data();

    const double prepareStart = secondsNow();
    std::vector<std::unique_ptr<PreparedMatmul>> copies;
    copies.push_back(variant.prepare(p, operand, team));
    const double prepareTime = secondsNow() - prepareStart;
    const std::size_t bytes = copies[0]->weightBytes();
    const bool memoryBound = m <= 8;
    while (!options.warm && memoryBound && copies.size() * bytes < options.coldBytes)
        copies.push_back(copies[0]->clone());

    Aligned<float> x(m * p.k), y(m * p.n);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = float(int(nextRandom() % 2001) - 1000) * 1e-3f;
    std::size_t turn = 0;
    const auto once = [&] { copies[turn++ % copies.size()]->run({x.data(), nullptr}, {y.data(), nullptr}, team, {}); };
    const PeakKind kind = variant.compute == NumberType::I8     ? PeakKind::I8
                          : variant.compute == NumberType::Bf16 ? PeakKind::Bf16
                                                                : PeakKind::F32;
    const double operations = 2.0 * double(m) * double(p.n) * double(p.k);
    const std::size_t window =
        options.warm ? std::min(bytes / 256 * 256, stream.size()) : std::min<std::size_t>(stream.size(), 64u << 20);
    std::size_t at = 0;
    const auto probe = [&]() -> double { // bytes or operations a second
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
    // A guest's fresh pages are slow the first time they are read: all of them once before anything is timed.
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
        for (const Case& c : cases())
            for (const MatmulVariant* variant : matmulVariants()) {
                const bool wanted = options.only.empty() ||
                                    (std::string(c.name) + " " + variant->id).find(options.only) != std::string::npos;
                if (wanted && variant->supported() && variant->fromM != 0)
                    measure(options, c, *variant, m, team, stream);
            }
    return 0;
}
