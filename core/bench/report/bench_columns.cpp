// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/cell.h"
#include "core/bench/run/bench_row.h"

#include <fmt/format.h>

namespace qs {
namespace {

const char* clockText(int clock) { return clock == 1 ? "host" : clock == 2 ? "device" : ""; }
const char* fusionText(int fusion) {
    static constexpr const char* names[] = {"", "fused", "materialised", "folded"};
    return fusion >= 0 && fusion < 4 ? names[fusion] : "";
}

using Row = BenchmarkRow;
constexpr auto kNone = Direction::None;
constexpr auto kLower = Direction::LowerIsBetter;
constexpr auto kHigher = Direction::HigherIsBetter;

/// A count that says nothing as long as it is 0.
template<class T> Value counted(T count) { return count ? Value(std::int64_t(count)) : Value(); }
Value giga(const std::optional<double>& value) { return value ? Value(*value / 1e9) : Value(); }

class Adding {
public:
    explicit Adding(Columns<Row>& columns) : columns_(columns) {}
    /// Figures that are not finite are "not measured".
    template<class Get> void add(ColumnInfo info, Get get) {
        columns_.push_back({std::move(info), [get](const Row& r) {
                                const auto value = get(r);
                                if constexpr (std::is_same_v<decltype(value), const std::optional<double>>)
                                    return finiteCellOf(value);
                                else
                                    return cellOf(value);
                            }});
    }
    template<class Get> void text(const char* id, const char* title, const char* tip, Get get) {
        add({id, title, "", Show::Text, 0, kNone, tip}, get);
    }
    template<class Get> void integer(const char* id, const char* title, const char* tip, Get get) {
        add({id, title, "", Show::Integer, 0, kNone, tip}, get);
    }
    template<class Get> void time(const char* id, const char* title, const char* tip, Get get) {
        add({id, title, "µs", Show::Time, 4, kLower, tip}, get);
    }
    template<class Get> void error(const char* id, const char* title, const char* tip, Get get) {
        add({id, title, "", Show::Scientific, 3, kLower, tip}, get);
    }

private:
    Columns<Row>& columns_;
};

void addNames(Adding& t) {
    t.text("backend", "Backend", "Id of the backend", [](const Row& r) { return r.question.backend; });
    t.text("device", "Device", "Id of the device", [](const Row& r) { return r.question.device; });
    t.text("spec", "Spec", "Format of the weights, as typed", [](const Row& r) { return r.question.spec; });
    t.integer("m", "M", "Rows of x; 1 for dequantize and quantize", [](const Row& r) { return r.question.m; });
    t.integer("n", "N", "Columns of the result", [](const Row& r) { return r.question.n; });
    t.integer("k", "K", "Length of the sums", [](const Row& r) { return r.question.k; });
    t.text("variant", "Variant", "The backend's own name for the way it computes",
           [](const Row& r) { return r.answer.variant.id; });
    t.text("cache", "Cache", "cold: weights come from memory, copies in turn; warm: one copy, not memory bandwidth",
           [](const Row& r) { return cacheText(r.question.cache); });
    t.integer("threads", "Threads", "Threads asked for", [](const Row& r) { return r.question.threads; });
    t.text("clock", "Clock", "host, or the device's own events",
           [](const Row& r) { return clockText(r.timing.clock); });
    t.text("op", "Op", "The operation", [](const Row& r) { return r.question.op; });
    t.text("act", "Activations", "Type of x; int8: quantized per row during the run",
           [](const Row& r) { return r.question.act; });
}

void addFigures(Adding& t) {
    t.text("status", "Status", "ok, declined, wrong, invalid, unavailable, crashed, hung, ...",
           [](const Row& r) { return rowStateText(r.verdict.status); });
    t.time("prepare_ns", "Prepare", "Time of the whole call of prepare, once: repack, upload, compile",
           [](const Row& r) { return r.answer.kernel.prepareNs; });
    t.time("median_ns", "Median", "Median time of one run; no outlier is dropped",
           [](const Row& r) { return r.timing.medianNs; });
    t.add({"ci_ns", "95 % CI", "µs", Show::Times, 4, kNone,
           "Of the median, by ranks (n ± 1.96 √n) / 2; none below 20 samples"},
          [](const Row& r) {
              const auto& ci = r.timing.ciNs;
              return ci ? Value(fmt::format("[{}, {}]", std::llround(ci->low), std::llround(ci->high))) : Value();
          });
    t.time("min_ns", "Min", "Fastest run", [](const Row& r) { return r.timing.minNs; });
    t.time("p95_ns", "p95", "95 % of the runs took at most that long", [](const Row& r) { return r.timing.p95Ns; });
    t.integer("sample_count", "Samples", "Timed runs; all are kept",
              [](const Row& r) { return r.timing.samples.size(); });
    t.add({"gflops", "GFLOP/s", "", Show::Significant, 4, kHigher, "2 M N K / median"},
          [](const Row& r) { return r.timing.gflops; });
    t.add({"weight_gbps", "Weight GB/s", "", Show::Significant, 4, kHigher,
           "Packed weights and scales / median (10^9 bytes); f32 bytes for dequantize and quantize"},
          [](const Row& r) { return r.timing.weightGbps; });
    t.add(
        {"speedup_vs_f32", "Speed-up", "x", Show::Fixed, 2, kHigher,
         "Median over rounds of the time of openblas f32 / this, same op, shape, threads and cache; below 1 is slower"},
        [](const Row& r) { return r.verdict.speedup; });
    t.add({"speedup_low", "Speed-up low", "x", Show::Fixed, 2, kNone, "Lower end of its 95 % interval"},
          [](const Row& r) { return r.verdict.speedupCi ? Value(r.verdict.speedupCi->low) : Value(); });
    t.add({"speedup_high", "Speed-up high", "x", Show::Fixed, 2, kNone, "Upper end of its 95 % interval"},
          [](const Row& r) { return r.verdict.speedupCi ? Value(r.verdict.speedupCi->high) : Value(); });
    t.text("speedup_reason", "No speed-up because", "Why there is no speed-up",
           [](const Row& r) { return r.verdict.speedupReason; });
    t.error("nmse", "Kernel NMSE", "Σ(y−r)²/Σr² of the variant against f64 on the same quantized operands",
            [](const Row& r) { return r.check.nmse; });
    t.error("tail_nmse", "Tail NMSE", "The largest NMSE of the small shapes that are checked first",
            [](const Row& r) { return r.check.worstNmse; });
    t.add({"nmse_limit", "NMSE limit", "", Show::Significant, 3, kNone,
           "Largest NMSE that is accepted; larger where sums cancel; 0: the result must be exact"},
          [](const Row& r) { return r.check.nmseLimit; });
    t.error("format_nmse", "Format NMSE",
            "Product with the quantized weights against the product with W, same x, in f64: what the format costs",
            [](const Row& r) { return r.check.formatNmse; });
    t.error("approx_nmse", "Approx. NMSE",
            "Of an approximate variant against the format's own values; its kernel NMSE is by its own rule",
            [](const Row& r) { return r.check.approxNmse; });
    t.integer("checked_outputs", "Checked", "Outputs compared with f64; all are looked at for NaN, Inf and holes",
              [](const Row& r) { return counted(r.check.checkedOutputs); });
    t.integer("outputs", "Outputs", "Numbers in the result", [](const Row& r) { return counted(r.check.outputs); });
    t.integer("checked_shapes", "Tail shapes", "Small awkward shapes that were checked too",
              [](const Row& r) { return counted(r.check.checkedShapes); });
    t.add({"roof_share", "Of the roof", "", Show::Percent, 1, kHigher,
           "Of the nearest measured roof; above 105 % is invalid and shows no speed"},
          [](const Row& r) { return r.verdict.roofShare; });
    t.text("roof", "Roof",
           "read_bw: memory; cache_bw: the nearest cache; f32, bf16, i8: arithmetic; no cache roof: a warm time that "
           "is held against arithmetic alone",
           [](const Row& r) {
               return r.verdict.roofKind + (!r.verdict.withoutCacheRoof  ? ""
                                            : r.verdict.roofKind.empty() ? "no cache roof"
                                                                         : ", no cache roof");
           });
    t.add({"intensity", "Op/byte", "", Show::Significant, 3, kNone, "2 M N K / (weights + scales + x + y, once each)"},
          [](const Row& r) { return r.timing.intensity; });
}

void addPreparation(Adding& t) {
    const auto ms = [&](const char* id, const char* title, const char* tip, auto of) {
        t.add({id, title, "ms", Show::Significant, 3, kLower, tip}, [of](const Row& r) { return r.answer.kernel.*of; });
    };
    const auto bytes = [&](const char* id, const char* title, const char* tip, auto of) {
        t.add({id, title, "", Show::Bytes, 0, kLower, tip}, [of](const Row& r) { return r.answer.kernel.*of; });
    };
    ms("repack_ms", "Repack", "Changing the layout of the weights, once", &KernelInfo::repackMs);
    ms("upload_ms", "Upload", "Moving the weights to the device, once", &KernelInfo::uploadMs);
    ms("compile_ms", "Compile", "Compiling the program, once", &KernelInfo::compileMs);
    bytes("weight_bytes", "Weight bytes", "What one run must read of weights and scales", &KernelInfo::weightBytes);
    bytes("temp_bytes", "Temporary", "Device memory of one run beside its operands", &KernelInfo::tempBytes);
    bytes("peak_bytes", "Peak", "Device memory at its highest", &KernelInfo::peakBytes);
    bytes("code_bytes", "Code", "The compiled program", &KernelInfo::codeBytes);
    t.text("fusion", "Fusion",
           "fused: decoded on the way; materialised: a whole decoded weight in memory; folded: a constant",
           [](const Row& r) { return fusionText(r.answer.kernel.fusion); });
    t.text("approx", "Approximate", "Does not compute the format's own values",
           [](const Row& r) { return r.answer.variant.approx; });
    t.text("baseline", "Baseline", "Only compared with: another library, or no quantization",
           [](const Row& r) { return r.answer.variant.baseline; });
    t.text("experimental", "Experimental", "Not chosen by default",
           [](const Row& r) { return r.answer.variant.experimental; });
    t.text("emulated", "Emulated", "Runs, but the machine has no instructions for this arithmetic",
           [](const Row& r) { return r.answer.emulated; });
    t.text("bias", "Bias", "y[m,n] += bias[n]", [](const Row& r) { return r.question.bias; });
    t.integer("buffer_sets", "Copies", "Copies of the weights that were read in turn", [](const Row& r) {
        return r.timing.samples.empty() ? Value() : Value(std::int64_t(r.timing.bufferSets));
    });
    t.integer("rounds", "Rounds", "Rounds of the run; in each round every variant is timed in its turn",
              [](const Row& r) { return r.timing.roundMedians.size(); });
    t.integer("repeated_rounds", "Repeated",
              "Rounds repeated because a probe of the machine fell below 70 % of its best",
              [](const Row& r) { return r.timing.repeatedRounds; });
    t.text("busy", "Busy machine",
           "Probes of the machine between the rounds mostly ran below 60 % of their best: the times are too long. Or "
           "the rounds are too few, or differ too much, for a speed-up: see the reason",
           [](const Row& r) { return r.timing.busy; });
    t.add({"probe_read_gbps", "Probe, memory", "", Show::Significant, 4, kHigher,
           "Memory read while this was timed, GB/s: median over the rounds"},
          [](const Row& r) { return giga(r.timing.probeRead); });
    t.add({"probe_f32_gflops", "Probe, f32", "", Show::Significant, 4, kHigher,
           "f32 products and sums while this was timed, GFLOP/s: median over the rounds"},
          [](const Row& r) { return giga(r.timing.probeF32); });
    t.text("spec_full", "Full spec", "Every key of the format", [](const Row& r) { return r.question.specFull; });
    t.text("variant_title", "Variant title", "The variant in words",
           [](const Row& r) { return r.answer.variant.title; });
    t.text("variant_note", "Arithmetic", "Products and sums that the variant uses",
           [](const Row& r) { return r.answer.variant.note; });
    t.text("device_name", "Device name", "As the backend names it", [](const Row& r) { return r.answer.deviceName; });
    t.add({"tensor", "Tensor", "", Show::Name, 0, kNone, "Tensor whose values W has; empty: seeded random values"},
          [](const Row& r) { return r.question.tensor; });
    t.text("compute", "Products", "Type that the variant multiplies in",
           [](const Row& r) { return r.answer.variant.compute; });
    t.text("reason", "Reason", "Why the row is not ok; remarks", [](const Row& r) { return r.verdict.reason; });
    t.text("hint", "Hint", "What can be done about it", [](const Row& r) { return r.verdict.hint; });
    t.text("busy_probe", "Busy probe", "The probe of the machine that ran slowest: read_bw or f32",
           [](const Row& r) { return r.timing.busyProbe; });
    t.add({"busy_share", "Busy share", "", Show::Percent, 0, kNone, "How fast it ran, of its best"},
          [](const Row& r) { return r.timing.busyShare; });
    t.text("command", "Command", "Runs this row again", [](const Row& r) { return r.question.command; });
    t.add({"round_medians_ns", "Round medians", "µs", Show::Times, 4, kNone,
           "One for each round, in the order of the rounds"},
          [](const Row& r) {
              std::vector<long long> medians;
              for (const double ns : r.timing.roundMedians)
                  if (std::isfinite(ns)) medians.push_back(std::llround(ns));
              return medians.empty() ? Value() : Value(fmt::format("[{}]", fmt::join(medians, ", ")));
          });
    t.add({"samples", "Raw samples", "µs", Show::Times, 4, kNone, "Every timed run, in the order of measuring"},
          [](const Row& r) {
              return r.timing.samples.empty() ? Value() : Value(fmt::format("[{}]", fmt::join(r.timing.samples, ", ")));
          });
}

} // namespace

std::string shellWord(std::string_view text) {
    constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,+@%^";
    if (!text.empty() && text.find_first_not_of(plain) == std::string_view::npos) return std::string(text);
    std::string out = "'";
    for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return out + "'";
}

std::string busyProbeText(const BenchmarkRow::Timing& timing) {
    if (!timing.busy || !timing.busyShare) return {};
    return fmt::format("{} ran at {:.0f} % of its best",
                       timing.busyProbe == "read_bw" ? "reading memory" : "f32 arithmetic", 100 * *timing.busyShare);
}

std::vector<std::string> rowParts(const BenchmarkRow& r) {
    const auto& q = r.question;
    std::vector<std::string> parts = {q.backend, q.device, q.spec, q.op, "act=" + q.act};
    if (q.bias) parts.emplace_back("bias");
    for (auto& part :
         {fmt::format("{}x{}x{}", q.m, q.n, q.k), std::string(cacheText(q.cache)), fmt::format("threads={}", q.threads),
          r.answer.variant.id.empty() ? std::string("-") : r.answer.variant.id})
        parts.push_back(part);
    return parts;
}

std::string rowKey(const BenchmarkRow& r) {
    const auto parts = rowParts(r);
    return fmt::format("{}/{}", parts[0], fmt::join(parts.begin() + 1, parts.end(), " "));
}

const Columns<BenchmarkRow>& benchmarkColumns() {
    static const Columns<BenchmarkRow> columns = [] {
        Columns<BenchmarkRow> out;
        Adding adding(out);
        addNames(adding), addFigures(adding), addPreparation(adding);
        return out;
    }();
    return columns;
}

const Columns<MeasuredRoof>& roofColumns() {
    using R = MeasuredRoof;
    static const Columns<R> columns = {
        columnOf<R>({"backend", "Backend", "", Show::Text, 0, kNone, "Id of the backend"}, &R::backend),
        columnOf<R>({"device", "Device", "", Show::Text, 0, kNone, "Id of the device"}, &R::device),
        columnOf<R>(
            {"kind", "Roof", "", Show::Text, 0, kNone, "read_bw: memory read; f32, bf16, i8: products and sums"},
            &R::kind),
        columnOf<R>({"per_second", "Giga a second", "", Show::Significant, 4, kHigher,
                     "10^9 bytes or operations a second, the best seen in the run"},
                    [](const R& r) { return r.perSecond > 0 ? Value(r.perSecond / 1e9) : Value(); }),
        columnOf<R>({"samples", "Samples", "", Show::Integer, 0, kNone, "How often it was measured"}, &R::samples),
        columnOf<R>({"reason", "Reason", "", Show::Text, 0, kNone, "Why there is none"}, &R::reason),
    };
    return columns;
}

} // namespace qs
