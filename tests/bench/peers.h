// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The contestants of bench_peers: our variants and other libraries, with the same weights and activations. Other
// libraries are loaded at run time if installed. A few declarations of their public C interfaces are repeated here.

#include "kernels/matmul.h"
#include "kernels/matmul_operands.h"

#include <functional>
#include <string>

namespace qs::bench {

struct Contest {
    std::size_t n = 4096, k = 4096, m = 1;
    int threads = 1;
    std::size_t coldBytes = std::size_t(512) << 20; ///< bytes of all weight copies together; 0: one copy, warm
    const float* w = nullptr;                       ///< [N,K]
    const float* x = nullptr;                       ///< [M,K]
    bool oneDnn = true;
    std::string ggml, bitsandbytes, openblas, coreType; ///< paths of libraries; empty if not requested
    std::size_t copies(std::size_t bytes) const { return coldBytes > bytes ? (coldBytes + bytes - 1) / bytes : 1; }
};

struct Contestant {
    std::string name;
    std::size_t bytes = 0; ///< bytes of weights and scales that a run reads
    std::size_t copies = 1;
    std::function<void(std::size_t)> run; ///< argument: number of the weight copy
    /// Result of the last run: y[m][n]; for dequantizers the value there. Empty: the error is not shown.
    std::function<float(std::size_t m, std::size_t n)> y{};
};
using Contestants = std::vector<Contestant>;

// Each adds what it can to `all`. It prints what it added, or why the library is missing.
void addOurProducts(const Contest& contest, ThreadTeam& team, Contestants& all);
void addOurCoders(const Contest& contest, ThreadTeam& team, Contestants& all);
void addOpenBlas(const Contest& contest, Contestants& all);
void addBitsAndBytes(const Contest& contest, Contestants& all);
void addBitsAndBytesCoder(const Contest& contest, Contestants& all);
void addGgml(const Contest& contest, Contestants& all);
void addGgmlCoders(const Contest& contest, Contestants& all);
void addOneDnn(const Contest& contest, Contestants& all);

/// nf4 in blocks of 64 along K: two codes per byte, first in the high bits, and absmax. int8: one scale per row.
struct StoredNf4 {
    explicit StoredNf4(const Contest& contest);
    Aligned<std::uint8_t> packed;
    Aligned<float> absmax;
};
struct StoredInt8 {
    StoredInt8(const float* x, std::size_t rows, std::size_t k);
    Aligned<std::int8_t> q;
    Aligned<float> scales;
};

/// A library that stays loaded. find() gets a function by name; `problem` names the first missing one.
class Library {
public:
    explicit Library(const std::string& path);
    template<class F> void find(F*& function, const char* name) { function = reinterpret_cast<F*>(symbol(name)); }
    const std::string& problem() const { return problem_; }

private:
    void* symbol(const char* name);
    void* handle_ = nullptr;
    std::string problem_;
};
void setOpenMpThreads(int threads); ///< sets the thread count of the loaded OpenMP runtime, if any

} // namespace qs::bench
