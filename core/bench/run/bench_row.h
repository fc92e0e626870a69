// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The row of one measured, declined, wrong or failed variant.

#include "core/base/column.h"
#include "core/bench/run/bench_plan.h"
#include "core/bench/run/statistics.h"

namespace qs {

/// A roof: a limit of the machine, measured in the same run on the same device with the same threads.
struct MeasuredRoof {
    std::string backend, device;
    std::string kind;     ///< "read_bw" "f32" "bf16" "i8"
    double perSecond = 0; ///< bytes or operations per second, the best of the run; 0 with a reason if not measured
    std::size_t samples = 0;
    std::string reason; ///< why there is no value
};

struct BenchmarkRow {
    /// What was asked.
    struct Question {
        std::string backend, device, spec, specFull, op, act;
        std::int64_t m = 0, n = 0, k = 0; ///< m is 1 for dequantize and quantize
        CacheState cache = CacheState::Cold;
        bool bias = false;
        unsigned threads = 0;
        std::string tensor;  ///< tensor of the model, if W has its values
        std::string command; ///< measures this row again
    } question;

    /// The variant that answered, and how it prepares.
    struct Answer {
        std::string deviceName, deviceArch;
        Variant variant; ///< without id if no variant answered
        bool emulated = false;
        KernelInfo kernel;                                          ///< of the preparation
        std::vector<std::pair<std::string, std::string>> artifacts; ///< kind, text; see BenchmarkPlan::artifacts
    } answer;

    /// Correctness. The error of the kernel and that of the format are separate.
    struct Check {
        /// NMSE of the variant against an f64 evaluation of its own rule, with the same quantized operands and this
        /// shape.
        std::optional<double> nmse;
        std::optional<double> worstNmse; ///< the largest of the tail shapes
        std::optional<double> nmseLimit; ///< the largest NMSE that passes; 0: exact
        /// NMSE of the product with quantized weights against the product with W, for the same x, in f64.
        std::optional<double> formatNmse;
        std::optional<double> approxNmse; ///< of an approximate variant against the format's own values, in f64
        /// how many were compared with f64, and their number (all are checked for NaN and Inf)
        std::uint64_t checkedOutputs = 0, outputs = 0;
        std::uint64_t checkedShapes = 0; ///< number of tail shapes that were run
    } check;

    /// Times of one run of the kernel.
    struct Timing {
        int clock = 0;                      ///< QS_CLOCK_*
        std::vector<std::uint64_t> samples; ///< raw, nanoseconds, in the order of measuring
        std::vector<double> roundMedians;   ///< nanoseconds, one entry per round
        std::optional<double> medianNs, minNs, p95Ns;
        std::optional<Interval> ciNs;
        std::optional<double> gflops; ///< 2 M N K / median; none for dequantize and quantize
        /// packed weights and scales / median; f32 bytes for dequantize and quantize
        std::optional<double> weightGbps;
        std::optional<double> intensity; ///< operations per byte of the least traffic
        /// cold, but the memory limit allows too few copies: caches may hold them
        bool inCaches = false;
        std::uint32_t bufferSets = 1, iterations = 0, chain = 1; ///< per round
        std::optional<double> probeRead,
            probeF32;                   ///< of the host, medians over these rounds: bytes, operations per second
        std::size_t repeatedRounds = 0; ///< because a probe fell below 70 % of its best
        /// Something else ran on the machine, or the rounds are too few or differ too much for a speed-up.
        bool busy = false;
        std::string busyProbe;           ///< the slowest probe: "read_bw" or "f32"; empty: no probe was slow
        std::optional<double> busyShare; ///< its share of its best, 0 to 1
    } timing;

    /// Conclusions from the other parts.
    struct Verdict {
        RowState status = RowState::Failed;
        std::string reason;            ///< why not ok; remarks if ok
        std::string hint;              ///< what the user can do, or empty
        std::optional<double> speedup; ///< median of the ratios to openblas f32, one per round
        std::optional<Interval> speedupCi;
        std::string speedupReason;       ///< why there is no speed-up
        std::optional<double> roofShare; ///< of the nearest measured roof; above 1.05 is invalid
        std::string roofKind;            ///< the nearest roof
        /// read from caches, but no cache was measured: compared with arithmetic only
        bool withoutCacheRoof = false;
    } verdict;
};
/// A word in the form that a POSIX shell passes on unchanged: quoted if needed. Commands are made of such words.
std::string shellWord(std::string_view text);
/// "reading memory ran at 34 % of its best"; "" if no probe was slow.
std::string busyProbeText(const BenchmarkRow::Timing& timing);
/// Appends to the reason.
void remark(BenchmarkRow& row, const std::string& text);
/// "cpu/cpu:0 nf4:block=64 matmul_t act=f32 1x4096x4096 cold nf4_gemv_f32": identifies a row in another run.
std::string rowKey(const BenchmarkRow& row);
/// The parts of the name: backend, device, spec, operation, ...
std::vector<std::string> rowParts(const BenchmarkRow& row);

/// Every figure, with the keys of the JSON. `samples` is last: a list of all raw samples.
const Columns<BenchmarkRow>& benchmarkColumns();
const Columns<MeasuredRoof>& roofColumns();

} // namespace qs
