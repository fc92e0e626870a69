// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Memory on the device. Errors of the CUDA runtime become exceptions, which never leave the backend.

#include "plugins/common/entry.h"

#include <cuda_runtime_api.h>
#include <utility>

namespace qs::cuda {

inline void check(int code, const char* what) {
    if (code == cudaSuccess) return;
    (void)cudaGetLastError(); // clears the error, else the next launch would seem to have failed
    const auto error = static_cast<cudaError_t>(code);
    throw plugin::Refusal(error == cudaErrorMemoryAllocation ? QS_RESOURCE_EXHAUSTED : QS_INTERNAL,
                          std::string(what) + ": " + cudaGetErrorString(error));
}

/// Memory on the device.
class Memory {
public:
    Memory() = default;
    explicit Memory(std::size_t bytes) : bytes_(bytes) {
        if (bytes) check(cudaMalloc(&data_, bytes), "no room on the device");
    }
    Memory(const void* host, std::size_t bytes) : Memory(bytes) {
        if (bytes) check(cudaMemcpy(data_, host, bytes, cudaMemcpyHostToDevice), "copy to the device");
    }
    Memory(Memory&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
    Memory& operator=(Memory&& other) noexcept {
        std::swap(data_, other.data_), std::swap(bytes_, other.bytes_);
        return *this;
    }
    ~Memory() {
        if (data_) cudaFree(data_); // also fails after a device fault, which is ignored
    }
    Memory copy() const {
        Memory other(bytes_);
        if (bytes_) check(cudaMemcpy(other.data_, data_, bytes_, cudaMemcpyDeviceToDevice), "copy on the device");
        return other;
    }
    void toHost(void* host, std::size_t bytes) const { // copies the first `bytes` bytes
        if (bytes) check(cudaMemcpy(host, data_, bytes, cudaMemcpyDeviceToHost), "copy from the device");
    }
    void zero() {
        if (bytes_) check(cudaMemset(data_, 0, bytes_), "clear memory of the device");
    }
    template<class T> T* as() const { return static_cast<T*>(data_); }
    std::size_t bytes() const { return bytes_; }

private:
    void* data_ = nullptr;
    std::size_t bytes_ = 0;
};

} // namespace qs::cuda
