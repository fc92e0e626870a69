// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Memory of exact size for the emulated device. Accesses beyond it hit guard elements, or AddressSanitizer finds them.

#include "kernels/cuda/kernels.h"
#include "plugins/cuda/plan.h"
#include "tests/plugins/support/abi_problem.h"

#include <algorithm>

namespace qs::test {

/// An array filled with NaN, with guard elements at the end. Under AddressSanitizer there are no guards: it finds reads
/// and writes beyond the end itself.
template<class T> struct Guarded {
#if defined(__SANITIZE_ADDRESS__)
    static constexpr std::size_t kGuard = 0;
#else
    static constexpr std::size_t kGuard = 64;
#endif
    explicit Guarded(std::int64_t count) : bytes((std::size_t(count) + kGuard) * sizeof(T), 0xff) {}
    T* data() { return reinterpret_cast<T*>(bytes.data()); }
    bool whole() const {
        return std::all_of(bytes.end() - kGuard * sizeof(T), bytes.end(), [](unsigned char b) { return b == 0xff; });
    }
    std::vector<unsigned char> bytes;
};

/// A copy with exactly these bytes.
inline std::vector<unsigned char> exact(const void* data, std::size_t bytes) {
    const auto* at = static_cast<const unsigned char*>(data);
    return {at, at + bytes};
}
inline std::vector<unsigned char> exact(const qs_tensor* tensor) { return exact(tensor->data, tensor->bytes); }

/// What the kernel "dequantize" reads of a problem.
struct StoredOperands {
    std::vector<unsigned char> codes, scales;
    cuda::StoredMatrix matrix;
    StoredOperands(const AbiProblem& problem, const cuda::Plan& plan) : codes(exact(problem.inputs[0])) {
        const plugin::WeightLayout& w = plan.weight;
        if (w.scaleCount) scales = exact(problem.inputs[1]);
        matrix.codes = codes.data();
        matrix.scales = w.scaleCount ? reinterpret_cast<const float*>(scales.data()) : nullptr;
        matrix.levels = w.levels.data(), matrix.bits = w.bits,
        matrix.highFirst = w.order == plugin::CodeOrder::HighFirst;
        matrix.rows = w.rows, matrix.columns = w.columns, matrix.rowBytes = w.rowBytes;
        matrix.rowBlock = w.rowBlock, matrix.rowStride = w.rowStride;
        matrix.columnBlock = w.columnBlock, matrix.columnStride = w.columnStride;
    }
};

} // namespace qs::test
