// SPDX-License-Identifier: GPL-3.0-or-later
// Measures kernels that read from memory, relative to the read bandwidth measured before and after each. Rounds are
// interleaved; the result is the median of the ratios per round. Every sample has a warm-up of 4 ms and takes at least
// 4 ms. A round is dropped and repeated if its probe is below 70 % of the best of the run. At most three times as many
// rounds are run.
// Usage: bench_kernels [--rounds N] [--threads N] [--copies N] [--mib N] [--only TEXT] [--small-pages] [--self-check]
//   --rounds 11   accepted rounds per case; each round runs all cases once
//   --threads 1   pinned to CPUs 0..N-1; each takes an equal part of a copy
//   --copies 8    weight copies used in turn; together they should be 4x the last-level cache
//   --mib 64      size of a copy: 64 is a 4096x4096 f32 matrix
//   --only TEXT   only cases whose name contains TEXT; may be given several times (probes always run)
//   --small-pages the source lies on 4 KiB pages, like a mapped file; default huge pages
//   --self-check  tiny sizes; checks that the outputs equal those of the scalar kernels
// QS_FORCE_ISA selects the kernel set.

#include "kernels/blocks/block_set.h"
#include "kernels/kernel_set.h"
#include "kernels/matmul_operands.h"
#include "kernels/nf4_thresholds.h"
#include "kernels/roofs.h"
#include "kernels/thread_team.h"
#include "tests/bench/plain_nf4.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

using namespace qs;

namespace {

constexpr std::size_t kRow = 4096;

struct Options {
    int rounds = 11, threads = 1, copies = 8, mib = 64;
    std::vector<std::string> only;
    bool selfCheck = false, smallPages = false;
};

/// Output buffers of a worker thread, large enough for a whole copy.
struct Outputs {
    Aligned<std::uint8_t> codes;
    Aligned<float> scales, decoded, sse, ssw;
    ErrorSums sums;
    std::vector<std::uint64_t> codeCounts = std::vector<std::uint64_t>(256);
    std::vector<std::uint32_t> errorBins = std::vector<std::uint32_t>(kFloatBins), valueBins = errorBins;
    std::map<const BlockCodec*, std::vector<std::uint8_t>> stored; ///< encoded blocks, input of the decode cases
    volatile float sink = 0;                                       ///< keeps the compiler from removing a result
    explicit Outputs(std::size_t n) : codes(n + n / 8), scales(n / 2), decoded(n), sse(n / 2), ssw(n / 2) {}
};

struct Round {
    double probe, seconds; ///< seconds of one pass
};
struct Case {
    std::string name;
    std::function<void(const float* x, std::size_t n, Outputs& out)> work;
    std::vector<Round> rounds{};
};
constexpr double kWorth = 0.7; // a probe below this part of its best is not accepted

/// The source values, on huge pages or on small ones like a mapped file.
class Source {
public:
    Source(std::size_t n, bool smallPages) : huge_(smallPages ? 0 : n), small_(smallPages ? n + 16 : 0) {}
    float* data() {
        void* small = small_.data();
        std::size_t room = small_.size() * sizeof(float);
        return small_.empty() ? huge_.data() : static_cast<float*>(std::align(64, 64, small, room));
    }

private:
    Aligned<float> huge_;
    std::vector<float> small_;
};

Run runOf(const char* format, GroupStatistic statistic, const float* x, std::size_t n, std::size_t group) {
    Run run = runFor(*findFormat(format));
    run.x = x, run.n = n, run.group = group, run.statistic = statistic;
    return run;
}

RunOut windowOutputs(Outputs& out) {
    RunOut r;
    r.sums = &out.sums, r.codeCounts = out.codeCounts.data();
    r.errorBins = out.errorBins.data(), r.valueBins = out.valueBins.data();
    r.groupSse = out.sse.data(), r.groupSsw = out.ssw.data();
    return r;
}

Case windowCase(const KernelSet& k, std::string name, const char* format, GroupStatistic statistic, std::size_t group) {
    return {"window: " + std::move(name), [=, &k](const float* x, std::size_t n, Outputs& out) {
                k.quantize(runOf(format, statistic, x, n, group), windowOutputs(out));
            }};
}

/// The work of a sweep for a block format: pieces of 4096 values are encoded, decoded and measured in the L1 cache.
Case blockWindow(const KernelSet& k, const BlockCodec& codec, const FormatTraits& format) {
    return {"window: " + std::string(format.id), [&](const float* x, std::size_t n, Outputs& out) {
                constexpr std::size_t kPiece = 4096;
                static thread_local std::vector<float> values(kPiece), scales(kPiece), errors(kPiece), places(kPiece);
                static thread_local std::vector<std::uint8_t> bytes(2 * kPiece), codes(kPiece);
                const RunOut r = windowOutputs(out);
                for (std::size_t at = 0; at < n; at += kPiece) {
                    const std::size_t blocks = kPiece / codec.elements;
                    codec.encode(x + at, blocks, bytes.data());
                    codec.decode(bytes.data(), blocks, values.data());
                    codec.codes(bytes.data(), blocks, codes.data());
                    codec.scales(bytes.data(), blocks, scales.data());
                    blocksOf(k).measure({x + at, values.data(), codes.data(), kPiece, format.defaultBlock,
                                         scales.data(), format.levels.data(), int(format.levels.size())},
                                        r, errors.data(), places.data());
                    k.floatBins(errors.data(), kPiece, out.errorBins.data());
                    k.floatBins(places.data(), kPiece, out.valueBins.data());
                }
            }};
}

std::vector<Case> cases(const KernelSet& k) {
    std::vector<Case> all;
    const auto add = [&](std::string name, auto work) { all.push_back({std::move(name), work}); };
    add("probe: read stream", [](const float* x, std::size_t n, Outputs&) { readStream(x, n * 4); });
    add("probe: write stream",
        [](const float*, std::size_t n, Outputs& out) { writeStream(out.decoded.data(), n * 4); });
    add("plain C++ nf4:block=64, packed", [](const float* x, std::size_t n, Outputs& out) {
        bench::plainNf4(x, n, 64, nf4Thresholds().threshold, out.codes.data(), out.scales.data());
    });
    for (const std::size_t block : {32u, 64u, 128u, 1024u, 4096u}) {
        const std::string spec = "nf4:block=" + std::to_string(block);
        add(spec + ", packed", [=, &k](const float* x, std::size_t n, Outputs& out) {
            k.quantizeNf4Packed(x, n, block, out.codes.data(), out.scales.data(), nullptr);
        });
        add(spec + ", packed, MSE SQNR max", [=, &k](const float* x, std::size_t n, Outputs& out) {
            k.quantizeNf4Packed(x, n, block, out.codes.data(), out.scales.data(), &out.sums);
        });
    }
    add("nf4:block=64, codes, MSE SQNR max, error histogram", [&k](const float* x, std::size_t n, Outputs& out) {
        RunOut r;
        r.codes = out.codes.data(), r.scales = out.scales.data(), r.sums = &out.sums,
        r.errorBins = out.errorBins.data();
        k.quantize(runOf("nf4", GroupStatistic::AbsMax, x, n, 64), r);
    });
    add("int8:axis=-1, stored", [&k](const float* x, std::size_t n, Outputs& out) {
        k.quantizeInt8Stored(x, n, kRow, reinterpret_cast<std::int8_t*>(out.codes.data()), out.scales.data());
    });
    add("ternary:scale=channel, packed", [&k](const float* x, std::size_t n, Outputs& out) {
        k.quantizeTernaryPacked(x, n, kRow, out.codes.data(), out.scales.data());
    });
    add("nf4:block=64, dequantize (GB/s written)", [&k](const float*, std::size_t n, Outputs& out) {
        k.dequantizeNf4Packed(out.codes.data(), n, 64, out.scales.data(), nf4Levels().data(), out.decoded.data());
    });
    add("moments", [&k](const float* x, std::size_t n, Outputs& out) { out.sink = float(k.moments(x, n).s2); });
    for (const std::size_t block : {2u, 6u, 8u, 16u, 20u, 32u, 64u, 100u, 128u, 256u, 1024u, 4096u, 65536u})
        all.push_back(windowCase(k, "nf4:block=" + std::to_string(block), "nf4", GroupStatistic::AbsMax, block));
    all.push_back(windowCase(k, "ternary:scale=channel", "ternary", GroupStatistic::MeanAbsTwn, kRow));
    all.push_back(windowCase(k, "binary:scale=channel", "binary", GroupStatistic::MeanAbs, kRow));
    all.push_back(windowCase(k, "ternary:block=2", "ternary", GroupStatistic::MeanAbsTwn, 2));
    for (const FormatTraits& format : formats()) { // all other formats with their default spec
        const bool block = format.defaultScale == ScaleKind::Block;
        if (format.kind != FormatKind::Integer && format.kind != FormatKind::Float) continue;
        all.push_back(windowCase(k, std::string(format.id) + (block ? ":block=64" : ":axis=-1"), format.id,
                                 GroupStatistic::AbsMax, block ? format.defaultBlock : kRow));
    }
    for (const FormatTraits& format : formats()) {
        if (format.kind != FormatKind::Superblock) continue;
        const BlockCodec& codec = blocksOf(k).codecs[std::size_t(format.codec - kBlockCodecs.data())];
        add(std::string("blocks: ") + format.id, [&codec](const float* x, std::size_t n, Outputs& out) {
            codec.encode(x, n / codec.elements, out.codes.data());
        });
        add(std::string("decoded: ") + format.id + " (GB/s written)",
            [&codec](const float* x, std::size_t n, Outputs& out) {
                auto& bytes = out.stored[&codec]; // filled in the warm-up round
                if (bytes.empty()) {
                    bytes.resize(n / codec.elements * codec.bytes);
                    codec.encode(x, n / codec.elements, bytes.data());
                }
                codec.decode(bytes.data(), n / codec.elements, out.decoded.data());
            });
        all.push_back(blockWindow(k, codec, format));
    }
    return all;
}

double secondsNow() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Counter increments per second in the L1 cache. If another thread of the host shares the core, they and the code
/// counts run at about 75 % speed. Neither the read stream nor multiplications show this.
double incrementRate() {
    static std::uint32_t counters[1024];
    constexpr std::size_t kTimes = 200;
    const double start = secondsNow();
    for (std::size_t t = 0; t < kTimes; ++t) {
        for (std::size_t i = 0; i < std::size(counters); ++i) ++counters[i * 37 % std::size(counters)];
        asm volatile("" ::: "memory");
    }
    return double(kTimes * std::size(counters)) / (secondsNow() - start);
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values.empty() ? 0 : values[values.size() / 2];
}

int selfCheck() {
    const std::size_t n = 64 * kRow;
    std::vector<float> x(n);
    std::mt19937 engine(1);
    std::normal_distribution<float> normal;
    for (auto& value : x) value = normal(engine);
    int failures = 0;
    const auto ours = cases(bestKernels()), scalar = cases(scalarKernels());
    for (std::size_t i = 0; i < ours.size(); ++i) {
        Outputs a(n), b(n);
        if (ours[i].name.find("dequantize") != std::string::npos)
            for (Outputs* out : {&a, &b})
                scalarKernels().quantizeNf4Packed(x.data(), n, 64, out->codes.data(), out->scales.data(), nullptr);
        ours[i].work(x.data(), n, a);
        scalar[i].work(x.data(), n, b);
        const bool same = !std::memcmp(a.codes.data(), b.codes.data(), n) &&
                          !std::memcmp(a.decoded.data(), b.decoded.data(), 4 * n) &&
                          !std::memcmp(a.scales.data(), b.scales.data(), 2 * n) && a.errorBins == b.errorBins &&
                          a.valueBins == b.valueBins && a.codeCounts == b.codeCounts && a.sums.n == b.sums.n &&
                          std::abs(a.sums.se2 - b.sums.se2) <= 1e-6 * b.sums.se2;
        if (!same) std::printf("%s: not the scalar result\n", ours[i].name.c_str()), ++failures;
    }
    Outputs plain(n), kernel(n);
    bench::plainNf4(x.data(), n, 64, nf4Thresholds().threshold, plain.codes.data(), plain.scales.data());
    bestKernels().quantizeNf4Packed(x.data(), n, 64, kernel.codes.data(), kernel.scales.data(), nullptr);
    if (std::memcmp(plain.codes.data(), kernel.codes.data(), n / 2))
        std::puts("the peer computes something else"), ++failures;
    std::printf("%zu cases checked, %d wrong\n", ours.size(), failures);
    return failures ? 1 : 0;
}

Options parse(int argc, char** argv) {
    Options o;
    for (int i = 1; i < argc; ++i) {
        const std::string key = argv[i];
        const char* value = i + 1 < argc ? argv[i + 1] : "";
        if (key == "--self-check")
            o.selfCheck = true;
        else if (key == "--small-pages")
            o.smallPages = true;
        else if (key == "--rounds")
            o.rounds = std::atoi(value), ++i;
        else if (key == "--threads")
            o.threads = std::atoi(value), ++i;
        else if (key == "--copies")
            o.copies = std::atoi(value), ++i;
        else if (key == "--mib")
            o.mib = std::atoi(value), ++i;
        else if (key == "--only")
            o.only.push_back(value), ++i;
        else
            std::fprintf(stderr, "unknown argument %s\n", argv[i]), std::exit(2);
    }
    return o;
}

} // namespace

int main(int argc, char** argv) {
    const Options options = parse(argc, argv);
    if (const char* problem = forcedIsaProblem()) return std::fprintf(stderr, "%s\n", problem), 2;
    if (options.selfCheck) return selfCheck();

    const std::size_t n = std::size_t(options.mib) << 18, part = n / std::size_t(options.threads);
    std::vector<Source> copies;
    std::mt19937 engine(1);
    std::normal_distribution<float> normal(0, 0.02f);
    for (int c = 0; c < options.copies; ++c) {
        float* x = copies.emplace_back(n, options.smallPages).data();
        for (std::size_t i = 0; i < n; ++i)
            x[i] = c ? copies[0].data()[(i + std::size_t(c) * 4099) % n] : normal(engine);
    }
    std::vector<std::unique_ptr<Outputs>> outputs;
    for (int t = 0; t < options.threads; ++t) outputs.push_back(std::make_unique<Outputs>(part));

    ThreadTeam team(options.threads);
    const ThreadTeam::Pin pin(team);
    std::size_t next = 0;
    const auto sample = [&](const Case& c) { // seconds of one pass
        const auto pass = [&] {
            const float* x = copies[next++ % copies.size()].data();
            team.run([&](int t) { c.work(x + std::size_t(t) * part, part, *outputs[std::size_t(t)]); });
        };
        constexpr double kLong = 4e-3; // an idle core needs milliseconds to reach full speed
        for (const double ready = secondsNow() + kLong; secondsNow() < ready;) pass();
        const double start = secondsNow();
        double passes = 0, end = start;
        for (; end < start + kLong; ++passes, end = secondsNow()) pass();
        return (end - start) / passes;
    };
    auto all = cases(bestKernels());
    const Case read = all[0];
    std::erase_if(all, [&](const Case& c) {
        return c.name.rfind("probe", 0) != 0 && !options.only.empty() &&
               std::none_of(options.only.begin(), options.only.end(),
                            [&](const std::string& text) { return c.name.find(text) != std::string::npos; });
    });
    for (Case& c : all) sample(c); // first run: allocates buffers and touches new pages
    for (std::size_t i = 0; i < copies.size(); ++i) sample(read);
    double best = 1e9;
    std::vector<double> fma, increments;
    const auto believed = [&](const Round& r) { return best >= kWorth * r.probe; };
    const auto kept = [&](const Case& c) { return std::count_if(c.rounds.begin(), c.rounds.end(), believed); };
    for (int round = 0; round < 3 * options.rounds; ++round) {
        bool enough = true;
        for (Case& c : all) {
            if (kept(c) >= options.rounds) continue;
            enough = false;
            const double before = sample(read), seconds = sample(c), after = sample(read);
            c.rounds.push_back({(before + after) / 2, seconds});
            best = std::min({best, before, after});
        }
        if (enough) break;
        increments.push_back(incrementRate() * 1e-9);
        const double start = secondsNow(), steps = 500000;
        team.run([&](int) { runPeak(PeakKind::F32, std::size_t(steps)); });
        fma.push_back(runPeak(PeakKind::F32, 1) * steps * options.threads / (secondsNow() - start) * 1e-9);
    }

    const double bytes = double(part) * options.threads * sizeof(float);
    std::printf("kernels %s, %d thread(s), %d copies of %d MiB on %s pages, build %s, FMA probe %.0f GFLOP/s, "
                "increments %.2f G/s (%.2f to %.2f), read stream at best %.1f GB/s\n\n",
                bestKernels().id, options.threads, options.copies, options.mib, options.smallPages ? "small" : "huge",
                QS_BUILD_TYPE, median(fma), median(increments), *std::min_element(increments.begin(), increments.end()),
                *std::max_element(increments.begin(), increments.end()), bytes / best * 1e-9);
    std::printf(
        "| case | ms | GB/s | of the read stream (10-90 %%) | least | rounds kept |\n|---|---|---|---|---|---|\n");
    for (const Case& c : all) {
        std::vector<double> ratios, seconds;
        for (const Round& r : c.rounds)
            if (believed(r)) ratios.push_back(100 * r.probe / r.seconds), seconds.push_back(r.seconds);
        if (ratios.empty()) continue;
        std::sort(ratios.begin(), ratios.end());
        const std::size_t count = ratios.size();
        std::printf("| %s | %.2f | %.1f | %.0f %% (%.0f-%.0f) | %.0f %% | %zu of %zu |\n", c.name.c_str(),
                    median(seconds) * 1e3, bytes / median(seconds) * 1e-9, ratios[count / 2], ratios[count / 10],
                    ratios[count - 1 - count / 10], ratios[0], count, c.rounds.size());
    }
}
