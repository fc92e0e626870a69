// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// One measured, declined, wrong or failed variant.

#include "core/base/column.h"
#include "core/bench/run/bench_plan.h"
#include "core/bench/run/statistics.h"

namespace qs {

/// A roof: a limit of the machine, measured in the same run on the same device with the same threads.
struct MeasuredRoof {
    std::string backend, device;
    std::string kind;     ///< "read_bw" "f32" "bf16" "i8"
    double perSecond = 0; ///< bytes or operations a second, best seen in the run; 0 with a reason when not measured
    std::size_t samples = 0;
    std::string reason; ///< why there is none
};

struct BenchmarkRow {
    /// What was asked.
    struct Question {
        std::string backend, device, spec, specFull, op, act;
        std::int64_t m = 0, n = 0, k = 0; ///< m is 1 for dequantize and quantize
        CacheState cache = CacheState::Cold;
        bool bias = false;
        unsigned threads = 0;
        std::string tensor;  ///< of the model, when W has its values
        std::string command; ///< reproduces this row
    } question;

    /// Who answered, and how it prepares.
    struct Answer {
        std::string deviceName, deviceArch;
        Variant variant; ///< without id when nobody did
        bool emulated = false;
        KernelInfo kernel;                                          ///< of the preparation, once
        std::vector<std::pair<std::string, std::string>> artifacts; ///< kind, text; see BenchmarkPlan::artifacts
    } answer;

    /// Correctness: kernel error and format error are kept apart.
    struct Check {
        /// Of the variant against f64 by its own rule on the same quantized operands, at this shape.
        std::optional<double> nmse;
        std::optional<double> worstNmse;  ///< the largest over the tail shapes
        std::optional<double> nmseLimit;  ///< what it had to stay below; 0: exact
        std::optional<double> formatNmse; ///< of the quantized weights' product against that of W, same x, in f64
        std::optional<double> approxNmse; ///< of an approximate variant against the format's own values, in f64
        std::uint64_t checkedOutputs = 0, outputs = 0; ///< compared with f64, of so many (NaN and Inf: all of them)
        std::uint64_t checkedShapes = 0;               ///< tail shapes that were run
    } check;

    /// Times of one run.
    struct Timing {
        int clock = 0;                      ///< QS_CLOCK_*
        std::vector<std::uint64_t> samples; ///< raw, ns, in the order taken
        std::vector<double> roundMedians;   ///< ns, one a round
        std::optional<double> medianNs, minNs, p95Ns;
        std::optional<Interval> ciNs;
        std::optional<double> gflops;     ///< 2 M N K / median; none for dequantize and quantize
        std::optional<double> weightGbps; ///< packed weights and scales / median; f32 bytes for dequantize and quantize
        std::optional<double> intensity;  ///< operations a byte of minimum traffic
        bool inCaches = false;            ///< cold, but the memory limit leaves too few copies: caches may hold them
        std::uint32_t bufferSets = 1, iterations = 0, chain = 1; ///< of a round
        std::optional<double> probeRead,
            probeF32;                    ///< of the host, medians over these rounds: bytes, operations a second
        std::size_t repeatedRounds = 0;  ///< because a probe fell below 70 % of its best
        bool busy = false;               ///< most of them did: something else ran on the machine
        std::string busyProbe;           ///< the probe that was slowest: "read_bw" or "f32"; empty: not busy
        std::optional<double> busyShare; ///< that it ran at of its best, 0 to 1
    } timing;

    /// What follows from all of it.
    struct Verdict {
        RowState status = RowState::Failed;
        std::string reason;            ///< why not ok; of an ok row: remarks
        std::string hint;              ///< what the user can do about it, or empty
        std::optional<double> speedup; ///< median of per-round ratios to openblas f32
        std::optional<Interval> speedupCi;
        std::string speedupReason;       ///< why there is none
        std::optional<double> roofShare; ///< of the nearest measured roof; over 1.05 is invalid
        std::string roofKind;            ///< which one
        bool withoutCacheRoof = false;   ///< read from caches, but no cache was measured: held against arithmetic alone
    } verdict;
};
/// A word that a POSIX shell gives to a program as it is: quoted where it must be. Commands are made of such words.
std::string shellWord(std::string_view text);
/// "reading memory ran at 34 % of its best"; "" of one that is not busy.
std::string busyProbeText(const BenchmarkRow::Timing& timing);
/// Appends to the reason.
void remark(BenchmarkRow& row, const std::string& text);
/// "cpu/cpu:0 nf4:block=64 matmul_t act=f32 1x4096x4096 cold nf4_gemv_f32": what names a row in another run.
std::string rowKey(const BenchmarkRow& row);
/// What the name is made of: backend, device, spec, operation, ...
std::vector<std::string> rowParts(const BenchmarkRow& row);

/// Every figure, with the keys of the JSON. `samples` is last: a list of all raw samples.
const Columns<BenchmarkRow>& benchmarkColumns();
/// Ids that fit a table for people, in order.
const std::vector<std::string_view>& benchmarkTableIds();
const Columns<MeasuredRoof>& roofColumns();

} // namespace qs
