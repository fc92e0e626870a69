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
auto figureOf(std::optional<double> Row::*field) {
    return [field](const Row& r) { return figure(r.*field); };
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
    text("backend", "Backend", "Id of the backend", [](const Row& r) { return r.backend; });
    text("device", "Device", "Id of the device", [](const Row& r) { return r.device; });
    text("spec", "Spec", "Format of the weights, as typed", [](const Row& r) { return r.spec; });
    size("m", "M", "Rows of x; 1 for dequantize and quantize", [](const Row& r) { return r.m; });
    size("n", "N", "Columns of the result", [](const Row& r) { return r.n; });
    size("k", "K", "Length of the sums", [](const Row& r) { return r.k; });
    text("variant", "Variant", "The backend's own name for the way it computes",
         [](const Row& r) { return r.variant; });
    text("cache", "Cache", "cold: weights come from memory, copies in turn; warm: one copy, not memory bandwidth",
         [](const Row& r) { return cacheText(r.cache); });
    size("threads", "Threads", "Threads asked for", [](const Row& r) { return r.threads; });
    text("clock", "Clock", "host, or the device's own events", [](const Row& r) { return clockText(r.clock); });
    text("op", "Op", "The operation", [](const Row& r) { return r.op; });
    text("act", "Activations", "Type of x; int8: quantized per row during the run", [](const Row& r) { return r.act; });
}

void addFigures(Columns<Row>& columns) {
    const auto add = [&](ColumnInfo info, auto get) { columns.push_back({std::move(info), get}); };
    add({"status", "Status", "", Show::Text, 0, kNone, "ok, declined, wrong, invalid, unavailable, crashed, hung, ..."},
        [](const Row& r) -> Value { return std::string(rowStateText(r.status)); });
    add({"prepare_ns", "Prepare", "µs", Show::Time, 4, kLower, "Whole prepare call: repack, upload, compile; once"},
        figureOf(&Row::prepareNs));
    add({"median_ns", "Median", "µs", Show::Time, 4, kLower, "Median time of one run; no outlier is dropped"},
        figureOf(&Row::medianNs));
    add({"ci_ns", "95 % CI", "µs", Show::Times, 4, kNone,
         "Of the median, by ranks (n ± 1.96 √n) / 2; none below 20 samples"},
        [](const Row& r) { return list(r.ciNs); });
    add({"min_ns", "Min", "µs", Show::Time, 4, kLower, "Fastest run"}, figureOf(&Row::minNs));
    add({"p95_ns", "p95", "µs", Show::Time, 4, kLower, "95 % of the runs took at most that long"},
        figureOf(&Row::p95Ns));
    add({"sample_count", "Samples", "", Show::Integer, 0, kNone, "Timed runs that were kept: all"},
        [](const Row& r) -> Value { return std::int64_t(r.samples.size()); });
    add({"gflops", "GFLOP/s", "", Show::Significant, 4, kHigher, "2 M N K / median"}, figureOf(&Row::gflops));
    add({"weight_gbps", "Weight GB/s", "", Show::Significant, 4, kHigher,
         "Packed weights and scales / median (10^9 bytes); f32 bytes for dequantize and quantize"},
        figureOf(&Row::weightGbps));
    add({"speedup_vs_f32", "Speed-up", "x", Show::Fixed, 2, kHigher,
         "Median over rounds of the time of openblas f32 / this, same op, shape, threads and cache; below 1 is slower"},
        figureOf(&Row::speedup));
    add({"speedup_low", "Speed-up low", "x", Show::Fixed, 2, kNone, "Lower end of its 95 % interval"},
        [](const Row& r) { return r.speedupCi ? Value(r.speedupCi->low) : Value(); });
    add({"speedup_high", "Speed-up high", "x", Show::Fixed, 2, kNone, "Upper end of its 95 % interval"},
        [](const Row& r) { return r.speedupCi ? Value(r.speedupCi->high) : Value(); });
    add({"speedup_reason", "No speed-up because", "", Show::Text, 0, kNone, "Why there is no speed-up"},
        [](const Row& r) -> Value { return r.speedupReason; });
    add({"nmse", "Kernel NMSE", "", Show::Scientific, 3, kLower,
         "Σ(y−r)²/Σr² of the variant against f64 on the same quantized operands"},
        figureOf(&Row::nmse));
    add({"tail_nmse", "Tail NMSE", "", Show::Scientific, 3, kLower, "The largest over the small shapes of the gate"},
        figureOf(&Row::worstNmse));
    add({"nmse_limit", "NMSE limit", "", Show::Significant, 3, kNone,
         "What the gate accepts, more where the sums cancel; 0: exact"},
        figureOf(&Row::nmseLimit));
    add({"format_nmse", "Format NMSE", "", Show::Scientific, 3, kLower,
         "Product with the quantized weights against the product with W, same x, in f64: what the format costs"},
        figureOf(&Row::formatNmse));
    add({"approx_nmse", "Approx. NMSE", "", Show::Scientific, 3, kLower,
         "Of an approximate variant against the format's own values; its kernel NMSE is by its own rule"},
        figureOf(&Row::approxNmse));
    add({"checked_outputs", "Checked", "", Show::Integer, 0, kNone,
         "Outputs compared with f64; all are looked at for NaN, Inf and holes"},
        [](const Row& r) -> Value { return r.checkedOutputs ? Value(std::int64_t(r.checkedOutputs)) : Value(); });
    add({"outputs", "Outputs", "", Show::Integer, 0, kNone, "Numbers in the result"},
        [](const Row& r) -> Value { return r.outputs ? Value(std::int64_t(r.outputs)) : Value(); });
    add({"checked_shapes", "Tail shapes", "", Show::Integer, 0, kNone, "Small awkward shapes that were checked too"},
        [](const Row& r) -> Value { return r.checkedShapes ? Value(std::int64_t(r.checkedShapes)) : Value(); });
    add({"roof_share", "Of the roof", "", Show::Percent, 1, kHigher,
         "Of the nearest measured roof; above 105 % is invalid and shows no speed"},
        figureOf(&Row::roofShare));
    add({"roof", "Roof", "", Show::Text, 0, kNone,
         "read_bw: memory; cache_bw: the nearest cache; f32, bf16, i8: arithmetic; no cache roof: a warm time that is "
         "held against arithmetic alone"},
        [](const Row& r) -> Value {
            return r.roofKind + (!r.withoutCacheRoof ? "" : r.roofKind.empty() ? "no cache roof" : ", no cache roof");
        });
    add({"intensity", "Op/byte", "", Show::Significant, 3, kNone, "2 M N K / (weights + scales + x + y, once each)"},
        figureOf(&Row::intensity));
}

void addPreparation(Columns<Row>& columns) {
    const auto add = [&](ColumnInfo info, auto get) { columns.push_back({std::move(info), get}); };
    const auto ms = [&](const char* id, const char* title, const char* tip, std::optional<double> Row::*field) {
        add({id, title, "ms", Show::Significant, 3, kLower, tip}, figureOf(field));
    };
    const auto bytes = [&](const char* id, const char* title, const char* tip,
                           std::optional<std::int64_t> Row::*field) {
        add({id, title, "", Show::Bytes, 0, kLower, tip}, [field](const Row& r) { return count(r.*field); });
    };
    const auto flag = [&](const char* id, const char* title, const char* tip, bool Row::*field) {
        add({id, title, "", Show::Text, 0, kNone, tip}, [field](const Row& r) -> Value { return r.*field; });
    };
    ms("repack_ms", "Repack", "Changing the layout of the weights, once", &Row::repackMs);
    ms("upload_ms", "Upload", "Moving the weights to the device, once", &Row::uploadMs);
    ms("compile_ms", "Compile", "Compiling the program, once", &Row::compileMs);
    bytes("weight_bytes", "Weight bytes", "What one run must read of weights and scales", &Row::weightBytes);
    bytes("temp_bytes", "Temporary", "Device memory of one run beside its operands", &Row::tempBytes);
    bytes("peak_bytes", "Peak", "Device memory at its highest", &Row::peakBytes);
    bytes("code_bytes", "Code", "The compiled program", &Row::codeBytes);
    add({"fusion", "Fusion", "", Show::Text, 0, kNone,
         "fused: decoded on the way; materialised: a whole decoded weight in memory; folded: a constant"},
        [](const Row& r) -> Value { return std::string(fusionText(r.fusion)); });
    flag("approx", "Approximate", "Does not compute the format's own values", &Row::approx);
    flag("baseline", "Baseline", "A yardstick: another library, or no quantization", &Row::baseline);
    flag("experimental", "Experimental", "Not chosen by default", &Row::experimental);
    flag("emulated", "Emulated", "Runs, but not in the machine's own arithmetic for it", &Row::emulated);
    flag("bias", "Bias", "y[m,n] += bias[n]", &Row::bias);
    add({"buffer_sets", "Copies", "", Show::Integer, 0, kNone, "Copies of the weights that were read in turn"},
        [](const Row& r) -> Value { return r.samples.empty() ? Value() : Value(std::int64_t(r.bufferSets)); });
    add({"rounds", "Rounds", "", Show::Integer, 0, kNone, "Turns between the variants"},
        [](const Row& r) -> Value { return std::int64_t(r.roundMedians.size()); });
    add({"repeated_rounds", "Repeated", "", Show::Integer, 0, kNone,
         "Rounds repeated because a probe of the machine fell below 70 % of its best"},
        [](const Row& r) -> Value { return std::int64_t(r.repeatedRounds); });
    flag("busy", "Busy machine",
         "Probes of the machine between the rounds mostly ran below 60 % of their best: the times are too long",
         &Row::busy);
    const auto giga = [&](const char* id, const char* title, const char* tip, std::optional<double> Row::*field) {
        add({id, title, "", Show::Significant, 4, kHigher, tip},
            [field](const Row& r) { return r.*field ? Value(*(r.*field) / 1e9) : Value(); });
    };
    giga("probe_read_gbps", "Probe, memory", "Memory read while this was timed, GB/s: median over the rounds",
         &Row::probeRead);
    giga("probe_f32_gflops", "Probe, f32",
         "f32 products and sums while this was timed, GFLOP/s: median over the rounds", &Row::probeF32);
    const auto text = [&](const char* id, const char* title, const char* tip, std::string Row::*field) {
        add({id, title, "", Show::Text, 0, kNone, tip}, [field](const Row& r) -> Value { return r.*field; });
    };
    text("spec_full", "Full spec", "Every key of the format", &Row::specFull);
    text("variant_title", "Variant title", "In words", &Row::variantTitle);
    text("variant_note", "Arithmetic", "Products and sums that the variant uses", &Row::variantNote);
    text("device_name", "Device name", "As the backend names it", &Row::deviceName);
    add({"tensor", "Tensor", "", Show::Name, 0, kNone, "Whose values W has; empty: seeded random values"},
        [](const Row& r) -> Value { return r.tensor; });
    text("reason", "Reason", "Why the row is not ok, and remarks", &Row::reason);
    text("command", "Command", "Runs this row again", &Row::command);
    add({"round_medians_ns", "Round medians", "µs", Show::Times, 4, kNone, "One a round, in the order of the rounds"},
        [](const Row& r) -> Value {
            std::vector<long long> medians;
            for (const double ns : r.roundMedians)
                if (std::isfinite(ns)) medians.push_back(std::llround(ns));
            return medians.empty() ? Value() : Value(fmt::format("[{}]", fmt::join(medians, ", ")));
        });
    add({"samples", "Raw samples", "µs", Show::Times, 4, kNone, "Every timed run, in the order taken"},
        [](const Row& r) -> Value {
            if (r.samples.empty()) return {};
            return fmt::format("[{}]", fmt::join(r.samples, ", "));
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

std::string rowKey(const BenchmarkRow& r) {
    return fmt::format("{}/{} {} {} act={}{} {}x{}x{} {} threads={} {}", r.backend, r.device, r.spec, r.op, r.act,
                       r.bias ? " bias" : "", r.m, r.n, r.k, cacheText(r.cache), r.threads,
                       r.variant.empty() ? "-" : r.variant);
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

const std::vector<std::string_view>& benchmarkTableIds() {
    static const std::vector<std::string_view> ids = {
        "backend",    "device",      "spec",       "op",     "act",       "m",           "n",
        "k",          "cache",       "variant",    "status", "median_ns", "ci_ns",       "speedup_vs_f32",
        "gflops",     "weight_gbps", "roof_share", "roof",   "nmse",      "approx_nmse", "format_nmse",
        "prepare_ns", "reason"};
    return ids;
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
