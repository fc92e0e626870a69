// SPDX-License-Identifier: GPL-3.0-or-later
// Measures how much faster kernels are with several threads than with one, beside the scaling of the machine itself. A
// round runs probe and kernel on one thread, on several, again on several, and again on one. So a slow drift cancels.
// The cases take turns. A round is dropped and repeated if a probe is below 70 % of its best. For cases limited by
// memory it is also dropped if the probe itself did not scale by 0.95 of the threads. The result is the median of the
// ratios per round.
// Usage: bench_scaling [--rounds N] [--tries N] [--threads N] [--m M] [--size N] [--only TEXT] [--all] [--any-probe]
//                      [--self-check]
//   --rounds 15    accepted rounds per case
//   --tries 3      runs at most this many times as many rounds
//   --any-probe    also accept rounds whose probe did not scale
//   --threads 2    compared with one thread; pinned to their own CPUs
//   --m 512        rows of x for products limited by arithmetic
//   --size 4096    rows and columns of the weights
//   --only TEXT    cases whose name contains TEXT
//   --all          all variants of bench_matmul, not only those with a goal
//   --self-check   tiny sizes; checks that results on one thread and on several are the same

#include "kernels/format.h"
#include "kernels/kernel_set.h"
#include "tests/bench/matmul_cases.h"
#include "tests/bench/scaling_probes.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>

using namespace qs;
using namespace qs::bench;

namespace {

struct Options {
    int rounds = 15, tries = 3, threads = 2;
    double probeScaling() const { return anyProbe ? 0 : 0.95 * threads; }
    bool anyProbe = false;
    std::size_t m = 512, size = 4096, coldBytes = std::size_t(512) << 20;
    bool all = false, selfCheck = false;
    std::string only;
};

struct Case {
    std::string name;
    Limit limit;
    double work;                                        ///< bytes or operations per run
    std::function<void(ThreadTeam&, bool several)> run; ///< several: false runs on one thread
    std::function<bool()> same{};                       ///< true if the last runs on one thread and on several gave the
                                                        ///< same results
};

constexpr double kWorth = 0.7;   // a probe below this part of its best is not accepted
constexpr double kWarmUp = 4e-3; // seconds; a core needs milliseconds to reach full speed, and a sleeping thread to
                                 // wake

double secondsNow() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
/// Quantile `at` of v; 0.5 is the median.
double quantile(std::vector<double> v, double at) {
    if (v.empty()) return 0;
    std::sort(v.begin(), v.end());
    return v[std::min(v.size() - 1, std::size_t(at * double(v.size())))];
}

/// A product that runs on one thread and on several, with separate results.
struct Product {
    std::vector<std::unique_ptr<PreparedMatmul>> copies;
    std::unique_ptr<PreparedMatmul> second; ///< has working memory of its own size; if empty, the copies serve both
    Aligned<float> x, y[2];
    std::size_t turn = 0;
};

void addProduct(const Options& o, const MatmulCase& c, const MatmulVariant& variant, std::size_t m, bool warm,
                ThreadTeam& team, std::vector<Case>& all) {
    const bool memory = m <= 8;
    const MatmulProblem p = problemOf(c, {m, o.size, o.size, false});
    const std::string name = std::string(c.name) + " " + variant.id +
                             (!memory ? ", M=" + std::to_string(m)
                              : warm  ? ", cached"
                                      : ", memory");
    if (!variant.supported() || variant.fromM == 0 || variant.declines(p) || name.find(o.only) == std::string::npos)
        return;
    const RandomWeight weight(p);
    auto product = std::make_shared<Product>();
    product->copies.push_back(variant.prepare(p, weight.operand(), team));
    const std::size_t bytes = product->copies[0]->weightBytes();
    if (memory && !warm)
        while (product->copies.size() * bytes < o.coldBytes) product->copies.push_back(product->copies[0]->clone());
    if (!memory) product->second = variant.prepare(p, weight.operand(), team);
    product->x = randomRows(m, p.k);
    for (auto& y : product->y) y = Aligned<float>(m * p.n);
    const Limit limit = memory                                ? (warm ? Limit::ReadCache : Limit::ReadMemory)
                        : variant.compute == NumberType::I8   ? Limit::I8
                        : variant.compute == NumberType::Bf16 ? Limit::Bf16
                                                              : Limit::F32;
    all.push_back({name, limit, memory ? double(bytes) : 2.0 * double(m) * double(p.n) * double(p.k),
                   [product](ThreadTeam& on, bool several) {
                       auto& copies = product->copies;
                       PreparedMatmul& one =
                           several && product->second ? *product->second : *copies[product->turn++ % copies.size()];
                       one.run({product->x.data(), nullptr}, {product->y[several].data(), nullptr}, on, {});
                   },
                   [product] {
                       return std::equal(product->y[0].data(), product->y[0].data() + product->y[0].size(),
                                         product->y[1].data());
                   }});
}

struct Coders {
    Aligned<float> x;
    struct Result {
        Aligned<std::uint8_t> codes;
        Aligned<float> scales, decoded;
    } result[2];
    std::size_t turn = 0;
};

void addCoders(const Options& o, std::vector<Case>& all) {
    const std::size_t n = o.size, values = n * n, copies = std::max<std::size_t>(o.coldBytes / (values * 4), 1);
    auto kept = std::make_shared<Coders>();
    const auto add = [&](const char* name, Limit limit, auto work) { // work(x, first row, rows, result)
        if (std::string(name).find(o.only) == std::string::npos) return;
        if (!kept->x.size()) {
            kept->x = Aligned<float>(copies * values);
            std::mt19937 engine(1);
            std::normal_distribution<float> normal(0, 0.02f);
            for (std::size_t i = 0; i < values; ++i) kept->x[i] = normal(engine);
            for (std::size_t i = values; i < kept->x.size(); ++i) kept->x[i] = kept->x[i - values];
            for (auto& r : kept->result)
                r.codes = Aligned<std::uint8_t>(values), r.scales = Aligned<float>(values / 32),
                r.decoded = Aligned<float>(values);
        }
        all.push_back({name, limit, double(values) * 4,
                       [kept, n, values, copies, work](ThreadTeam& team, bool several) {
                           const float* x = kept->x.data() + kept->turn++ % copies * values;
                           team.run([&](int worker) {
                               const auto [begin, end] = shareOf(n, worker, team.size());
                               work(x + begin * n, begin, end - begin, kept->result[several]);
                           });
                       },
                       [kept] {
                           const auto equal = [](const auto& a, const auto& b) {
                               return std::equal(a.data(), a.data() + a.size(), b.data());
                           };
                           const auto& [one, several] = kept->result;
                           return equal(one.codes, several.codes) && equal(one.scales, several.scales) &&
                                  equal(one.decoded, several.decoded);
                       }});
    };
    using Result = Coders::Result;
    const KernelSet& k = bestKernels();
    add("quantize nf4:block=64, packed", Limit::ReadMemory,
        [&k, n](const float* x, std::size_t row, std::size_t rows, Result& r) {
            k.quantizeNf4Packed(x, rows * n, 64, r.codes.data() + row * n / 2, r.scales.data() + row * n / 64, nullptr);
        });
    add("quantize nf4:block=64, MSE SQNR max", Limit::ReadMemory,
        [&k, n](const float* x, std::size_t row, std::size_t rows, Result& r) {
            ErrorSums sums;
            k.quantizeNf4Packed(x, rows * n, 64, r.codes.data() + row * n / 2, r.scales.data() + row * n / 64, &sums);
        });
    add("quantize nf4:block=64, error histogram", Limit::F32,
        [&k, n](const float* x, std::size_t row, std::size_t rows, Result& r) {
            ErrorSums sums;
            thread_local std::vector<std::uint32_t> bins(kFloatBins);
            Run run = runFor(*findFormat("nf4"));
            run.x = x, run.n = rows * n, run.group = 64, run.statistic = GroupStatistic::AbsMax;
            RunOut out;
            out.codes = r.codes.data() + row * n, out.scales = r.scales.data() + row * n / 64, out.sums = &sums;
            out.errorBins = bins.data();
            k.quantize(run, out);
        });
    add("quantize int8:axis=-1", Limit::ReadMemory,
        [&k, n](const float* x, std::size_t row, std::size_t rows, Result& r) {
            k.quantizeInt8Stored(x, rows * n, n, reinterpret_cast<std::int8_t*>(r.codes.data()) + row * n,
                                 r.scales.data() + row);
        });
    add("quantize ternary:scale=channel", Limit::ReadMemory,
        [&k, n](const float* x, std::size_t row, std::size_t rows, Result& r) {
            k.quantizeTernaryPacked(x, rows * n, n, r.codes.data() + row * n / 4, r.scales.data() + row);
        });
    add("dequantize nf4:block=64", Limit::WriteMemory,
        [&k, n](const float*, std::size_t row, std::size_t rows, Result& r) {
            k.dequantizeNf4Packed(r.codes.data() + row * n / 2, rows * n, 64, r.scales.data() + row * n / 64,
                                  nf4Levels().data(), r.decoded.data() + row * n);
        });
}

std::vector<Case> cases(const Options& o, ThreadTeam& team) {
    std::vector<Case> all;
    const std::pair<const char*, const char*> wanted[] = {
        {"nf4:block=64", "bf16"}, {"nf4:block=64", "f32"}, {"int8, act int8", "i8"}, {"ternary, act int8", "i8"}};
    for (const std::size_t m : {o.m, std::size_t(1)})
        for (const bool warm : {false, true})
            for (const MatmulCase& c : matmulCases())
                for (const MatmulVariant* variant : matmulVariants()) {
                    const std::string loop = m <= 8 ? "gemv_" : "gemm_", set = std::string("_") + bestKernels().id;
                    const bool goal = std::any_of(std::begin(wanted), std::end(wanted), [&](const auto& w) {
                        return w.first == std::string(c.name) && loop + w.second + set == variant->id;
                    });
                    if ((goal || o.all) && !(m > 8 && warm)) addProduct(o, c, *variant, m, warm, team, all);
                }
    addCoders(o, all);
    return all;
}

struct Round {
    double kernel[2], probe[2]; ///< on one thread and on several: kernel in s per run, probe in bytes or operations per
                                ///< second
};

Round measured(const Case& c, Probes& probes, std::array<ThreadTeam*, 2> teams) {
    double kernelTime[2] = {}, kernelRuns[2] = {}, probeTime[2] = {}, probeWork[2] = {};
    for (const bool several : {false, true, true, false}) {
        ThreadTeam& team = *teams[several];
        const auto timed = [&](const auto& work, double& time, double& done) {
            for (const double ready = secondsNow() + kWarmUp; secondsNow() < ready;) work();
            const double start = secondsNow();
            do done += work();
            while (secondsNow() - start < kWarmUp);
            time += secondsNow() - start;
        };
        timed([&] { return probes.run(team, c.limit, c.work); }, probeTime[several], probeWork[several]);
        timed([&] { return c.run(team, several), 1.0; }, kernelTime[several], kernelRuns[several]);
    }
    Round round{};
    for (const int i : {0, 1})
        round.kernel[i] = kernelTime[i] / kernelRuns[i], round.probe[i] = probeWork[i] / probeTime[i];
    return round;
}

struct Kept {
    std::vector<Round> good;
    std::size_t fallen = 0, unscaled = 0; ///< dropped rounds: a slow probe; a probe that did not scale
};
/// Sorts the rounds into accepted and dropped ones, by the best probes of the run so far.
Kept kept(const Options& o, const std::vector<Round>& rounds, Limit limit,
          const std::map<Limit, std::array<double, 2>>& best) {
    Kept out;
    for (const Round& r : rounds)
        if (r.probe[0] < kWorth * best.at(limit)[0] || r.probe[1] < kWorth * best.at(limit)[1])
            ++out.fallen;
        else if (fromMemory(limit) && r.probe[1] < o.probeScaling() * r.probe[0])
            ++out.unscaled;
        else
            out.good.push_back(r);
    return out;
}

/// CPU time that the host gave to other machines (steal), and total CPU time, in ticks since start.
std::pair<double, double> stolenOfAll() {
    std::ifstream stat("/proc/stat");
    std::string cpu;
    stat >> cpu;
    double all = 0, stolen = 0, value = 0;
    for (int i = 0; i < 8 && stat >> value; ++i) all += value, stolen = value;
    return {stolen, all};
}

void print(const Case& c, const Kept& rounds) {
    std::vector<double> scaling, machine, share[2], one, several;
    for (const Round& r : rounds.good) {
        const double s = r.kernel[0] / r.kernel[1], p = r.probe[1] / r.probe[0];
        scaling.push_back(s), machine.push_back(p);
        for (const int t : {0, 1}) share[t].push_back(c.work / r.kernel[t] / r.probe[t]);
        one.push_back(r.kernel[0] * 1e3), several.push_back(r.kernel[1] * 1e3);
    }
    const std::string count = std::to_string(rounds.good.size()) + " | " + std::to_string(rounds.fallen) + " and " +
                              std::to_string(rounds.unscaled);
    if (rounds.good.empty())
        return void(std::printf("| %s | - | - | - | - | - | - | %s |\n", c.name.c_str(), count.c_str()));
    const auto spread = [](const std::vector<double>& v, double by, int digits) {
        char text[64];
        std::snprintf(text, sizeof text, "%.*f (%.*f-%.*f)", digits, quantile(v, 0.5) * by, digits,
                      quantile(v, 0.1) * by, digits, quantile(v, 0.9) * by);
        return std::string(text);
    };
    std::printf("| %s | %.3f | %.3f | %s | %s | %s %% | %s %% | %s |\n", c.name.c_str(), quantile(one, 0.5),
                quantile(several, 0.5), spread(scaling, 1, 2).c_str(), spread(machine, 1, 2).c_str(),
                spread(share[0], 100, 0).c_str(), spread(share[1], 100, 0).c_str(), count.c_str());
}

bool parse(int argc, char** argv, Options& o) {
    for (int i = 1; i < argc; ++i) {
        const std::string name = argv[i];
        const auto value = [&] { return i + 1 < argc ? argv[++i] : ""; };
        if (name == "--rounds")
            o.rounds = std::atoi(value());
        else if (name == "--tries")
            o.tries = std::atoi(value());
        else if (name == "--any-probe")
            o.anyProbe = true;
        else if (name == "--threads")
            o.threads = std::atoi(value());
        else if (name == "--m")
            o.m = std::strtoull(value(), nullptr, 10);
        else if (name == "--size")
            o.size = std::strtoull(value(), nullptr, 10);
        else if (name == "--only")
            o.only = value();
        else if (name == "--all")
            o.all = true;
        else if (name == "--self-check")
            o.selfCheck = true, o.m = 140, o.size = 192, o.coldBytes = 1 << 18;
        else
            return std::fprintf(stderr, "unknown argument %s\n", name.c_str()), false;
    }
    return o.rounds > 0 && o.tries > 0 && o.threads > 1 && o.m > 8 && o.size > 0 && o.size % 64 == 0;
}

} // namespace

int main(int argc, char** argv) {
    Options o;
    if (!parse(argc, argv, o)) return 2;
    if (const char* problem = forcedIsaProblem()) return std::fprintf(stderr, "%s\n", problem), 2;
    ThreadTeam single(1), team(o.threads);
    const ThreadTeam::Pin pin(team);
    std::vector<Case> all = cases(o, team);
    Probes probes(o.coldBytes);
    std::erase_if(all, [&](const Case& c) { return !probes.has(c.limit); });
    const std::array<ThreadTeam*, 2> teams{&single, &team};
    bool good = true;
    for (const Case& c : all) { // the first access to new pages is slow
        const std::size_t runs = c.limit < Limit::F32 ? std::size_t(double(o.coldBytes) / c.work) + 1 : 1;
        for (const bool several : {false, true})
            for (std::size_t i = 0; i < runs; ++i) c.run(*teams[several], several);
        if (o.selfCheck && !c.same()) std::printf("%s: not the same on one thread\n", c.name.c_str()), good = false;
    }
    if (o.selfCheck) return std::printf("%zu cases checked\n", all.size()), good ? 0 : 1;
    for (std::size_t at = 0; at < o.coldBytes; at += std::size_t(64) << 20)
        probes.run(team, Limit::ReadMemory, 0), probes.run(team, Limit::WriteMemory, 0);

    std::map<Limit, std::array<double, 2>> best;
    std::vector<std::vector<Round>> rounds(all.size());
    const auto [stolenBefore, allBefore] = stolenOfAll();
    for (int turn = 0; turn < o.tries * o.rounds; ++turn) {
        bool enough = true;
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (kept(o, rounds[i], all[i].limit, best).good.size() >= std::size_t(o.rounds)) continue;
            enough = false;
            rounds[i].push_back(measured(all[i], probes, teams));
            for (const int t : {0, 1})
                best[all[i].limit][std::size_t(t)] =
                    std::max(best[all[i].limit][std::size_t(t)], rounds[i].back().probe[t]);
        }
        if (enough) break;
    }
    const auto [stolen, ticks] = stolenOfAll();
    std::printf("%s, %d threads, %zu x %zu, %.1f %% of the CPU time stolen by the host\n", bestKernels().title,
                o.threads, o.size, o.size,
                ticks > allBefore ? 100 * (stolen - stolenBefore) / (ticks - allBefore) : 0.0);
    constexpr const char* names[] = {"read from memory", "read from cache", "write to memory", "f32", "bf16", "int8"};
    for (const auto& [limit, rate] : best)
        std::printf("best %s probe: %.1f and %.1f G/s\n", names[int(limit)], rate[0] * 1e-9, rate[1] * 1e-9);
    std::printf(
        "\n| case | ms, 1 thread | ms, %d threads | scaling (10-90 %%) | of the probe (%.2f at least from "
        "memory) | of the probe's speed, 1 thread | %d threads | rounds kept | dropped: probe fallen, not scaling |\n"
        "|---|---|---|---|---|---|---|---|---|\n",
        o.threads, o.probeScaling(), o.threads);
    for (std::size_t i = 0; i < all.size(); ++i) print(all[i], kept(o, rounds[i], all[i].limit, best));
    return 0;
}
