// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/cuda/timing.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace qs::cuda {
namespace {

class Event {
public:
    Event() { check(cudaEventCreate(&event_), "an event"); }
    ~Event() { cudaEventDestroy(event_); }
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;
    void record(cudaStream_t stream) const { check(cudaEventRecord(event_, stream), "an event"); }
    void wait() const { check(cudaEventSynchronize(event_), "the run"); }
    double millisecondsSince(const Event& start) const {
        float ms = 0;
        check(cudaEventElapsedTime(&ms, start.event_, event_), "the time of the run");
        return double(ms);
    }

private:
    cudaEvent_t event_ = nullptr;
};

using Clock = std::chrono::steady_clock;
double nanosecondsSince(Clock::time_point begin) {
    return std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
}

/// The time for which the stream is held before a sample, so that all its launches wait in the queue when it begins: twice the time
/// that the host needed to queue the last sample. Without it, the time of a short run would be that of its launch on the host.
std::uint64_t holdFor(double queueing) { return std::uint64_t(std::clamp(2 * queueing + 20e3, 40e3, 5e6)); }

} // namespace

void timeOnDevice(cudaStream_t stream, const qs_host* host, const std::atomic<bool>& cancelled, const qs_run_opts& opts,
                  qs_run_result& result, const std::function<void(std::uint32_t)>& run) {
    if (!result.samples_ns || result.cap == 0)
        throw plugin::Refusal(QS_INVALID_ARGUMENT, "the result has no room for samples");
    const qs_host h = plugin::given(host);
    const auto stop = [&] {
        if (cancelled.load() || (h.should_stop && h.should_stop(h.user)))
            throw plugin::Refusal(QS_CANCELLED, "stopped");
    };
    const Event start, end;
    const std::uint32_t chain = std::max(1u, opts.chain);
    std::uint32_t turn = 0;
    double queueing = 0; // nanoseconds that the host needs to queue a sample
    for (std::uint32_t i = 0; i < opts.warmup; ++i) {
        stop();
        const auto queued = Clock::now();
        run(turn++);
        queueing = chain * nanosecondsSince(queued);
    }
    check(cudaStreamSynchronize(stream), "warming up");
    const auto begin = Clock::now();
    result.clock = QS_CLOCK_DEVICE, result.timing_valid = 1, result.n = 0;
    while (result.n < std::max(1u, opts.iters) && result.n < result.cap) {
        stop();
        check(holdStream(holdFor(queueing), stream), "holding the stream");
        const auto queued = Clock::now();
        start.record(stream);
        for (std::uint32_t i = 0; i < chain; ++i) run(turn++);
        end.record(stream);
        queueing = nanosecondsSince(queued);
        end.wait();
        result.samples_ns[result.n++] = std::uint64_t(std::llround(end.millisecondsSince(start) * 1e6 / chain));
        if (nanosecondsSince(begin) > opts.max_seconds * 1e9) break;
    }
}

double measureRoof(Device& device, const std::string& kind, const qs_host* host, const std::atomic<bool>& cancelled,
                   const qs_run_opts& opts, qs_run_result& result) {
    const auto time = [&](const std::function<void(std::uint32_t)>& run) {
        timeOnDevice(device.stream, host, cancelled, opts, result, run);
    };
    if (kind == "read_bw") {
        // A cold run reads 1 GiB, more than any cache holds. A warm run reads a quarter of the smallest cache we know.
        const bool cold = opts.buffer_sets > 1 || (opts.flags & QS_RUN_COLD);
        const std::size_t bytes = cold ? std::size_t(1) << 30 : std::size_t(8) << 20;
        Memory data(bytes), sink(4);
        data.zero(), sink.zero();
        time([&](std::uint32_t) {
            check(readStream(data.as<void>(), std::int64_t(bytes), 1, sink.as<std::uint32_t>(), device.processors,
                             device.stream),
                  "the read stream");
        });
        return double(bytes);
    }
    if (kind == "cache_bw") {
        const CacheStream cache = cacheStream(device.l2);
        if (!cache.bytes) throw plugin::Refusal(QS_UNIMPLEMENTED, "the device does not say how large its cache is");
        Memory data(cache.bytes), sink(4);
        data.zero(), sink.zero();
        time([&](std::uint32_t) {
            check(readStream(data.as<void>(), std::int64_t(cache.bytes), cache.passes, sink.as<std::uint32_t>(),
                             device.processors, device.stream),
                  "the stream out of the cache");
        });
        return double(cache.bytes) * cache.passes;
    }
    if (kind == "copy_bw") { // one half of the bytes is read, the other half is written
        constexpr std::size_t bytes = std::size_t(1) << 30;
        Memory from(bytes);
        const Memory to(bytes);
        from.zero();
        time([&](std::uint32_t) {
            check(cudaMemcpyAsync(to.as<void>(), from.as<void>(), bytes, cudaMemcpyDeviceToDevice, device.stream),
                  "the copy stream");
        });
        return 2.0 * double(bytes);
    }
    const bool f32 = kind == "f32", i8 = kind == "i8", e4m3 = kind == "fp8_e4m3", byte = i8 || e4m3;
    if (!f32 && !byte && kind != "bf16")
        throw plugin::Refusal(QS_UNIMPLEMENTED, "roofs are read_bw, cache_bw, copy_bw, f32, bf16, i8 and fp8_e4m3");
    const Libraries& libraries = device.blas.libraries();
    const std::string& missing = e4m3 ? libraries.noFp8 : i8 ? libraries.noLt : libraries.noBlas;
    if (!missing.empty()) throw plugin::Refusal(QS_UNIMPLEMENTED, missing);
    const std::int64_t size = f32 ? 4096 : 8192;
    const std::size_t elements = std::size_t(size * size);
    // The operands are small numbers with changing bits. Zeros would need less power, so the device would run faster.
    std::vector<std::uint8_t> bytes(elements * (f32 ? 4 : byte ? 1 : 2));
    std::uint32_t state = 1;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        state = state * 1664525u + 1013904223u;
        bytes[i] = std::uint8_t(state >> 24);
        if (e4m3) bytes[i] &= 0xbf; // no NaN
        if (!byte && i % (f32 ? 4 : 2) == (f32 ? 3u : 1u))
            bytes[i] = std::uint8_t(0x3c | (bytes[i] & 0x81)); // finite, below 1
    }
    const Memory x(bytes.data(), bytes.size()), w(bytes.data(), bytes.size()), y(4 * elements);
    if (byte) {
        const auto plan = device.blas.planBytes(e4m3 ? Blas::Byte::E4m3 : Blas::Byte::Int8, size, size, size);
        time([&](std::uint32_t) { device.blas.multiplyBytes(plan, x.as<void>(), w.as<void>(), y.as<void>()); });
    } else {
        time([&](std::uint32_t) {
            device.blas.product(size, size, size, x.as<void>(), w.as<void>(), f32 ? CUDA_R_32F : CUDA_R_16BF, false,
                                y.as<float>());
        });
    }
    return 2.0 * double(size) * double(size) * double(size);
}

} // namespace qs::cuda
