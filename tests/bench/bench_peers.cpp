// SPDX-License-Identifier: GPL-3.0-or-later
// Compares our kernels with other libraries on the same weights and activations. They take turns; the ratios are
// medians over the rounds. Weights [N,K] are normally distributed f32; each library quantizes them itself or gets them
// quantized.
// Usage: bench_peers [--what products|coders] [--m M] [--rounds N] [--threads N] [--warm] [--n N] [--k K] [--only TEXT]
//   [--ggml FOLDER] [--bitsandbytes FILE] [--openblas FILE] [--coretype NAME] [--self-check]
//   --what products   default; coders: quantize and dequantize
//   --warm            one copy of the weights; default copies of together 512 MiB
//   --only TEXT       libraries whose name contains TEXT, and our kernels
//   --ggml FOLDER     folder of libggml-base.so and libggml-cpu.so
//   --bitsandbytes    libbitsandbytes_cpu.so
//   --openblas        default libopenblas.so.0; --coretype by default from the features of the processor, "" for its
// own choice
//   --self-check      tiny sizes; only our kernels and the libraries named after it
// NMSE is relative to the f64 product of the f32 weights and activations, so it includes the error of the format.

#include "kernels/cpu_features.h"
#include "kernels/kernel_set.h"
#include "kernels/roofs.h"
#include "tests/bench/peers.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <random>
#include <sched.h>
#include <set>
#include <thread>

using namespace qs;
using namespace qs::bench;

namespace {

double secondsNow() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
double median(std::vector<double> v) {
    std::sort(v.begin(), v.end());
    return v[v.size() / 2];
}

std::set<int> threadIds() {
    std::set<int> ids;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task"))
        ids.insert(std::stoi(entry.path().filename()));
    return ids;
}
/// With two threads every library has one worker thread beside the caller. It is pinned to the second CPU.
void pinOthers(const std::set<int>& known, const cpu_set_t& allowed) {
    int seen = 0;
    cpu_set_t second;
    CPU_ZERO(&second);
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
        if (CPU_ISSET(cpu, &allowed) && seen++ == 1) CPU_SET(cpu, &second);
    for (const int id : threadIds())
        if (seen > 1 && !known.count(id)) sched_setaffinity(id, sizeof second, &second);
}

/// NMSE over at most 4 rows and 64 channels.
double nmse(const Contest& c, const Contestant& who, bool product) {
    double error = 0, all = 0;
    const std::size_t rows = product ? c.m : c.n, channels = product ? c.n : c.k;
    for (std::size_t r = 0; r < std::min<std::size_t>(rows, 4); ++r)
        for (std::size_t j = 0; j < std::min<std::size_t>(channels, 64); ++j) {
            const std::size_t m = r * rows / std::min<std::size_t>(rows, 4),
                              i = j * channels / std::min<std::size_t>(channels, 64);
            double y = 0;
            if (product)
                for (std::size_t k = 0; k < c.k; ++k) y += double(c.x[m * c.k + k]) * double(c.w[i * c.k + k]);
            else
                y = c.w[m * c.k + i];
            const double e = double(who.y(m, i)) - y;
            error += e * e, all += y * y;
        }
    return error / all;
}

void addProbes(const Contest& c, ThreadTeam& team, Aligned<char>& stream, bool compute, Contestants& all) {
    const std::size_t window = std::min<std::size_t>(stream.size(), c.coldBytes ? std::size_t(64) << 20 : 8u << 20);
    if (!compute)
        all.push_back(
            {"probe: read stream", window, stream.size() / window, [&team, &stream, window](std::size_t copy) {
                 team.run([&](int worker) {
                     const auto [begin, end] = shareOf(window, worker, team.size(), 256);
                     readStream(stream.data() + copy * window + begin, end - begin);
                 });
             }});
    const std::pair<const char*, PeakKind> kinds[] = {
        {"probe: f32 multiply-adds", PeakKind::F32}, {"probe: bf16", PeakKind::Bf16}, {"probe: int8", PeakKind::I8}};
    for (const auto& [name, kind] : kinds) {
        if (!compute || runPeak(kind, 1) == 0) continue;
        const double steps = 2.0 * double(c.m) * double(c.n) * double(c.k) / runPeak(kind, 1) / team.size();
        all.push_back({name, 0, 1, [&team, kind = kind, steps](std::size_t) {
                           team.run([&](int) { runPeak(kind, std::size_t(steps) + 1); });
                       }});
    }
}

struct Options {
    Contest contest{};
    bool products = true, selfCheck = false;
    int rounds = 11;
    std::string only;
};

bool parse(int argc, char** argv, Options& o) {
    Contest& c = o.contest;
    c.openblas = "libopenblas.so.0";
    if (const auto cores = openblasCores(cpuFeatures()); !cores.empty()) c.coreType = cores.front();
    for (int i = 1; i < argc; ++i) {
        const std::string name = argv[i];
        const auto value = [&] { return i + 1 < argc ? argv[++i] : ""; };
        const auto number = [&] { return std::strtoull(value(), nullptr, 10); };
        if (name == "--what")
            o.products = std::string(value()) != "coders";
        else if (name == "--m")
            c.m = number();
        else if (name == "--n")
            c.n = number();
        else if (name == "--k")
            c.k = number();
        else if (name == "--rounds")
            o.rounds = int(number());
        else if (name == "--threads")
            c.threads = int(number());
        else if (name == "--warm")
            c.coldBytes = 0;
        else if (name == "--only")
            o.only = value();
        else if (name == "--ggml")
            c.ggml = value();
        else if (name == "--bitsandbytes")
            c.bitsandbytes = value();
        else if (name == "--openblas")
            c.openblas = value();
        else if (name == "--coretype")
            c.coreType = value();
        else if (name == "--self-check")
            o.selfCheck = true, o.rounds = 1, c.n = 128, c.k = 256, c.m = 3, c.coldBytes = 1 << 17, c.openblas.clear(),
            c.oneDnn = false;
        else
            return std::fprintf(stderr, "unknown argument %s\n", name.c_str()), false;
    }
    return o.rounds > 0 && c.threads > 0 && c.m > 0 && c.n > 0 && c.k > 0 && c.k % 64 == 0;
}

struct Times {
    std::vector<std::vector<double>> of; ///< [contestant][round], seconds per run
};

Times measure(const Options& o, const Contestants& all) {
    const bool compute = o.products && o.contest.m > 8;
    Times times{std::vector<std::vector<double>>(all.size())};
    std::vector<std::size_t> turn(all.size());
    for (std::size_t i = 0; i < all.size(); ++i) // the first access to new pages is slow
        for (std::size_t copy = 0; copy < all[i].copies; ++copy) all[i].run(copy);
    for (int round = 0; round < o.rounds; ++round)
        for (std::size_t i = 0; i < all.size(); ++i) {
            const auto once = [&] { all[i].run(turn[i]++ % all[i].copies); };
            // Worker threads of the previous library may still spin for a while.
            if (o.contest.threads > 1) std::this_thread::sleep_for(std::chrono::milliseconds(40));
            // An idle core needs milliseconds to reach full speed, longer than the short runs.
            const int runs = compute ? 1 : o.products ? (o.contest.coldBytes ? 8 : 40) : 1;
            const double ready = secondsNow() + (o.products && !compute ? 4e-3 : 0);
            do once();
            while (secondsNow() < ready);
            const double start = secondsNow();
            for (int r = 0; r < runs; ++r) once();
            times.of[i].push_back((secondsNow() - start) / runs);
        }
    return times;
}

bool print(const Options& o, const Contestants& all, const Times& times) {
    const Contest& c = o.contest;
    std::vector<std::size_t> ours;
    for (std::size_t i = 0; i < all.size(); ++i)
        if (all[i].name.rfind("ours", 0) == 0) ours.push_back(i);
    std::printf("\n| contestant | ms (spread) | GB/s | GFLOP/s | NMSE |");
    for (const std::size_t i : ours) std::printf(" speed of %s over it |", all[i].name.c_str());
    std::printf("\n|---|---|---|---|---|");
    for (std::size_t i = 0; i < ours.size(); ++i) std::printf("---|");
    bool good = true;
    for (std::size_t i = 0; i < all.size(); ++i) {
        const auto& t = times.of[i];
        const double time = median(t), operations = 2.0 * double(c.m) * double(c.n) * double(c.k);
        std::printf("\n| %s | %.3f (%.3f-%.3f) | %.1f |", all[i].name.c_str(), time * 1e3,
                    *std::min_element(t.begin(), t.end()) * 1e3, *std::max_element(t.begin(), t.end()) * 1e3,
                    double(all[i].bytes) / time / 1e9);
        if (o.products)
            std::printf(" %.0f |", operations / time / 1e9);
        else
            std::printf(" |");
        if (all[i].y) {
            all[i].run(0);
            const double error = nmse(c, all[i], o.products);
            good = good && error < 0.9; // TQ2_0 has the largest error
            std::printf(" %.1e |", error);
        } else {
            std::printf(" |");
        }
        for (const std::size_t j : ours) {
            if (all[i].name.rfind("probe", 0) == 0) {
                std::printf(" |");
                continue;
            }
            std::vector<double> ratios; // seconds per byte, because coders may process only a part
            for (std::size_t r = 0; r < t.size(); ++r) {
                const double part = o.products ? 1 : double(all[j].bytes) / double(all[i].bytes);
                ratios.push_back(t[r] / times.of[j][r] * part);
            }
            std::printf(" %.2f |", median(ratios));
        }
    }
    std::printf("\n");
    return good;
}

} // namespace

int main(int argc, char** argv) {
    Options o;
    if (!parse(argc, argv, o)) return 2;
    Contest& c = o.contest;
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 1;
    const std::size_t copies = o.products ? 1 : c.copies(c.n * c.k * 4);
    Aligned<float> w(copies * c.n * c.k), x(c.m * c.k);
    std::mt19937 random(7);
    std::normal_distribution<float> normal(0, 0.02f);
    for (std::size_t i = 0; i < c.n * c.k; ++i) w[i] = normal(random);
    for (std::size_t i = 1; i < copies; ++i) std::memcpy(w.data() + i * c.n * c.k, w.data(), c.n * c.k * 4);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = normal(random) * 50;
    c.w = w.data(), c.x = x.data();
    Aligned<char> stream(std::max<std::size_t>(c.coldBytes, 1 << 23));

    ThreadTeam team(c.threads);
    const std::set<int> known = threadIds();
    std::printf("%s, %d threads, N %zu, K %zu, M %zu, %s\n", bestKernels().title, c.threads, c.n, c.k, c.m,
                c.coldBytes ? "cold" : "warm");
    Contestants all;
    addProbes(c, team, stream, o.products && c.m > 8, all);
    if (o.products) {
        addOurProducts(c, team, all);
        addOpenBlas(c, all), addBitsAndBytes(c, all), addGgml(c, all), addOneDnn(c, all);
    } else {
        addOurCoders(c, team, all);
        addBitsAndBytesCoder(c, all), addGgmlCoders(c, all);
    }
    std::erase_if(all, [&](const Contestant& who) {
        return who.name.rfind("ours", 0) != 0 && who.name.rfind("probe", 0) != 0 &&
               who.name.find(o.only) == std::string::npos;
    });
    for (const Contestant& who : all) who.run(0); // starts the worker threads while the caller is not yet pinned
    if (c.threads == 2) pinOthers(known, allowed);
    const ThreadTeam::Pin pin(team);
    const bool good = print(o, all, measure(o, all));
    return good || !o.selfCheck ? 0 : 1;
}
