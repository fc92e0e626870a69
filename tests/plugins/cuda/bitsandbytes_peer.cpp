// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/plugins/cuda/bitsandbytes_peer.h"

#include <algorithm>
#include <bit>
#include <dlfcn.h>

namespace qs::test {
namespace {

/// The needed functions of the CUDA runtime. They return 0 on success.
struct Runtime {
    int (*malloc)(void**, std::size_t) = nullptr;
    int (*free)(void*) = nullptr;
    int (*memcpy)(void*, const void*, std::size_t, int) = nullptr;
    int (*lastError)() = nullptr;
    const char* (*errorText)(int) = nullptr;
    int (*eventCreate)(void**) = nullptr;
    int (*eventRecord)(void*, void*) = nullptr;
    int (*eventWait)(void*) = nullptr;
    int (*eventMilliseconds)(float*, void*, void*) = nullptr;
    /// arguments: x, codes, absmax, three of nested absmax, y, bias, M, N, K, block, 2 for nf4, stream
    void (*gemm)(const void*, const void*, const void*, const void*, const void*, const void*, void*, const void*, int,
                 int, int, int, int, void*) = nullptr;
};

std::string load(Runtime& runtime, const std::string& path) {
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) return dlerror();
    const auto resolve = [&](auto& function, const char* name) {
        void* found = dlsym(library, name); // dlsym also searches the libraries it depends on
        function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(found);
        return found != nullptr;
    };
    if (!resolve(runtime.gemm, "cgemm_4bit_bf16")) return path + " has no cgemm_4bit_bf16: older than 0.50?";
    if (!resolve(runtime.malloc, "cudaMalloc") || !resolve(runtime.free, "cudaFree") ||
        !resolve(runtime.memcpy, "cudaMemcpy") || !resolve(runtime.lastError, "cudaGetLastError") ||
        !resolve(runtime.errorText, "cudaGetErrorString") || !resolve(runtime.eventCreate, "cudaEventCreate") ||
        !resolve(runtime.eventRecord, "cudaEventRecord") || !resolve(runtime.eventWait, "cudaEventSynchronize") ||
        !resolve(runtime.eventMilliseconds, "cudaEventElapsedTime"))
        return path + " comes without the CUDA runtime";
    return {};
}

struct Failure {
    std::string what;
};

/// Buffers on the device, freed in the destructor.
class Rooms {
public:
    explicit Rooms(const Runtime& runtime) : runtime_(runtime) {}
    Rooms(const Rooms&) = delete;
    Rooms& operator=(const Rooms&) = delete;
    ~Rooms() {
        for (void* room : rooms_) runtime_.free(room);
    }
    void check(int code) const {
        if (code) throw Failure{runtime_.errorText(code)};
    }
    void* room(std::size_t bytes, const void* content = nullptr) {
        void* at = nullptr;
        check(runtime_.malloc(&at, bytes));
        rooms_.push_back(at);
        if (content) check(runtime_.memcpy(at, content, bytes, 1)); // 1: host to device
        return at;
    }

private:
    const Runtime& runtime_;
    std::vector<void*> rooms_;
};

void run(const Runtime& runtime, const Case& c, PeerRun& result) {
    const AbiProblem problem(c, std::uint32_t(c.m + 3 * c.n + 7 * c.k));
    Rooms rooms(runtime);
    const auto upload = [&](const qs_tensor* tensor) { return rooms.room(tensor->bytes, tensor->data); };
    void *x = upload(problem.acts[0]), *absmax = upload(problem.inputs[1]);
    std::vector<std::uint16_t> halves(std::size_t(c.m * c.n), 0xffff);
    void* y = rooms.room(2 * halves.size(), halves.data());
    const std::size_t weightBytes = problem.inputs[0]->bytes;
    std::vector<void*> weights(std::clamp<std::size_t>((std::size_t(400) << 20) / weightBytes + 1, 2, 512));
    for (void*& weight : weights) weight = upload(problem.inputs[0]);
    const auto multiply = [&](std::size_t turn) {
        runtime.gemm(x, weights[turn % weights.size()], absmax, nullptr, nullptr, nullptr, y, nullptr, int(c.m),
                     int(c.n), int(c.k), int(c.block), 2, nullptr);
        rooms.check(runtime.lastError());
    };
    multiply(0);
    rooms.check(runtime.memcpy(halves.data(), y, 2 * halves.size(), 2)); // 2: device to host; waits for the kernel
    std::vector<float> values;
    values.reserve(halves.size());
    for (const std::uint16_t half : halves) values.push_back(std::bit_cast<float>(std::uint32_t(half) << 16));
    result.nmse = nmse(values, problem.reference);
    if (!(result.nmse <= 1e-3)) return; // a wrong result is not timed
    void *start = nullptr, *end = nullptr;
    rooms.check(runtime.eventCreate(&start)), rooms.check(runtime.eventCreate(&end));
    std::vector<double> us;
    for (std::size_t turn = 1; turn <= 33; ++turn) {
        rooms.check(runtime.eventRecord(start, nullptr));
        multiply(turn);
        rooms.check(runtime.eventRecord(end, nullptr));
        rooms.check(runtime.eventWait(end));
        float ms = 0;
        rooms.check(runtime.eventMilliseconds(&ms, start, end));
        if (turn > 3) us.push_back(1e3 * double(ms));
    }
    std::sort(us.begin(), us.end());
    result.us = us[us.size() / 2];
}

} // namespace

PeerRun bitsandbytesNf4(const std::string& library, const Case& c) {
    PeerRun result;
    Runtime runtime;
    result.problem = load(runtime, library);
    if (!result.problem.empty()) return result;
    try {
        run(runtime, c, result);
    } catch (const Failure& failure) {
        result.problem = failure.what;
    }
    return result;
}

} // namespace qs::test
