// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/bench/run/bench_row.h"

#include <cmath>
#include <fmt/format.h>

namespace qs {
namespace {

Value figure(const std::optional<double>& value) { return value && std::isfinite(*value) ? Value(*value) : Value(); }
Value count(const std::optional<std::int64_t>& value) { return value ? Value(*value) : Value(); }
Value list(const std::optional<Interval>& ci) {
    return ci ? Value(fmt::format("[{}, {}]", std::llround(ci->low), std::llround(ci->high))) : Value();
}

const char* clockText(int clock) { return clock == 1 ? "host" : clock == 2 ? "device" : ""; }
const char* fusionText(int fusion) {
    static constexpr const char* names[] = {"", "fused", "materialised", "folded"};
    return fusion >= 0 && fusion < 4 ? names[fusion] : "";
}

using Row = BenchmarkRow;
/// `of` selects a field of a row.
template<class Of> auto figureOf(Of of) {
    return [of](const Row& r) { return figure(of(r)); };
}
constexpr auto kNone = Direction::None;
constexpr auto kLower = Direction::LowerIsBetter;
constexpr auto kHigher = Direction::HigherIsBetter;

void addNames(Columns<Row>& columns) {
    const auto text = [&](const char* id, const char* title, const char* tip, auto get) {
        columns.push_back(
            {{id, title, "", Show::Text, 0, kNone, tip}, [get](const Row& r) -> Value { return std::string(get(r)); }});
    };
    const auto size = [&](const char* id, const char* title, const char* tip, auto get) {
        columns.push_back({{id, title, "", Show::Integer, 0, kNone, tip},
                           [get](const Row& r) -> Value { return std::int64_t(get(r)); }});
    };
    text("backend", "Backend", "Id of the backend", [](const Row& r) { return r.question.backend; });
    text("device", "Device", "Id of the device", [](const Row& r) { return r.question.device; });
    text("spec", "Spec", "Format of the weights, as typed", [](const Row& r) { return r.question.spec; });
    size("m", "M", "Rows of x; 1 for dequantize and quantize", [](const Row& r) { return r.question.m; });
    size("n", "N", "Columns of the result", [](const Row& r) { return r.question.n; });
    size("k", "K", "Length of the sums", [](const Row& r) { return r.question.k; });
    text("variant", "Variant", "The backend's own name for the way it computes",
         [](const Row& r) { return r.answer.variant.id; });
    text("cache", "Cache", "cold: weights come from memory, copies in turn; warm: one copy, not memory bandwidth",
         [](const Row& r) { return cacheText(r.question.cache); });
    size("threads", "Threads", "Threads asked for", [](const Row& r) { return r.question.threads; });
    text("clock", "Clock", "host, or the device's own events", [](const Row& r) { return clockText(r.timing.clock); });
    text("op", "Op", "The operation", [](const Row& r) { return r.question.op; });
    text("act", "Activations", "Type of x; int8: quantized per row during the run",
         [](const Row& r) { return r.question.act; });
}

void addFigures(Columns<Row>& columns) {
    const auto add = [&](ColumnInfo info, auto get) { columns.push_back({std::move(info), get}); };
    add({"status", "Status", "", Show::Text, 0, kNone, "ok, declined, wrong, invalid, unavailable, crashed, hung, ..."},
        [](const Row& r) -> Value { return std::string(rowStateText(r.verdict.status)); });
    add({"prepare_ns", "Prepare", "µs", Show::Time, 4, kLower, "Whole prepare call: repack, upload, compile; once"},
        figureOf([](const Row& r) -> const auto& { return r.answer.kernel.prepareNs; }));
    add({"median_ns", "Median", "µs", Show::Time, 4, kLower, "Median time of one run; no outlier is dropped"},
        figureOf([](const Row& r) -> const auto& { return r.timing.medianNs; }));
    add({"ci_ns", "95 % CI", "µs", Show::Times, 4, kNone,
         "Of the median, by ranks (n ± 1.96 √n) / 2; none below 20 samples"},
        [](const Row& r) { return list(r.timing.ciNs); });
    add({"min_ns", "Min", "µs", Show::Time, 4, kLower, "Fastest run"},
        figureOf([](const Row& r) -> const auto& { return r.timing.minNs; }));
    add({"p95_ns", "p95", "µs", Show::Time, 4, kLower, "95 % of the runs took at most that long"},
        figureOf([](const Row& r) -> const auto& { return r.timing.p95Ns; }));
    add({"sample_count", "Samples", "", Show::Integer, 0, kNone, "Timed runs that were kept: all"},
        [](const Row& r) -> Value { return std::int64_t(r.timing.samples.size()); });
    add({"gflops", "GFLOP/s", "", Show::Significant, 4, kHigher, "2 M N K / median"},
        figureOf([](const Row& r) -> const auto& { return r.timing.gflops; }));
    add({"weight_gbps", "Weight GB/s", "", Show::Significant, 4, kHigher,
         "Packed weights and scales / median (10^9 bytes); f32 bytes for dequantize and quantize"},
        figureOf([](const Row& r) -> const auto& { return r.timing.weightGbps; }));
    add({"speedup_vs_f32", "Speed-up", "x", Show::Fixed, 2, kHigher,
         "Median over rounds of the time of openblas f32 / this, same op, shape, threads and cache; below 1 is slower"},
        figureOf([](const Row& r) -> const auto& { return r.verdict.speedup; }));
    add({"speedup_low", "Speed-up low", "x", Show::Fixed, 2, kNone, "Lower end of its 95 % interval"},
        [](const Row& r) { return r.verdict.speedupCi ? Value(r.verdict.speedupCi->low) : Value(); });
    add({"speedup_high", "Speed-up high", "x", Show::Fixed, 2, kNone, "Upper end of its 95 % interval"},
        [](const Row& r) { return r.verdict.speedupCi ? Value(r.verdict.speedupCi->high) : Value(); });
    add({"speedup_reason", "No speed-up because", "", Show::Text, 0, kNone, "Why there is no speed-up"},
        [](const Row& r) -> Value { return r.verdict.speedupReason; });
    add({"nmse", "Kernel NMSE", "", Show::Scientific, 3, kLower,
         "Σ(y−r)²/Σr² of the variant against f64 on the same quantized operands"},
        figureOf([](const Row& r) -> const auto& { return r.check.nmse; }));
    add({"tail_nmse", "Tail NMSE", "", Show::Scientific, 3, kLower, "The largest over the small shapes of the gate"},
        figureOf([](const Row& r) -> const auto& { return r.check.worstNmse; }));
    add({"nmse_limit", "NMSE limit", "", Show::Significant, 3, kNone,
         "What the gate accepts, more where the sums cancel; 0: exact"},
        figureOf([](const Row& r) -> const auto& { return r.check.nmseLimit; }));
    add({"format_nmse", "Format NMSE", "", Show::Scientific, 3, kLower,
         "Product with the quantized weights against the product with W, same x, in f64: what the format costs"},
        figureOf([](const Row& r) -> const auto& { return r.check.formatNmse; }));
    add({"approx_nmse", "Approx. NMSE", "", Show::Scientific, 3, kLower,
         "Of an approximate variant against the format's own values; its kernel NMSE is by its own rule"},
        figureOf([](const Row& r) -> const auto& { return r.check.approxNmse; }));
    add({"checked_outputs", "Checked", "", Show::Integer, 0, kNone,
         "Outputs compared with f64; all are looked at for NaN, Inf and holes"},
        [](const Row& r) -> Value {
            return r.check.checkedOutputs ? Value(std::int64_t(r.check.checkedOutputs)) : Value();
        });
    add({"outputs", "Outputs", "", Show::Integer, 0, kNone, "Numbers in the result"},
        [](const Row& r) -> Value { return r.check.outputs ? Value(std::int64_t(r.check.outputs)) : Value(); });
    add({"checked_shapes", "Tail shapes", "", Show::Integer, 0, kNone, "Small awkward shapes that were checked too"},
        [](const Row& r) -> Value {
            return r.check.checkedShapes ? Value(std::int64_t(r.check.checkedShapes)) : Value();
        });
    add({"roof_share", "Of the roof", "", Show::Percent, 1, kHigher,
         "Of the nearest measured roof; above 105 % is invalid and shows no speed"},
        figureOf([](const Row& r) -> const auto& { return r.verdict.roofShare; }));
    add({"roof", "Roof", "", Show::Text, 0, kNone,
         "read_bw: memory; cache_bw: the nearest cache; f32, bf16, i8: arithmetic; no cache roof: a warm time that is "
         "held against arithmetic alone"},
        [](const Row& r) -> Value {
            return r.verdict.roofKind + (!r.verdict.withoutCacheRoof  ? ""
                                         : r.verdict.roofKind.empty() ? "no cache roof"
                                                                      : ", no cache roof");
        });
    add({"intensity", "Op/byte", "", Show::Significant, 3, kNone, "2 M N K / (weights + scales + x + y, once each)"},
        figureOf([](const Row& r) -> const auto& { return r.timing.intensity; }));
}

void addPreparation(Columns<Row>& columns) {
    const auto add = [&](ColumnInfo info, auto get) { columns.push_back({std::move(info), get}); };
    const auto ms = [&](const char* id, const char* title, const char* tip, auto of) {
        add({id, title, "ms", Show::Significant, 3, kLower, tip}, figureOf(of));
    };
    const auto bytes = [&](const char* id, const char* title, const char* tip, auto of) {
        add({id, title, "", Show::Bytes, 0, kLower, tip}, [of](const Row& r) { return count(of(r)); });
    };
    const auto flag = [&](const char* id, const char* title, const char* tip, auto of) {
        add({id, title, "", Show::Text, 0, kNone, tip}, [of](const Row& r) -> Value { return of(r); });
    };
    ms(
        "repack_ms", "Repack", "Changing the layout of the weights, once",
        [](const Row& r) -> const auto& { return r.answer.kernel.repackMs; });
    ms(
        "upload_ms", "Upload", "Moving the weights to the device, once",
        [](const Row& r) -> const auto& { return r.answer.kernel.uploadMs; });
    ms(
        "compile_ms", "Compile", "Compiling the program, once",
        [](const Row& r) -> const auto& { return r.answer.kernel.compileMs; });
    bytes(
        "weight_bytes", "Weight bytes", "What one run must read of weights and scales",
        [](const Row& r) -> const auto& { return r.answer.kernel.weightBytes; });
    bytes(
        "temp_bytes", "Temporary", "Device memory of one run beside its operands",
        [](const Row& r) -> const auto& { return r.answer.kernel.tempBytes; });
    bytes(
        "peak_bytes", "Peak", "Device memory at its highest",
        [](const Row& r) -> const auto& { return r.answer.kernel.peakBytes; });
    bytes(
        "code_bytes", "Code", "The compiled program",
        [](const Row& r) -> const auto& { return r.answer.kernel.codeBytes; });
    add({"fusion", "Fusion", "", Show::Text, 0, kNone,
         "fused: decoded on the way; materialised: a whole decoded weight in memory; folded: a constant"},
        [](const Row& r) -> Value { return std::string(fusionText(r.answer.kernel.fusion)); });
    flag(
        "approx", "Approximate", "Does not compute the format's own values",
        [](const Row& r) -> const auto& { return r.answer.variant.approx; });
    flag(
        "baseline", "Baseline", "To compare with: another library, or no quantization",
        [](const Row& r) -> const auto& { return r.answer.variant.baseline; });
    flag(
        "experimental", "Experimental", "Not chosen by default",
        [](const Row& r) -> const auto& { return r.answer.variant.experimental; });
    flag(
        "emulated", "Emulated", "Runs, but not in the machine's own arithmetic for it",
        [](const Row& r) -> const auto& { return r.answer.emulated; });
    flag(
        "bias", "Bias", "y[m,n] += bias[n]", [](const Row& r) -> const auto& { return r.question.bias; });
    add({"buffer_sets", "Copies", "", Show::Integer, 0, kNone, "Copies of the weights that were read in turn"},
        [](const Row& r) -> Value {
            return r.timing.samples.empty() ? Value() : Value(std::int64_t(r.timing.bufferSets));
        });
    add({"rounds", "Rounds", "", Show::Integer, 0, kNone, "Turns between the variants"},
        [](const Row& r) -> Value { return std::int64_t(r.timing.roundMedians.size()); });
    add({"repeated_rounds", "Repeated", "", Show::Integer, 0, kNone,
         "Rounds repeated because a probe of the machine fell below 70 % of its best"},
        [](const Row& r) -> Value { return std::int64_t(r.timing.repeatedRounds); });
    flag(
        "busy", "Busy machine",
        "Probes of the machine between the rounds mostly ran below 60 % of their best: the times are too long",
        [](const Row& r) -> const auto& { return r.timing.busy; });
    const auto giga = [&](const char* id, const char* title, const char* tip, auto of) {
        add({id, title, "", Show::Significant, 4, kHigher, tip},
            [of](const Row& r) { return of(r) ? Value(*of(r) / 1e9) : Value(); });
    };
    giga(
        "probe_read_gbps", "Probe, memory", "Memory read while this was timed, GB/s: median over the rounds",
        [](const Row& r) -> const auto& { return r.timing.probeRead; });
    giga(
        "probe_f32_gflops", "Probe, f32", "f32 products and sums while this was timed, GFLOP/s: median over the rounds",
        [](const Row& r) -> const auto& { return r.timing.probeF32; });
    const auto text = [&](const char* id, const char* title, const char* tip, auto of) {
        add({id, title, "", Show::Text, 0, kNone, tip}, [of](const Row& r) -> Value { return of(r); });
    };
    text(
        "spec_full", "Full spec", "Every key of the format",
        [](const Row& r) -> const auto& { return r.question.specFull; });
    text(
        "variant_title", "Variant title", "In words",
        [](const Row& r) -> const auto& { return r.answer.variant.title; });
    text(
        "variant_note", "Arithmetic", "Products and sums that the variant uses",
        [](const Row& r) -> const auto& { return r.answer.variant.note; });
    text(
        "device_name", "Device name", "As the backend names it",
        [](const Row& r) -> const auto& { return r.answer.deviceName; });
    add({"tensor", "Tensor", "", Show::Name, 0, kNone, "Whose values W has; empty: seeded random values"},
        [](const Row& r) -> Value { return r.question.tensor; });
    text(
        "compute", "Products", "Type that the variant multiplies in",
        [](const Row& r) -> const auto& { return r.answer.variant.compute; });
    text(
        "reason", "Reason", "Why the row is not ok, and remarks",
        [](const Row& r) -> const auto& { return r.verdict.reason; });
    text(
        "hint", "Hint", "What can be done about it", [](const Row& r) -> const auto& { return r.verdict.hint; });
    text(
        "busy_probe", "Busy probe", "The probe of the machine that ran slowest: read_bw or f32",
        [](const Row& r) -> const auto& { return r.timing.busyProbe; });
    add({"busy_share", "Busy share", "", Show::Percent, 0, kNone, "How fast it ran, of its best"},
        figureOf([](const Row& r) -> const auto& { return r.timing.busyShare; }));
    text(
        "command", "Command", "Runs this row again", [](const Row& r) -> const auto& { return r.question.command; });
    add({"round_medians_ns", "Round medians", "µs", Show::Times, 4, kNone, "One a round, in the order of the rounds"},
        [](const Row& r) -> Value {
            std::vector<long long> medians;
            for (const double ns : r.timing.roundMedians)
                if (std::isfinite(ns)) medians.push_back(std::llround(ns));
            return medians.empty() ? Value() : Value(fmt::format("[{}]", fmt::join(medians, ", ")));
        });
    add({"samples", "Raw samples", "µs", Show::Times, 4, kNone, "Every timed run, in the order taken"},
        [](const Row& r) -> Value {
            if (r.timing.samples.empty()) return {};
            return fmt::format("[{}]", fmt::join(r.timing.samples, ", "));
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
        addNames(out);
        addFigures(out);
        addPreparation(out);
        return out;
    }();
    return columns;
}

const Columns<MeasuredRoof>& roofColumns() {
    using R = MeasuredRoof;
    static const Columns<R> columns = {
        {{"backend", "Backend", "", Show::Text, 0, kNone, "Id of the backend"},
         [](const R& r) -> Value { return r.backend; }},
        {{"device", "Device", "", Show::Text, 0, kNone, "Id of the device"},
         [](const R& r) -> Value { return r.device; }},
        {{"kind", "Roof", "", Show::Text, 0, kNone, "read_bw: memory read; f32, bf16, i8: products and sums"},
         [](const R& r) -> Value { return r.kind; }},
        {{"per_second", "Giga a second", "", Show::Significant, 4, kHigher,
          "10^9 bytes or operations a second, the best seen in the run"},
         [](const R& r) -> Value { return r.perSecond > 0 ? Value(r.perSecond / 1e9) : Value(); }},
        {{"samples", "Samples", "", Show::Integer, 0, kNone, "How often it was measured"},
         [](const R& r) -> Value { return std::int64_t(r.samples); }},
        {{"reason", "Reason", "", Show::Text, 0, kNone, "Why there is none"},
         [](const R& r) -> Value { return r.reason; }},
    };
    return columns;
}

} // namespace qs
