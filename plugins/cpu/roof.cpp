// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/cpu/context.h"

#include "kernels/roofs.h"

#include <algorithm>

namespace qs::cpu {
namespace {

constexpr std::size_t kColdBytes = std::size_t(512) << 20;   ///< 4 times the largest last-level cache that we know
constexpr std::size_t kPieceBytes = std::size_t(64) << 20;   ///< each cold run reads the next piece of kColdBytes
constexpr std::size_t kWarmBytes = std::size_t(256) << 10;   ///< per worker; fits the cache of one core
constexpr std::size_t kNearestBytes = std::size_t(16) << 10; ///< per worker; fits every first-level cache twice
constexpr std::size_t kPasses = 2000;  ///< passes in one run; starting the team takes longer than one
constexpr std::size_t kSteps = 200000; ///< steps of the arithmetic loop in one run

/// Bytes that cold runs read through: whole pages, within the host's limit.
std::size_t coldBytes(const qs_run_opts& opts) {
    constexpr std::size_t page = 4096;
    if (opts.memory_bytes == 0 || opts.memory_bytes >= kColdBytes) return kColdBytes;
    return std::max(page, std::size_t(opts.memory_bytes) / page * page);
}

} // namespace

int32_t roof(qs_ctx* ctx, uint32_t dev, const char* kindName, const qs_run_opts* theirs, qs_run_result* theirResult,
             double* work, qs_error* error) {
    if (!ctx || !theirs || !theirResult || dev != 0)
        return fail(error, QS_INVALID_ARGUMENT, "roof needs a context, device 0, options and a result.");
    return guarded(error, [&]() -> int32_t {
        const qs_run_opts opts = given(theirs);
        qs_run_result result = given(theirResult);
        if (!result.samples_ns || result.cap == 0)
            return fail(error, QS_INVALID_ARGUMENT, "The result has no room for samples.");
        const std::string_view kind = text(kindName);
        const bool read = kind == "read_bw", write = kind == "write_bw", nearest = kind == "cache_bw";
        PeakKind peak = PeakKind::F32;
        if (kind == "bf16")
            peak = PeakKind::Bf16;
        else if (kind == "i8")
            peak = PeakKind::I8;
        else if (kind != "f32" && !read && !write && !nearest)
            return fail(error, QS_UNIMPLEMENTED, "Roofs are read_bw, write_bw, cache_bw, f32, bf16 and i8.");
        ctx->cancelled = false;
        const ThreadTeam::Pin pin(ctx->team);
        const int workers = ctx->team.size();
        double done = 0;
        int32_t code = QS_OK;
        if (nearest) {
            const std::size_t size = kNearestBytes * std::size_t(workers);
            if (ctx->stream.size() < size) ctx->stream = Aligned<char>(size);
            code = sample(opts, result, [&] {
                std::atomic<std::uint32_t> sum{0};
                ctx->team.run([&](int worker) {
                    const char* own = ctx->stream.data() + std::size_t(worker) * kNearestBytes;
                    std::uint32_t mine = 0;
                    for (std::size_t pass = 0; pass < kPasses; ++pass) mine ^= readStream(own, kNearestBytes);
                    sum += mine;
                });
                return !ctx->stop();
            });
            done = double(size) * double(kPasses);
        } else if (read || write) {
            const bool cold = opts.buffer_sets > 1 || (opts.flags & QS_RUN_COLD);
            const std::size_t size = cold ? coldBytes(opts) : kWarmBytes * std::size_t(workers);
            const std::size_t piece = std::min(size, cold ? kPieceBytes : size);
            if (ctx->stream.size() < size) ctx->stream = Aligned<char>(size);
            std::size_t at = 0;
            code = sample(opts, result, [&] {
                char* begin = ctx->stream.data() + at;
                at = at + 2 * piece > size ? 0 : at + piece;
                std::atomic<std::uint32_t> sum{0};
                ctx->team.run([&](int worker) {
                    const auto [from, to] = shareOf(piece, worker, workers, 256);
                    if (read)
                        sum += readStream(begin + from, to - from);
                    else
                        writeStream(begin + from, to - from);
                });
                return !ctx->stop();
            });
            done = double(piece);
        } else {
            done = runPeak(peak, 1) * double(kSteps) * workers;
            if (done == 0)
                return fail(error, QS_UNIMPLEMENTED,
                            "This processor has no instruction for " + std::string(kind) + ".");
            code = sample(opts, result, [&] {
                ctx->team.run([&](int) { runPeak(peak, kSteps); });
                return !ctx->stop();
            });
        }
        if (code != QS_OK) return fail(error, code, "Stopped.");
        if (work) *work = done;
        give(theirResult, result);
        return QS_OK;
    });
}

} // namespace qs::cpu
