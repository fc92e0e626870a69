// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/plugins/cuda/faked/runtime.h"

#include "kernels/cuda/ptx.h"
#include "plugins/cuda/presence.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime_api.h>

namespace qs::test {
FakeRuntime& fakeRuntime() {
    static FakeRuntime runtime;
    return runtime;
}
} // namespace qs::test

namespace qs::cuda {
Presence findDevice(const std::string&, const std::string&) { return {true, {}, {}}; }
std::vector<const char*> ptxTexts() { return {}; }
} // namespace qs::cuda

using qs::test::fakeRuntime;
using Clock = std::chrono::steady_clock;

struct CUevent_st {
    Clock::time_point at;
};
struct CUstream_st {};

extern "C" {
cudaError_t cudaMalloc(void** to, std::size_t bytes) {
    auto& runtime = fakeRuntime();
    if (runtime.failAfter == 0) {
        *to = nullptr, runtime.lastError = cudaErrorMemoryAllocation;
        return cudaErrorMemoryAllocation;
    }
    --runtime.failAfter;
    // Exact size, so that a sanitizer finds reads beyond; filled with NaN.
    if (posix_memalign(to, 256, bytes) != 0) return cudaErrorMemoryAllocation;
    std::memset(*to, 0xff, bytes);
    ++runtime.allocations;
    return cudaSuccess;
}
cudaError_t cudaFree(void* data) {
    if (data) --fakeRuntime().allocations;
    std::free(data);
    return cudaSuccess;
}
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
    std::memcpy(to, from, bytes);
    return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t) {
    return cudaMemcpy(to, from, bytes, kind);
}
cudaError_t cudaMemset(void* to, int value, std::size_t bytes) {
    std::memset(to, value, bytes);
    return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }
cudaError_t cudaGetLastError() {
    const auto error = static_cast<cudaError_t>(fakeRuntime().lastError);
    fakeRuntime().lastError = 0;
    return error;
}
const char* cudaGetErrorString(cudaError_t) { return "out of memory"; }
cudaError_t cudaSetDevice(int) { return cudaSuccess; }
cudaError_t cudaGetDeviceCount(int* to) {
    *to = 2;
    return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* to, int) {
    *to = {};
    std::strcpy(to->name, "the host");
    to->major = fakeRuntime().capability / 10, to->minor = fakeRuntime().capability % 10;
    to->multiProcessorCount = 3, to->l2CacheSize = fakeRuntime().l2Bytes;
    return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* to) {
    *to = 0;
    return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* to) { return cudaRuntimeGetVersion(to); }
cudaError_t cudaStreamCreate(cudaStream_t* to) {
    *to = new CUstream_st, ++fakeRuntime().streams;
    return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    delete stream, --fakeRuntime().streams;
    return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaEventCreate(cudaEvent_t* to) {
    *to = new CUevent_st, ++fakeRuntime().events;
    return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
    delete event, --fakeRuntime().events;
    return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) {
    event->at = Clock::now();
    return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventElapsedTime(float* to, cudaEvent_t start, cudaEvent_t end) {
    *to = std::chrono::duration<float, std::milli>(end->at - start->at).count();
    return cudaSuccess;
}
}
